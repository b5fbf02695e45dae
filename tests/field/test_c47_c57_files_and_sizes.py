"""C-47, C-57: import files in the wrong encoding with bad rows; payloads far too large."""

from __future__ import annotations

import csv
import io

import pytest

from jobtrail import PermanentError, TooLarge
from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import drain

ROWS = 1000


def read_rows(path):
    """As a careful user reads a CSV file: each line decoded for itself, so that a bad one costs only itself."""
    data = open(path, "rb").read()
    if not data.strip():
        raise PermanentError("the file is empty")
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\x00" in data[:200]:
        raise PermanentError("the file is not UTF-8 (it looks like UTF-16); save it as UTF-8")
    lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
    header = next(csv.reader([lines[0].decode()]))
    if len(set(header)) != len(header):
        raise PermanentError("two columns have the same name")
    return header, list(enumerate(lines[1:], 1))


@pytest.fixture
def import_csv(jobs):
    @jobs.task(max_failed_items=0.5)
    def import_csv(ctx):
        header, lines = read_rows(ctx.file.path)
        for item in ctx.items(lines, key=lambda pair: pair[0]):
            with item as (number, line):
                jobs.touched.append(number)
                if not line.strip():
                    item.skip("empty line")
                    continue
                cells = next(csv.reader(io.StringIO(line.decode(), newline="")))
                if len(cells) != len(header):
                    raise ValueError(f"{len(cells)} cells instead of {len(header)}: {line[:40]!r}")
                int(cells[0])

    jobs.touched = []
    return import_csv


def lines(bad=None):
    body = [f"{n},name {n}".encode() for n in range(1, ROWS + 1)]
    for number, line in (bad or {}).items():
        body[number - 1] = line
    return body


CASES = {
    "bom": (b"\xef\xbb\xbf" + b"id,name\n" + b"\n".join(lines()), ROWS, {}, 0),
    "windows-1252": (b"id,name\n" + b"\n".join(lines({7: b"7,caf\xe9 \x96 bar"})), ROWS - 1, {"7": "0xe9"}, 0),
    "one bad byte": (b"id,name\n" + b"\n".join(lines({500: b"500,\xff"})), ROWS - 1, {"500": "0xff"}, 0),
    "nul": (b"id,name\n" + b"\n".join(lines({500: b"5\x0000,x"})), ROWS - 1, {"500": ""}, 0),
    "ragged": (b"id,name\n" + b"\n".join(lines({3: b"3", 4: b"4,a,b\xff,c"})), ROWS - 2, {"3": "1 cells", "4": ""}, 0),
    "crlf mixed": (b"id,name\r\n" + b"\r\n".join(lines()[:500]) + b"\n" + b"\n".join(lines()[500:]), ROWS, {}, 0),
    "empty lines": (b"id,name\n" + b"\n".join(lines({8: b"", 9: b" "})), ROWS - 2, {}, 2),
    "open quote": (b"id,name\n" + b"\n".join(lines({10: b'10,"never closed'})), ROWS, {}, 0),
    "huge cell": (b"id,name\n" + b"\n".join(lines({20: b"x" * 5_000_000 + b",a"})), ROWS - 1, {"20": ""}, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_c47_rows_in_are_ok_failed_and_skipped_together(jobs, import_csv, tmp_path, name):
    """C-47: always; each failed row with its number and a reason that can be stored; then only those again."""
    content, ok, failed, skipped = CASES[name]
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    job = import_csv.using(source="s", file=path).enqueue()
    drain(jobs)
    assert job.item_counts() == {"ok": ok, "failed": len(failed), "skipped": skipped}
    assert sum(job.item_counts().values()) == ROWS
    assert job.refresh().status == ("partial" if failed else "completed")
    for item in job.items("failed"):
        assert failed[item.key] in item.reason
        assert "\x00" not in item.reason
        assert len(item.reason.encode()) <= 1000
    if not failed:
        return
    right = tmp_path / "right.csv"
    right.write_bytes(b"id,name\n" + b"\n".join(lines()))
    jobs.touched.clear()
    again = job.rerun("failed_items", file=right)
    drain(jobs)
    assert sorted(jobs.touched) == sorted(int(key) for key in failed)
    assert again.refresh().status == "completed"
    assert sum(again.item_counts(generation=True).values()) == ROWS


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        ("id,name\n1,a\n".encode("utf-16"), "UTF-16"),
        (b"id,id\n1,a\n", "same name"),
    ],
)
def test_c47_a_file_that_cannot_be_read_at_all_fails_at_once_with_a_sentence(jobs, import_csv, tmp_path, content, words):
    """C-47: a message about encoding or emptiness, no retry."""
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    job = import_csv.using(file=path, retry=5).enqueue()
    drain(jobs)
    assert (job.refresh().status, job.attempt) == ("failed", 1)
    assert words in job.error["message"]


