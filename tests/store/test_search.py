"""Search: the grammar, what each word finds, pages, counts, and what is said where not all was looked at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from json import dumps
from typing import TYPE_CHECKING, Any

import pytest
from making import new_job, subject, unit

from jobtrail.errors import InvalidFilter
from jobtrail.job import transitions
from jobtrail.job.failure import describe
from jobtrail.job.model import Status
from jobtrail.queries.monitoring import statistics
from jobtrail.store import jobs
from jobtrail.store.search import scan_filter, search
from jobtrail.store.search.grammar import Term, Word, parse
from jobtrail.store.search.search import Counted

if TYPE_CHECKING:
    from making import Maker

    from jobtrail.store import Store

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


# -- the grammar: pure ---------------------------------------------------------------------------------


def test_no_words_are_all_jobs() -> None:
    assert parse("   ").terms == ()


def test_one_key_twice_is_either_and_different_keys_are_both() -> None:
    assert parse("task:a queue:q task:b*").terms == (
        Term("task", (Word("a"), Word("b", prefix=True))),
        Term("queue", (Word("q"),)),
    )


def test_a_minus_negates_and_is_a_term_of_its_own() -> None:
    assert parse("-task:a task:b").terms == (Term("task", (Word("a"),), negated=True), Term("task", (Word("b"),)))


def test_status_groups() -> None:
    (active,) = parse("status:active").terms
    (final,) = parse("status:final").terms
    assert {word.value for word in active.words + final.words} == set(Status)
    assert Word("interrupted") in active.words


def test_quoted_values_and_free_text() -> None:
    assert parse(r'source:"a b*" "say \"hi\"" plain').terms == (
        Term("source", (Word("a b*"),)),
        Term("text", (Word('say "hi"'),)),
        Term("text", (Word("plain"),)),
    )


def test_arguments_have_paths() -> None:
    assert parse("args.where.airport:EWR").terms == (Term("args.where.airport", (Word("EWR"),)),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("foo:bar", "has no key 'foo:'; the keys are: .*task:"),
        ("status:done", "no status 'done'; there are: active, final, pending"),
        ("outcome:good", "no outcome 'good'; there are: success"),
        ("after:yesterday", "'after:yesterday' is not a time; use 30m"),
        ("after:999999w", "is not a time"),
        ("task:", "'task:' needs a value"),
        ('task:"open', "quotation mark is not closed"),
        ('a"b', "quotation mark"),
        ("task:a*b", "a star is allowed at the end only"),
        ("args.:x", "has no key 'args.:'"),
        ("task:a\0b", "no database stores"),
        ("task:\ud800", "no database stores"),
        ("x" * 5000, "at most 4,000 characters"),
    ],
)
def test_a_wrong_word_is_named(text: str, said: str) -> None:
    with pytest.raises(InvalidFilter, match=said):
        parse(text)


@pytest.mark.parametrize("text", ["-", "- -", '""', "*", "12:30", "a\\", "é ü", "%", "_", "'", "--x", '-"a b"'])
def test_odd_texts_are_free_text(text: str) -> None:
    assert all(term.key == "text" for term in parse(text).terms)


def test_the_smallest_id_of_a_moment() -> None:
    assert search.smallest_id(datetime(1970, 1, 1, tzinfo=UTC)) == "00000000-0000-0000-0000-000000000000"
    assert search.smallest_id(datetime(1960, 1, 1, tzinfo=UTC)) == "00000000-0000-0000-0000-000000000000"


# -- what each word finds ------------------------------------------------------------------------------


class Finder:
    """Asks one store and gives the names of the jobs that were found."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.names: dict[str, str] = {}

    def __call__(self, text: str, **rest: Any) -> str:
        with self.store.read() as conn:
            page = search.find(conn, text, now=self.store.now(), **rest)
            counted = search.count(conn, text, now=self.store.now())
        if not rest:
            assert counted == Counted(len(page.rows))
        return " ".join(sorted(self.names[row.id] for row in page.rows))


