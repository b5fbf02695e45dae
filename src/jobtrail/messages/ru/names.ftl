# Имена состояний, событий и прочего: одни и те же слова в таблицах, предложениях и в консоли.
state =
    { $name ->
        [pending] ожидает
        [running] выполняется
        [awaiting_input] ждёт ответа
        [awaiting_mapping] ждёт сопоставления
        [cancelling] отменяется
        [interrupted] прервано
        [completed] завершено
        [partial] частично
        [failed] ошибка
        [cancelled] отменено
        [success] успех
        [error] ошибка
        [complete] полный
        [active] в работе
        [missing] пропуск
        [ok] успех
        [skipped] пропущено
        [open] открыт
        [answered] отвечено
        [defaulted] взят ответ по умолчанию
        [expired] ответа не дождались
        [closed] закрыт без ответа
        [submitted] подано
        [missed] пропущено
        [waiting] ждёт
        [refused] отклонено
        [retry_planned] будет повторено
        [retried] повторено
        [snoozed] отложило себя
        [put_back] возвращено: задача здесь неизвестна
        [handed_back] возвращено
        [asked] спрашивает человека
        [recovered] восстановлено
       *[other] { $name }
    }
schedule =
    { $name ->
        [active] действует
        [paused] на паузе
        [retired] не объявлено
        [finished] закончено
       *[other] { $name }
    }
event =
    { $name ->
        [submitted] подано
        [started] начато
        [run_now] запущено сразу
        [released] дождалось предыдущего
        [finished] закончено
        [retry_planned] будет повторено
        [snoozed] отложило себя
        [put_back] возвращено: задача здесь неизвестна
        [asked] спрашивает человека
        [answered] отвечено
        [default_taken] взят ответ по умолчанию
        [question_expired] ответа не дождались
        [cancelled] отменено
        [stop_requested] попросили остановиться
        [stopped] остановлено
        [forced] конец записан принудительно
        [body_returned] тело вернулось
        [handed_back] возвращено
        [held] ждёт человека: исполнитель остановлен
        [interrupted] исполнитель погиб
        [recovered] восстановлено
        [retried] повторено
        [rerun] запущено заново
        [stuck] застряло
        [followed] за ним пошло задание
        [not_followed] следующее не пошло
        [result_restored] результат восстановлен
        [begun_by] начато другой системой
        [delivered_again] доставлено повторно
        [input_changed] входные данные изменились и приняты
        [refused] запоздалое слово прежнего запуска отклонено
        [queue_paused] очередь на паузе
        [queue_resumed] очередь продолжена
        [limit_set] предел изменён
        [limit_reset] предел как объявлен
        [token_created] токен выдан
        [token_revoked] токен отозван
        [logged_in] вход
        [logged_out] выход
        [login_failed] неудачный вход
        [error_acknowledged] ошибка принята к сведению
        [error_muted] ошибка заглушена
        [error_mended] ошибка объявлена исправленной
        [error_reopened] ошибка открыта снова
        [bulk_started] массовое действие начато
        [jobs_deleted] задания удалены
        [jobs_imported] задания импортированы
        [imported] импортировано
        [schedule_added] расписание добавлено
        [schedule_changed] объявлено иначе
        [schedule_retired] больше не объявлено
        [schedule_declared_again] снова объявлено
        [schedule_edited] расписание изменено
        [schedule_as_declared] снова как объявлено
        [schedule_paused] расписание на паузе
        [schedule_resumed] расписание продолжено
        [schedule_without_task] задачу никто не знает
        [slot_missed] сроки пропущены
        [schedule_finished] сроков больше нет
        [schedule_removed] расписание удалено
        [schedule_run_now] расписание запущено сразу
       *[other] { $name }
    }
end =
    { $name ->
        [success] успехе
        [partial] частичном
        [failure] ошибке
        [cancelled] отмене
        [ended] любом исходе
       *[other] { $name }
    }
origin =
    { $name ->
        [code] программа
        [settings] настройки
        [plugin] плагин
        [person] человек
        [celery] Celery beat
       *[other] { $name }
    }
actor =
    { $name ->
        [worker] исполнитель
        [upkeep] надзор
        [scheduler] планировщик
        [program] программа
       *[other] { $name }
    }
