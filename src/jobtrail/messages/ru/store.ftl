newest-searched = искали среди { $number-grouped } новейших; есть и более старые
oldest-searched = искали среди { $number-grouped } старейших; есть и более новые
follows = следует за { $task } { $job }: { status-name }
unit-in-the-way = мешает задание { $job } той же работы
stands-for-it = его заменяет задание { $job }
filter-too-long = в фильтре может быть { $most-grouped } знаков; в этом { $length-grouped }
filter-too-many-words = в фильтре может быть не больше { $most } слов; в этом больше
filter-unreadable = фильтр не читается начиная с «{ $rest }»: кавычка не закрыта или стоит внутри слова
filter-no-value = «{ $key }»: после двоеточия нужно значение, например status:failed
filter-unknown-key = в фильтре нет ключа «{ $key }:»; есть: { $known }, args.ИМЯ: (или возьмите в кавычки, чтобы искать текст)
filter-no-outcome = исхода «{ $value }» нет; есть: success, partial, error, none
filter-star = «{ $key }:{ $value }»: звёздочка допустима только в конце; если она часть значения, возьмите его в кавычки
filter-bad-character = в значении «{ $key }:» есть знак, которого не хранит ни одна база
filter-no-status = статуса «{ $value }» нет; есть: active, final, { $known }
filter-no-time = «{ $key }:{ $value }» не время; нужно 30m, 12h, 2d, 1w или дата, например 2013-05-01 или 2013-05-01T06:00
page-not-id = страница начинается перед номером задания; «{ $before }» не номер
bad-retention = срок хранения заданий { $status } должен быть числом дней от 0 или None, а не { $value }
comes-on = приходит на { $ends }; { $why }
group-ended = группа { $group } закончилась: { $outcome ->
        [success] успешно
        [partial] частично
       *[error] с ошибкой
    }
follows-group = следует: { $why }
job-is = { $task } { $job }: { status-name }
lines-dropped = … строк пропущено: { $count-grouped } …
bad-binding = токен привязывают к виду и имени, например module:parser; получено { $value }
job-in-use = прямо сейчас изменяется