@pytest.fixture
def find(store: Store, make: Maker) -> Finder:
    """Five jobs, each unlike the others."""
    finder = Finder(store)
    a = make.unit_job(unit("2013-02"), '{"airport": "EWR", "n": 3, "on": true, "deep": {"x": "y"}}', kind="sync").id
    (claim,) = make.claim()
    failure = describe(TimeoutError("the Server said: timeout"))
    make.finish(claim, Status.FAILED, error=failure.to_json(), fingerprint=failure.fingerprint)
    b = make.pending(
        "parse", dumps({"nul": "a\0b", "uni": "Zürich", "list": [1, "two"]}), labels={"tenant": "acme"}, queue="slow"
    )
    c = make.pending("parse_all", labels={"tenant": "other", "a b": "c d"}, source="weather/LGA")
    d = make.pending(
        "Parse", "{}", source="weather_x", file=dumps({"path": "/in/planes.csv", "size": 1, "sha256": "00"})
    )
    e = make.ended("sync", queue="other")
    finder.names = {a: "a", b: "b", c: "c", d: "d", e: "e"}
    finder.fingerprint = failure.fingerprint  # type: ignore[attr-defined]
    return finder


FOUND = [
    ("", "a b c d e"),
    ("task:parse", "b"),
    ("task:parse*", "b c"),
    ("task:parse task:Parse", "b d"),
    ("-task:parse*", "a d e"),
    ("kind:sync", "a"),
    ("-kind:sync", "b c d e"),
    ("kind:*", "a"),
    ("queue:slow", "b"),
    ("status:failed", "a"),
    ("status:pending", "b c d"),
    ("status:active", "b c d"),
    ("status:final", "a e"),
    ("status:completed status:failed", "a e"),
    ("-status:pending", "a e"),
    ("outcome:none", "b c d"),
    ("-outcome:error", "b c d e"),
    ("source:weather/*", "a c"),
    ("source:weather_*", "d"),
    ("source:Weather/*", ""),
    ("-source:weather/*", "b d e"),
    ("period:2013-02", "a"),
    ("period:2013-*", "a"),
    ('unit:"sync weather/EWR 2013-02"', "a"),
    ("unit:sync*", "a"),
    (f"unit:{unit('2013-02').key}", "a"),
    ("label:tenant=acme", "b"),
    ("label:tenant", "b c"),
    ("label:tenant=*", "b c"),
    ('label:"a b=c d"', "c"),
    ("-label:tenant=acme", "a c d e"),
    ("args.airport:EWR", "a"),
    ("args.airport:E*", "a"),
    ("args.n:3", "a"),
    ("args.on:true", "a"),
    ("args.deep.x:y", "a"),
    ("args.list:two", "b"),
    ('args.nul:"a\0b"', "b"),
    ("-args.airport:EWR", "b c d e"),
    ("error:timeout", "a"),
    ("error:TIMEOUT", "a"),
    ("file:planes.csv", "d"),
    ("file:pla*", "d"),
    ("-file:planes.csv", "a b c e"),
    ("zürich", "b"),
    ('"a\0b"', "b"),
    ("acme", "b"),
    ("timeout ewr", "a"),
    ("-timeout", "b c d e"),
    ("after:1h", "a b c d e"),
    ("before:1h", ""),
    ("before:2013-05-01", ""),
    ("after:2013-05-01T00:00+02:00", "a b c d e"),
    ("status:pending task:parse* -queue:slow", "c"),
    ("worker:0000*", ""),
    ("id:zz*", ""),
]  # fmt: skip


def test_words_find(find: Finder) -> None:
    """One table and one store, since nothing is changed."""
    wrong = {text: (found, expected) for text, expected in FOUND if (found := find(text)) != expected}
    assert wrong == {}


def test_ids_by_beginning_ending_and_whole(find: Finder) -> None:
    for job_id, name in find.names.items():
        assert find(f"id:{job_id}") == name
        assert find(f"id:{job_id[-12:]}") == name
        assert find(f"id:{job_id[-12:].upper()}") == name
        assert name in find(f"id:{job_id[:8]}*")


def test_a_fingerprint_is_found_through_its_index(find: Finder) -> None:
    text = f"error:{find.fingerprint}"  # type: ignore[attr-defined]
    assert parse(text).wide == ()
    assert find(text) == "a"


