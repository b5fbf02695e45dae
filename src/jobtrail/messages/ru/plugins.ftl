no-asgi = пакет jobtrail установлен без точки входа '{ $name }'; установите его заново
no-api-package = для API нужен пакет '{ $package }': установите jobtrail[api]
unbound = задача '{ $task }' принадлежит расширению, а оно заданий не хранит; подайте её через приложение: jobs.task_named('{ $task }').enqueue(…)
plugin-name = имя расширения
channel-name = имя канала
command-name = имя команды
version = версия расширения '{ $plugin }'
middleware-scope = область middleware
route-method = метод маршрута
route-role = роль маршрута
bad-name = { $what }: от 1 до 50 строчных латинских букв, цифр, - и _, первой буква; получено { $value }
two-of-a-kind = в расширении '{ $plugin }' две { $kind ->
        [task] задачи
        [channel] записи каналов
        [loop] цикла
        [topic] темы
        [page] страницы
       *[command] команды
    } с именем '{ $name }'
two-routes = в расширении '{ $plugin }' два маршрута { $method } { $path }
schedule-without-task = в расширении '{ $plugin }' расписание стоит не на его задаче; пишите @plugin.schedule над @plugin.task
not-a-function = расширению '{ $plugin }' здесь нужна функция, а не { $value }
bad-route = в расширении '{ $plugin }' маршрут { $path }; путь начинается с /, между чертами имена и {"{"}параметры{"}"}
command-without-application = в расширении '{ $plugin }' функция команды '{ $name }' не принимает приложение первым параметром
mounted-already = расширение '{ $plugin }' уже подключено; импортируйте его части раньше
name-taken = расширение с именем '{ $plugin }' уже есть
name-taken-by = расширение с именем '{ $plugin }' уже есть (пакет { $package })
bad-list = plugins должно быть 'auto', списком расширений или (), то есть без них, а не { $value }
not-a-plugin = { $value } имеет тип { $type }, а не Plugin
names-differ = точка входа называется '{ $entry }', а расширение '{ $plugin }'; дайте им одно имя
task-of-application = у приложения есть своя задача '{ $task }'
calls-exit = при импорте вызывает exit ({ $status })
bad-uses = расширение '{ $plugin }' использует { $value }, а это не Plugin
bad-plain-route = в расширении '{ $plugin }' маршрут { $path } без его имени впереди; такой путь начинается с имени
command-of-plugin = команда '{ $plugin }' называется как её расширение, а его имя стоит перед остальными командами; дайте ей другое имя
declared-already = в расширении '{ $plugin }' уже есть { $what ->
        [tables] таблицы
       *[service] служба
    }; объявляйте один раз
tables-taken = у другого расширения уже есть таблицы, которые начинаются с '{ $prefix }'
path-taken = путь { $path } занят: он принадлежит jobtrail или другому расширению
command-taken = команда '{ $name }' занята: она принадлежит jobtrail или другому расширению
used-left-out = оно использует расширение '{ $plugin }', а то не подключено
no-attribute = у JobTrail нет атрибута '{ $name }', и ни у одного подключённого расширения с этим именем нет службы
service-left-out = у JobTrail нет атрибута '{ $name }': расширение с этим именем не подключено: { $why }
route-without-parameter = в расширении '{ $plugin }' функция маршрута { $path } не принимает параметр пути '{ $name }'
bad-annotation = в расширении '{ $plugin }' у функции маршрута { $path } не прочесть аннотацию '{ $name }': { $why }
accepts-without-name = в расширении '{ $plugin }' маршрут { $path } принимает токены, привязанные к { $accepts }; в его пути нужен параметр {"{"}name{"}"}
accepts = к чему привязаны токены маршрута
no-application = приложение здесь есть только у функции задачи расширения в процессе её исполнителя; в других местах передавайте приложение сами
loop-too-short = между двумя оборотами цикла должно пройти не меньше { $least } с, а не { $every }
async-loop = цикл '{ $name }' расширения '{ $plugin }' объявлен как 'async def'; он идёт в своём потоке и должен быть обычной функцией
topic-name = имя живой темы
topic-role = роль живой темы
page-name = имя страницы
page-role = роль страницы
page-title = заголовок страницы '{ $name }' расширения '{ $plugin }'
async-topic = живая тема '{ $name }' расширения '{ $plugin }' объявлена как 'async def'; её вызывают в потоке, и она должна быть обычной функцией
no-module = странице '{ $name }' расширения '{ $plugin }' нужен модуль, файл .js или .mjs в её папке; '{ $module }' им не является
