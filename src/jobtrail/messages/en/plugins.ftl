no-asgi = the package jobtrail is installed without its entry point '{ $name }'; install it again
no-api-package = the API needs the package '{ $package }': install jobtrail[api]
unbound = the task '{ $task }' belongs to a plug-in, which stores no jobs; submit it through the application: jobs.task_named('{ $task }').enqueue(…)
plugin-name = the name of a plug-in
channel-name = the name of a channel
command-name = the name of a command
version = the version of the plug-in '{ $plugin }'
middleware-scope = the scope of a middleware
route-method = the method of a route
route-role = the role of a route
bad-name = { $what } must be 1 to 50 lower-case letters, digits, - and _, beginning with a letter; it is { $value }
two-of-a-kind = the plug-in '{ $plugin }' has two { $kind ->
        [task] tasks
        [channel] channels
        [loop] loops
        [topic] topics
        [page] pages
       *[command] commands
    } called '{ $name }'
two-routes = the plug-in '{ $plugin }' has two routes for { $method } { $path }
schedule-without-task = the plug-in '{ $plugin }' has a schedule on something that is not one of its tasks; write @plugin.schedule above @plugin.task
not-a-function = the plug-in '{ $plugin }' needs a function here; it has { $value }
bad-route = the plug-in '{ $plugin }' has the route { $path }; a path begins with / and has names and {"{"}parameters{"}"} between slashes
command-without-application = the plug-in '{ $plugin }' has the command '{ $name }', whose function does not take the application as its first parameter
mounted-already = the plug-in '{ $plugin }' is mounted already; import whatever declares its parts before
name-taken = another plug-in is called '{ $plugin }' already
name-taken-by = another plug-in is called '{ $plugin }' already (package { $package })
bad-list = plugins must be 'auto', a list of plug-ins, or () for none; it is { $value }
not-a-plugin = { $value } is of type { $type }, not a Plugin
names-differ = its entry point is called '{ $entry }' and the plug-in '{ $plugin }'; give both one name
task-of-application = the application has a task '{ $task }' of its own
calls-exit = it calls exit ({ $status }) when it is imported
bad-uses = the plug-in '{ $plugin }' uses { $value }, which is not a Plugin
bad-plain-route = the plug-in '{ $plugin }' has the route { $path } without its prefix; such a path begins with a name
command-of-plugin = the command '{ $plugin }' has the name of its plug-in, which stands before its other commands; give it another name
declared-already = the plug-in '{ $plugin }' has { $what ->
        [tables] tables
       *[service] a service
    } already; declare them once
tables-taken = another plug-in has tables that begin with '{ $prefix }' already
path-taken = the path { $path } is taken by jobtrail or another plug-in
command-taken = the command '{ $name }' is taken by jobtrail or another plug-in
used-left-out = it uses the plug-in '{ $plugin }', which is left out
no-attribute = JobTrail has no attribute '{ $name }', and no mounted plug-in of this name has a service
service-left-out = JobTrail has no attribute '{ $name }': the plug-in of this name is left out: { $why }
route-without-parameter = the plug-in '{ $plugin }' has the route { $path }, whose function does not take the parameter '{ $name }' of the path
bad-annotation = the plug-in '{ $plugin }' has the route { $path }; the annotation of '{ $name }' cannot be read: { $why }
accepts-without-name = the plug-in '{ $plugin }' has the route { $path }, which accepts tokens bound to a { $accepts }; its path needs a parameter {"{"}name{"}"}
accepts = what the tokens of a route are bound to
no-application = only a task function of a plug-in that runs in the process of its worker has an application here; elsewhere pass the application on
loop-too-short = the seconds between two turns of a loop must be at least { $least }; they are { $every }
async-loop = the loop '{ $name }' of the plug-in '{ $plugin }' is 'async def'; it runs in a thread of its own and must be a plain function
topic-name = the name of a live topic
topic-role = the role of a live topic
page-name = the name of a page
page-role = the role of a page
page-title = the title of the page '{ $name }' of the plug-in '{ $plugin }'
async-topic = the live topic '{ $name }' of the plug-in '{ $plugin }' is 'async def'; it is called in a thread and must be a plain function
no-module = the page '{ $name }' of the plug-in '{ $plugin }' needs a module, a file .js or .mjs in its folder; '{ $module }' is none
