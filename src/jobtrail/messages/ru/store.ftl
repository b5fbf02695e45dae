newest-searched = искали среди { $newest-grouped } новейших; есть и более старые
follows =
    следует за { $task } { $job }: { $status ->
        [completed] завершено
        [partial] завершено частично
        [failed] с ошибкой
       *[other] { $status }
    }
unit-in-the-way = мешает задание { $job } той же работы
stands-for-it = его заменяет задание { $job }
