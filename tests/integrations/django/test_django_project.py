"""`jobtrail.django` in `INSTALLED_APPS`: tables, tasks and the command line of a project."""

from __future__ import annotations

import json


def test_the_command_line_of_a_terminal_is_whole(shop):
    listed = json.loads(shop.manage("jobtrail", "tasks", "--settings", "settings", "--json"))
    assert {"count", "acount", "count_in_child"} <= {one["name"] for one in listed}


def test_migrate_makes_the_tables_of_its_own_database_and_commands_run_in_programs(shop):
    printed = shop.python("""
from django.core.management import CommandError, call_command
call_command("migrate", "--plan")
call_command("migrate")
call_command("migrate", "--database", "other", "-v", "0")
assert not any(name.startswith("jobtrail") for name in connections["other"].introspection.table_names())
count.enqueue()
call_command("jobtrail", "worker", "--burst")
assert states() == [("count", "completed")], states()
call_command("jobtrail", "list", "--json")
try: call_command("jobtrail", "show", "nothing")
except CommandError as error: print(error.returncode, jobs.store.database.url.render_as_string(hide_password=False))
""")
    assert "migrations of jobtrail" not in printed, "there was nothing to do any more"
    code, url = printed.splitlines()[-1].split()
    assert code != "0"
    assert url.split("?")[0].rpartition("/")[2] == shop.url.split("?")[0].rpartition("/")[2]