def test_a_period_is_found_through_its_index(store: Store) -> None:
    if store.dialect.name != "sqlite":
        return
    with store.read() as conn:
        asked = "EXPLAIN QUERY PLAN SELECT id FROM jobtrail_jobs WHERE period = '2013-02' ORDER BY id DESC LIMIT 50"
        plan = " ".join(row.detail for row in conn.exec_driver_sql(asked))
    assert "jobtrail_jobs_period" in plan
    assert "TEMP B-TREE" not in plan


def test_worker_and_rerun_of(store: Store, make: Maker) -> None:
    first = make.ended()
    again = make.pending(rerun_of=first)
    with store.read() as conn:
        assert [row.id for row in search.find(conn, f"worker:{make.worker}", now=NOW).rows] == [first]
        assert [row.id for row in search.find(conn, f"rerun_of:{first}", now=NOW).rows] == [again]


# -- rows, pages, counts -------------------------------------------------------------------------------


def test_a_row_is_light_and_tells_the_error(store: Store, make: Maker) -> None:
    make.pending(file=dumps({"path": "C:\\in\\planes.csv", "size": 1, "sha256": "00"}))
    (claim,) = make.claim()
    make.finish(claim, Status.FAILED, error=describe(ValueError('a "quoted" \\ text ' + "ü" * 5000)).to_json())
    with store.read() as conn:
        (row,) = search.find(conn, "", now=NOW).rows
    assert row.file == "planes.csv"
    assert row.error is not None
    assert row.error.startswith('ValueError: a "quoted" \\ text üüü')
    assert len(row.error) == len("ValueError: ") + 200
    assert not hasattr(row, "args")


def test_pages_give_each_job_once_and_newest_first(store: Store, make: Maker) -> None:
    store.insert_alike(new_job(), [(new_job().id, "{}") for _ in range(25)])
    for text in ("", "task:sync", "sync"):
        seen: list[str] = []
        before = None
        with store.read() as conn:
            while True:
                page = search.find(conn, text, now=NOW, limit=10, before=before)
                seen += [row.id for row in page.rows]
                make.pending()  # a job that comes while somebody reads moves nothing
                before = page.next
                if before is None:
                    break
        assert seen == sorted(seen, reverse=True)
        assert len(set(seen)) == len(seen) >= 25


def test_counts_are_exact_up_to_the_cap(store: Store) -> None:
    store.insert_alike(new_job(), [(new_job().id, "{}") for _ in range(20)])
    with store.read() as conn:
        assert search.count(conn, "", now=NOW, cap=20) == Counted(20)
        assert search.count(conn, "", now=NOW, cap=19) == Counted(19, more=True)
        assert search.count(conn, "sync", now=NOW, cap=19) == Counted(19, more=True)
        assert search.count(conn, "sync", now=NOW, cap=20) == Counted(20)
        assert search.status_counts(conn, 19)["pending"] == Counted(19, more=True)


def test_where_not_all_was_looked_at_the_page_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search, scan_filter):
        monkeypatch.setattr(module, "NEWEST", 30)
    monkeypatch.setattr(scan_filter, "FIRST", 7)
    ids = [new_job().id for _ in range(50)]
    store.insert_alike(new_job(), [(one, '{"n": "oldest"}' if one == ids[0] else "{}") for one in ids])
    with store.read() as conn:
        first = search.find(conn, "args.n:oldest", now=NOW)
        assert (first.rows, first.searched) == ([], 30)
        assert first.note is not None
        assert "30" in first.note
        second = search.find(conn, "args.n:oldest", now=NOW, before=first.next)
        assert [row.id for row in second.rows] == [ids[0]]
        assert (second.next, second.note, second.searched) == (None, None, 20)
        assert search.count(conn, "args.n:oldest", now=NOW) == Counted(0, more=True)


