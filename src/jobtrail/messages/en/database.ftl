too-slow = this was given up after { $seconds } s; say more in the filter: a task, a source, a status, a time
schema-newer = the database has schema { $version }, this program knows { $head }: it is newer than this program; update jobtrail on this machine
schema-older = the database has { $found }, this program needs { $head }; run 'jobtrail migrate' once
schema-newer-still = the database has schema { $version }, which is newer than this program's { $head }
no-tables = no tables of jobtrail
schema = schema { $version }
