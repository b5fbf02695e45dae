"""Names of jobtrail itself, which no plug-in can give to a route or a command without a prefix.

They are listed, so that every process leaves out the same plug-ins, also one without the API or the command line.
"""

PATHS = frozenset({
    "audit", "bulk", "deletion", "errors", "files", "groups", "jobs", "limits", "live", "login", "logout", "me", "missed", "openapi.json",
    "plugin-pages", "plugins",
    "questions", "queues", "schedules", "stats", "tasks", "units", "workers",
})  # fmt: skip
COMMANDS = frozenset({
    "answer", "backfill", "cancel", "completion", "coverage", "delete", "demo", "doctor", "error", "errors", "execute", "export", "forget",
    "group", "import", "items", "limits", "list", "log", "metrics", "migrate",
    "plugins", "prune", "questions", "queues", "rerun", "retry", "run-now", "schedules", "serve", "show", "submit",
    "tasks", "token", "watch", "worker", "workers",
})  # fmt: skip
