"""Names of jobtrail itself, which no plug-in can give to a route or a command without a prefix.

They are listed, so that every process leaves out the same plug-ins, also one without the API or the command line.
"""

PATHS = frozenset({
    "audit", "bulk", "errors", "files", "jobs", "live", "login", "logout", "me", "missed", "openapi.json",
    "plugin-pages", "plugins",
    "questions", "queues", "schedules", "stats", "tasks", "units", "workers",
})  # fmt: skip
COMMANDS = frozenset({
    "answer", "backfill", "cancel", "coverage", "demo", "doctor", "execute", "forget", "items", "list", "log", "metrics",
    "migrate",
    "plugins", "prune", "questions", "queues", "rerun", "retry", "run-now", "schedules", "serve", "show", "submit",
    "tasks", "token", "worker",
})  # fmt: skip