def test_many_of_a_status_are_found_without_its_index(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FEW", 3)
    store.insert_alike(new_job(), [(new_job().id, "{}") for _ in range(5)])
    with store.read() as conn:
        for text in ("status:pending", "task:sy*", "-task:x*"):
            assert len(search.find(conn, text, now=NOW).rows) == 5


def test_a_page_begins_before_an_id_only(store: Store) -> None:
    with store.read() as conn, pytest.raises(InvalidFilter, match="'x' is not one"):
        search.find(conn, "", now=NOW, before="x")


def test_status_counts_name_every_status(find: Finder) -> None:
    with find.store.read() as conn:
        counted = search.status_counts(conn)
    assert set(counted) == set(Status)
    assert {name: c.number for name, c in counted.items() if c.number} == {"pending": 3, "failed": 1, "completed": 1}


@pytest.mark.parametrize("text", ["", "status:failed", "task:sy*", "-status:pending", "sync", "sync status:failed", "args.no:such"])
def test_counts_by_status_are_those_of_the_filter_with_each_status(find: Finder, text: str) -> None:
    with find.store.read() as conn:
        told = search.by_status(conn, text, now=NOW)
        rest = " ".join(word for word in text.split() if not word.startswith("status:"))
        each = {status.value: search.count(conn, f"{rest} status:{status}", now=NOW) for status in Status}
        assert told == each
        assert search.together(told.values()) == search.count(conn, rest, now=NOW)


def test_counts_by_status_stop_at_their_cap(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.insert_alike(new_job(), [(new_job().id, "{}") for _ in range(20)])
    with store.read() as conn:
        for text in ("", "task:sync"):
            told = search.by_status(conn, text, now=NOW, cap=19)
            assert told["pending"] == search.together(told.values(), 19) == Counted(19, more=True)
        monkeypatch.setattr(scan_filter, "NEWEST", 10)
        assert search.by_status(conn, "sync", now=NOW)["pending"] == Counted(10, more=True)


def test_oldest_waiting_by_queue(store: Store, make: Maker) -> None:
    now = store.now()
    for minutes, priority in ((5, 3), (9, 7), (2, 0)):
        make.pending(run_at=now - timedelta(minutes=minutes), priority=priority)
    make.pending(queue="later", run_at=now + timedelta(hours=1))
    make.pending(queue="slow", run_at=now - timedelta(hours=1))
    with store.read() as conn:
        oldest = statistics.oldest_waiting(conn, now)
    assert oldest == {"default": now - timedelta(minutes=9), "slow": now - timedelta(hours=1)}


def test_a_running_job_is_found_by_its_status(store: Store, make: Maker) -> None:
    make.pending()
    (claim,) = make.claim()
    with store.read() as conn:
        assert [row.id for row in search.find(conn, "status:running", now=NOW).rows] == [claim.id]
    make.apply(transitions.stop_requested(subject(claim), NOW, cause=transitions.StopCause.CANCEL, actor="me"))
    with store.read() as conn:
        assert [row.id for row in search.find(conn, "status:cancelling", now=NOW).rows] == [claim.id]
        assert jobs.get(conn, claim.id) is not None


def test_what_the_database_leaves_out_no_word_would_have_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        "a_b",
        "aXb",
        "50%",
        "Straße",
        "STRASSE",
        "tab\there",
        'say "hi"',
        "back\\slash",
        "Ж",
        "17",
        "1.0",
        "n/a.b-c",
        "",
        "null",
    ]
    args = [dumps({"v": text}) for text in texts] + [
        f'{{"v": {plain}}}' for plain in ("17", "1.5e3", "true", "null", '["17", 18]')
    ]
    store.insert_alike(new_job(), [(new_job().id, one) for one in args])
    words = [
        "a_b",
        "aXb",
        "axb",
        "50%",
        "straße",
        "strasse",
        "here",
        "hi",
        "slash",
        "ж",
        "17",
        "18",
        "1.0",
        "1500.0",
        "true",
        "null",
        "n/a.b-c",
        "b*",
    ]

    def found() -> dict[str, set[str]]:
        with store.read() as conn:
            filters = [f"{key}{word}" for word in words for key in ("", "args.v:", "-args.v:", "error:", "file:")]
            return {text: {row.id for row in search.find(conn, text, now=NOW).rows} for text in filters}

    narrowed = found()
    monkeypatch.setattr(scan_filter, "_maybe", lambda _term, **_dialect: None)
    assert narrowed == found()
    assert narrowed["args.v:17"]
    assert narrowed["a_b"]
