too-slow = поиск прерван через { $seconds } с; уточните фильтр: задача, источник, статус, время
schema-newer = схема базы { $version } новее этой программы ({ $head }); обновите jobtrail на этой машине
schema-older = в базе { $found }, программе нужна схема { $head }; выполните один раз 'jobtrail migrate'
schema-newer-still = схема базы { $version } новее схемы этой программы, { $head }
no-tables = нет таблиц jobtrail
schema = схема { $version }
