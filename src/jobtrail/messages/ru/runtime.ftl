item-gone = больше не приходит
key-twice = у двух элементов цикла '{ $loop }' один ключ { $key }; у каждого элемента должен быть свой
item-not-entered = в элемент { $key } цикла '{ $loop }' не вошли; возьмите работу над ним в 'with item:', иначе ничего не запишется
batch-not-entered = в пакет цикла '{ $loop }' не вошли; возьмите работу над ним в 'with batch:'
too-many-failed = с ошибкой { $failed-grouped } из { $total-grouped } элементов, это больше max_failed_items={ $limit }
input-raised = на входе цикла '{ $loop }' возникло { $type } после элемента { $after-grouped }
bad-parallel = parallel должно быть целым числом от 1 до { $most }, а не { $parallel }
parallel-async = обычная функция задачи не может ждать элементы цикла '{ $loop }': передайте run() обычную функцию или объявите задачу через async def
bad-batch-size = размер пакета должен быть целым числом от 1, а не { $size }
loop-twice = цикл '{ $name }' в этой функции уже есть; дайте второму другое имя в name=
next-outside-job = schedule_next() работает только в выполняющемся задании
asked-twice = это задание уже задало вопрос '{ $name }'; у каждого вопроса должно быть своё имя (в цикле — с ключом элемента)
step-not-storable = результат шага '{ $name }' не сохранить: { $error }
task-function = функция задачи
step-function = функция шага «{ $name }»
hook-function = функция
awaitable-returned = { $what } вернула объект типа { $type }, которого никто не ждёт, поэтому его работа не сделана; объявите функцию через async def и ждите этот объект в ней через await (декоратору нужна обёртка async def с await)
future-returned = { $what } вернула future типа { $type }, которого никто не ждёт; верните его результат: future.result() или await в async def
iterator-returned = { $what } вернула итератор типа { $type }, который никто не читает, поэтому его работа не сделана; прочитайте его в функции: return list(...)
on-cancel-async = on_cancel() принимает обычную функцию, потому что вызывает её в другом потоке без цикла событий; { $function } — корутинная функция
fence-database = для fence нужно соединение с базой заданий (SQLite или PostgreSQL), а не с { $given }