def test_c47_header_only_is_nothing_to_do(jobs, import_csv, tmp_path):
    """C-47: header only."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b"id,name\n")
    job = import_csv.using(file=path).enqueue()
    drain(jobs)
    assert (job.refresh().status, job.note) == ("completed", "nothing to do")


def test_c47_a_wrongly_encoded_whole_file_is_stopped_by_its_limit(jobs, import_csv, tmp_path):
    """C-47: every row bad: stopped at the limit, and failed."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b"id,name\n" + b"\n".join(b"\xff" for _ in range(ROWS)))
    job = import_csv.using(file=path).enqueue()
    drain(jobs)
    assert job.refresh().status == "failed"
    assert "max_failed_items" in job.error["message"]
    assert len(jobs.touched) == ROWS // 2 + 1


# -- C-57 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [300_000, 20_000_000])
def test_c57_arguments_too_large_are_refused_with_both_sizes(jobs, size):
    """C-57: refused at submission with actual and allowed size; nothing queued; measured after encoding."""

    @jobs.task
    def load(a):
        pass

    with pytest.raises(TooLarge) as error:
        load.enqueue("x" * size)
    digits = str(error.value).replace(",", "").replace("_", "")
    assert "262144" in digits
    assert str(size)[:2] in digits
    with pytest.raises(TooLarge):
        load.enqueue_many([{"a": 1}, {"a": "x" * size}])
    with pytest.raises(TooLarge):
        load.enqueue("ü" * 140_000)
    assert jobs.find() == []
    assert load.enqueue("x" * 200_000).arguments == {"a": "x" * 200_000}


@pytest.mark.parametrize("size", [2_000_000, 10_000_000])
def test_c57_a_result_too_large_is_noted_and_the_work_is_not_repeated(jobs, size):
    """C-57: the work counts as succeeded, the note says so, the body ran once."""
    ran = []

    @jobs.task(retry=5)
    def load():
        ran.append(1)
        return {"rows": "x" * size}

    job = load.enqueue()
    drain(jobs)
    assert (job.refresh().status, ran) == ("completed", [1])
    assert "is larger than" in job.note
    assert len((stored_row(job).result or "").encode()) <= 1_048_576


def test_c57_limits_are_settings(make_jobs):
    """C-57: configurable, and always stated."""
    jobs = make_jobs(argument_limit=100, result_limit=100)

    @jobs.task
    def load(a):
        return "y" * 200

    with pytest.raises(TooLarge, match="100"):
        load.enqueue("x" * 200)
    job = load.enqueue("x")
    drain(jobs)
    assert "is larger than" in job.refresh().note


def test_c57_many_items_are_rows_and_are_paged(jobs):
    """C-57: 5,000 items with long reasons; stored row by row, with a cap each."""

    @jobs.task
    def load(ctx):
        for item in ctx.items(range(5_000)):
            with item:
                item.fail("r" * 5_000)

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().items_failed == 5_000
    page = job.items("failed", limit=50)
    assert len(page) == 50
    assert all(len(item.reason.encode()) <= 1000 for item in page)
