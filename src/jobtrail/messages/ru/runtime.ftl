item-gone = больше не приходит
key-twice = у двух элементов цикла '{ $loop }' один ключ { $key }; у каждого элемента должен быть свой
item-not-entered = в элемент { $key } цикла '{ $loop }' не вошли; возьмите работу над ним в 'with item:', иначе ничего не запишется
batch-not-entered = в пакет цикла '{ $loop }' не вошли; возьмите работу над ним в 'with batch:'
too-many-failed = с ошибкой { $failed-grouped } из { $total-grouped } элементов, это больше max_failed_items={ $limit }
bad-batch-size = размер пакета должен быть целым числом от 1, а не { $size }
loop-twice = цикл '{ $name }' в этой функции уже есть; дайте второму другое имя в name=
next-outside-job = schedule_next() работает только в выполняющемся задании
asked-twice = это задание уже задало вопрос '{ $name }'; у каждого вопроса должно быть своё имя (в цикле — с ключом элемента)
step-not-storable = результат шага '{ $name }' не сохранить: { $error }
