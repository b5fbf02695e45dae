next-time-came = наступил следующий срок расписания «{ $name }»
task-unknown = ни один процесс не знает задачу «{ $task }»
name-taken = расписание «{ $name }» уже есть
run-now = расписание «{ $name }», запущено сразу
no-schedule = расписания «{ $name }» нет
failures-in-a-row =
    { $failures } { $failures ->
         [one] ошибка
         [few] ошибки
        *[many] ошибок
    } подряд
unreadable = определение не читается: { $error }
never-runs = расписание «{ $name }» никогда не сработает: впереди нет ни одного срока
