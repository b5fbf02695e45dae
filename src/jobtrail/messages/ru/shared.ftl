# Parts of sentences that several rooms use: `{ status-name }` in a text that has $status.
status-name =
    { $status ->
        [pending] ожидает
        [running] выполняется
        [awaiting_input] ждёт ответа
        [awaiting_mapping] ждёт сопоставления
        [cancelling] отменяется
        [interrupted] прервано
        [completed] завершено
        [partial] завершено частично
        [failed] с ошибкой
        [cancelled] отменено
       *[other] { $status }
    }
cause-name =
    { $cause ->
        [timeout] предел времени
        [stall] предел молчания
        [cancel] отмена
        [shutdown] остановка исполнителя
        [overtaken] есть более новый запуск
       *[other] { $cause }
    }