part =
    { $name ->
        [tasks] { $count ->
            [one] { $count } задача
            [few] { $count } задачи
           *[many] { $count } задач
        }
        [schedules] { $count ->
            [one] { $count } расписание
            [few] { $count } расписания
           *[many] { $count } расписаний
        }
        [channels] { $count ->
            [one] { $count } канал
            [few] { $count } канала
           *[many] { $count } каналов
        }
        [routes] { $count ->
            [one] { $count } маршрут
            [few] { $count } маршрута
           *[many] { $count } маршрутов
        }
        [commands] { $count ->
            [one] { $count } команда
            [few] { $count } команды
           *[many] { $count } команд
        }
        [loops] { $count ->
            [one] { $count } цикл
            [few] { $count } цикла
           *[many] { $count } циклов
        }
        [topics] { $count ->
            [one] { $count } живая тема
            [few] { $count } живые темы
           *[many] { $count } живых тем
        }
        [pages] { $count ->
            [one] { $count } страница
            [few] { $count } страницы
           *[many] { $count } страниц
        }
        [tables] { $count ->
            [one] { $count } таблица
            [few] { $count } таблицы
           *[many] { $count } таблиц
        }
        [uses] { $count ->
            [one] { $count } другое расширение
            [few] { $count } других расширения
           *[many] { $count } других расширений
        }
       *[middleware] { $count } middleware
    }
periods =
    { $name ->
        [year] { $count ->
            [one] { $count-grouped } год
            [few] { $count-grouped } года
           *[many] { $count-grouped } лет
        }
        [month] { $count ->
            [one] { $count-grouped } месяц
            [few] { $count-grouped } месяца
           *[many] { $count-grouped } месяцев
        }
        [week] { $count ->
            [one] { $count-grouped } неделя
            [few] { $count-grouped } недели
           *[many] { $count-grouped } недель
        }
        [day] { $count ->
            [one] { $count-grouped } день
            [few] { $count-grouped } дня
           *[many] { $count-grouped } дней
        }
       *[hour] { $count ->
            [one] { $count-grouped } час
            [few] { $count-grouped } часа
           *[many] { $count-grouped } часов
        }
    }
field =
    { $name ->
        [id] номер
        [status] статус
        [state] состояние
        [task] задача
        [source] источник
        [period] период
        [file] файл
        [period_file] период, файл
        [try] попытка
        [started] начато
        [took] длилось
        [items] элементы
        [note] заметка
        [name] имя
        [when] когда
        [next] следующий
        [last] последний
        [schedule] расписание
        [planned] намечено
        [up_to] до
        [why] почему
        [in_its_way] мешает
        [what] что
        [who] кто
        [by] кем
        [at] когда
        [time] время
        [to] статус
        [trail] след
        [job] задание
        [ok] успех
        [failed] ошибка
        [is] сейчас
        [will_be] будет
        [to_run] запустить
        [key] ключ
        [outcome] исход
        [tries] попыток
        [reason] причина
        [since] потом
        [kind] вид
        [queue] очередь
        [attempts] попыток
        [timeout] предел
        [arguments] параметры
        [about] о чём
        [set_from_outside] задано извне
        [option] параметр
        [value] значение
        [instead_of] вместо
        [deadline] срок
        [question] вопрос
        [answer] ответ
        [until] до
        [or] или
        [due] ждут
        [later] позже
        [running] идут
        [oldest] старшее
        [limit] предел
        [key] ключ
        [next_start] следующее начало
        [worker] исполнитель
        [executor] где выполняется
        [handed_over] передано
        [begun_as] начато как
        [delivered_again] ещё раз
        [versions] версии
        [error] ошибка
        [role] роль
        [created] создано
        [last_used] применён
        [good_until] годен до
        [plug_in] плагин
        [version] версия
        [package] пакет
        [brings] состав
        [column] колонка
        [for_example] например
        [unit] работа
        [sha_256] SHA-256
        [mode] режим
        [labels] метки
        [context] контекст
        [result] результат
        [progress] ход
        [steps] шаги
        [planned_for] намечено на
        [submitted_by] подало
        [runs_for] длится
        [beware] внимание
        [why_waiting] почему ждёт
        [waits_for] ждёт
        [declared_by] откуда
        [runs] запусков
        [last_job] последнее задание
        [zone] пояс
        [args] параметры
        [priority] приоритет
        [catch_up] пропущенные сроки
        [window] за какое время
        [grace] опоздание до
        [overlap] если прежнее не закончилось
        [jitter] разброс
        [delay] сдвиг
        [pause_after_failures] пауза после ошибок
        [ends_at] последний момент
        [max_runs] запусков не больше
        [if_done] если загружено
        [database] база
        [connection] соединение
        [schema] схема
        [clock] часы
        [tasks] задачи
        [workers] исполнители
        [waiting] очередь
        [lost] потеряны
        [questions] вопросы
        [held] прерваны
        [plug_ins] плагины
        [upkeep] надзор
        [beat] сигнал
        [scheduler] планировщик
        [settings] настройки
        [bloat] мусор
        [slots] слоты
        [loop] цикл
        [store] запись
        [schedules] расписания
        [channels] каналы
        [routes] маршруты
        [commands] команды
        [loops] циклы
        [topics] темы
        [fingerprint] отпечаток
        [jobs] заданий
        [queues] очереди
        [worker] процесс
        [first] впервые
        [last] последний раз
        [running] выполняет
        [pages] страницы
        [tables] таблицы
        [uses] использует
       *[other] { $name }
    }
