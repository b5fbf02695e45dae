"""Settings that somebody made for the role or the database: a job lives from its submission to its retention."""

from __future__ import annotations

import psycopg
import pytest
from life import live
from matrix import LONG, SHORT


def _cases(short=SHORT):
    return [
        pytest.param(case, id=case.name, marks=() if case in short else pytest.mark.long) for case in (*SHORT, *LONG)
    ]


def with_settings(url, settings):
    """The address of the database, with its settings changed."""
    with psycopg.connect(url, autocommit=True) as conn:
        for name, value in settings.items():
            conn.execute(f"ALTER DATABASE {conn.info.dbname} SET {name} = {value}")
    return url


@pytest.mark.parametrize("case", _cases())
def test_a_job_lives_with_it(case, new_database, postgres_server):
    """Submission, claim, items, progress, question, cancellation, schedule, retention."""
    with psycopg.connect(postgres_server) as conn:
        if conn.info.server_version < case.since * 10000:
            pytest.skip(f"this server has no {', '.join(case.settings)}")
    live(with_settings(new_database(), case.settings))


@pytest.mark.parametrize("case", _cases(SHORT[:1]))
def test_a_job_lives_with_it_behind_a_pooler(case, new_database, pgbouncer, postgres_server):
    """The same through pgbouncer, where the session is not ours to change."""
    with psycopg.connect(postgres_server) as conn:
        if conn.info.server_version < case.since * 10000:
            pytest.skip(f"this server has no {', '.join(case.settings)}")
    live(pgbouncer(with_settings(new_database(), case.settings)))
