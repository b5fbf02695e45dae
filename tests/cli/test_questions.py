"""questions, answer, and what show and rerun tell of questions and chains."""

from __future__ import annotations

import getpass
import io
import os
import pty
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]
    Type = Callable[..., None]


@pytest.fixture(autouse=True)
def _asking(jt: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application is one that asks."""
    del jt
    monkeypatch.setenv("JOBTRAIL_APP", "asking_shop:make")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Type:
    """Have somebody sit at a terminal and type these lines."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def at(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr("typer._click.termui.hidden_prompt_func", lambda _: sys.stdin.readline().rstrip("\n"))

    return at


def answer_of(jt: Command, job_id: str) -> object:
    """What the last question of a job was answered with."""
    return jt("questions", "--job", job_id, "--json").json["questions"][-1]["answer"]


# -- questions -----------------------------------------------------------------------------------------


def test_open_questions_by_deadline(jt: Command, submitted: Make, ran: Make) -> None:
    assert jt("questions").out == "no question waits for an answer\n"
    later, never = submitted("pick", "--source", "a", "--period", "2013-02"), submitted("columns", "--source", "b")
    soon = ran("choose")
    told = jt("questions")
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == [soon[-8:], later[-8:], never[-8:]]
    assert "in 3 h  " in lines[1]
    assert "choose" in lines[1]
    assert "date column  Which column is the date?" in lines[1]
    assert "in 2 d, then default  pick     a       2013-02" in lines[2]
    assert "3 of 3" in lines[4]
    seen = jt("questions", "--json").json
    assert seen["count"] == 3
    first, second, third = seen["questions"]
    assert (first["job"], first["task"], first["name"]) == (soon, "choose", "date column")
    assert (first["has_default"], second["has_default"], second["period"]) == (False, True, "2013-02")
    (second,) = jt("questions", "--job", second["job"], "--json").json["questions"]
    assert (second["state"], second["default"]) == ("open", "red")
    (first,) = jt("questions", "--job", first["job"], "--json").json["questions"]
    assert first["form"]["required"] == ["column"]
    (third,) = jt("questions", "--job", third["job"], "--json").json["questions"]
    assert (third["expires_at"], third["remember"], third["mapping"]["proposal"]["tailnum"]) == (None, True, "Tail Num")
    assert [one["samples"] for one in third["mapping"]["columns"]] == [["N10156"], ["2004"], ["55"], ["•••"]]
    assert len(jt("questions", "--limit", "1", "--json").json["questions"]) == 1


def test_a_question_does_not_steer_the_terminal(jt: Command, ran: Make) -> None:
    job_id = ran("choose")
    for words in (("questions",), ("questions", "--job", job_id), ("show", job_id)):
        answer = jt(*words)
        assert "\x1b" not in answer.out
    assert "\\x1b[31mfile." in answer.out


def test_all_of_one_job_with_its_answers(jt: Command, ran: Make) -> None:
    job_id = ran("choose")
    told = jt("questions", "--job", job_id[-10:]).out
    assert "date column  open" in told
    assert "(in 3 h); then the job fails" in told
    assert f"jobtrail answer {job_id[-8:]} --with '{{\"column\": \"…\"}}'" in told
    jt("answer", job_id, "--with", '{"column": "when", "password": "s3cret"}', "--actor", "person:eve", "--reason", "seen")
    told = jt("questions", "--job", job_id).out
    assert "date column  answered" in told
    assert "person:eve at " in told
    assert "seen" in told
    assert "s3cret" not in told
    assert answer_of(jt, job_id) == {"column": "when", "password": "•••"}
    assert "has asked nothing" in jt("questions", "--job", jt("submit", "load", "--json").json["job"]["id"]).out


# -- answer --with -------------------------------------------------------------------------------------


def test_an_answer_lets_the_job_go_on(jt: Command, ran: Make) -> None:
    job_id = ran("choose")
    assert f"asks a person: jobtrail answer {job_id[-8:]}" in jt("list").out
    answer = jt("answer", job_id[-8:], "--with", '{"column": "when", "skip": 2}', "--json")
    assert (answer.code, answer.json["job"]["status"]) == (0, "pending")
    assert jt("worker", "--burst").code == 0
    seen = jt("show", job_id, "--json").json
    assert (seen["status"], seen["result"]["column"], seen["result"]["skip"]) == ("completed", "when", 2)
    (asked,) = seen["questions"]
    assert (asked["state"], asked["actor"]) == ("answered", f"person:{getpass.getuser()}")
    names = [one["name"] for one in seen["timeline"]]
    assert [one for one in names if one not in {"submitted", "started", "finished"}] == ["asked", "answered"]


def test_by_the_id_of_the_question(jt: Command, ran: Make) -> None:
    job_id = ran("pick")
    question = jt("questions", "--json").json["questions"][0]["id"]
    assert jt("answer", question[-9:], "--with", '"blue"', "--question", "colour").code == 0
    assert jt("answer", question, "--with", '"blue"').code == 0  # once more the same changes nothing
    assert answer_of(jt, job_id) == "blue"


def test_one_value_may_stand_as_it_would_be_typed(
    jt: Command, ran: Make, submitted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, job_id = submitted("pick"), ran("pick")
    assert jt("answer", job_id, "--with", "blue").code == 0
    assert answer_of(jt, job_id) == "blue"
    monkeypatch.setattr("sys.stdin", io.StringIO('"blue"\n'))
    assert jt("answer", other, "--with", "-").code == 0


def test_a_wrong_answer_is_told_by_field_and_leaves_it_open(jt: Command, ran: Make) -> None:
    job_id = ran("choose")
    refused = jt("answer", job_id, "--with", '{"skip": -1}')
    assert (refused.code, refused.out) == (2, "")
    assert "$.column is required" in refused.err
    assert "$.skip must be at least 0; it is -1" in refused.err
    assert refused.err.count("\n") == 1
    assert jt("show", job_id, "--json").json["status"] == "awaiting_input"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--with", "{"), 2, "--with is not JSON"),
        (("--with", '{"skip": NaN}'), 2, "NaN is not JSON"),
        (("--with", '{"column": "a"}', "--question", "other"), 1, "has asked nothing called 'other'"),
        ((), 2, "there is no terminal to ask at; give the answer, such as --with '{\"column\": \"…\"}'"),
    ],
)
def test_what_cannot_be_is_one_sentence(jt: Command, ran: Make, words: tuple[str, ...], code: int, told: str) -> None:
    job_id = ran("choose")
    answer = jt("answer", job_id, *words)
    assert (answer.code, answer.out) == (code, "")
    assert told in answer.err
    assert answer.err.count("\n") == 1


def test_a_second_answer_is_told_who_was_first(jt: Command, ran: Make, typed: Type) -> None:
    job_id = ran("pick")
    jt("answer", job_id, "--with", "blue", "--actor", "person:eve")
    second = jt("answer", job_id, "--with", "red")
    assert second.code == 1
    assert "was answered by person:eve at " in second.err
    typed("red", "y")
    third = jt("answer", job_id)
    assert "was answered by person:eve at " in third.err
    assert "Which colour?" not in third.err, "nobody types in vain"


def test_a_question_of_a_cancelled_job_is_closed(jt: Command, ran: Make) -> None:
    job_id = ran("pick")
    jt("cancel", job_id, "--reason", "not needed")
    answer = jt("answer", job_id, "--with", "red")
    assert answer.code == 1
    assert "not needed" in answer.err
    assert jt("questions", "--json").json["count"] == 0


def test_no_such_thing(jt: Command, ran: Make) -> None:
    ran("pick")
    assert "there is no job 'zz', and no open question that ends so" in jt("answer", "zz", "--with", "1").err
    nothing = jt("submit", "load", "--json").json["job"]["id"]
    assert "has asked nothing" in jt("answer", nothing, "--with", "1").err


def test_remember_may_be_decided_with_the_answer(jt: Command, ran: Make) -> None:
    given = '{"tailnum": "Tail Num", "year": "Built"}'
    assert jt("answer", ran("columns", "--source", "a"), "--with", given, "--no-remember").code == 0
    again = ran("columns", "--source", "a")
    assert jt("show", again, "--json").json["status"] == "awaiting_mapping"
    assert jt("answer", again, "--with", given).code == 0
    assert jt("show", ran("columns", "--source", "a"), "--json").json["status"] == "completed"


# -- answer, field by field ----------------------------------------------------------------------------


def test_field_by_field(jt: Command, ran: Make, typed: Type) -> None:
    job_id = ran("choose")
    typed("", "when", "-3", "3", "soon", "", "s3cret", "n", "where", "", "2013-02-12", "", "")
    answer = jt("answer", job_id, "--json")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("{")
    assert answer.json["job"]["id"] == job_id
    assert "As it stands in the first line" in answer.err
    assert "column is required" in answer.err
    assert "skip must be at least 0; it is -3" in answer.err
    assert "day must be a date such as 2013-02-12; it is 'soon'" in answer.err
    assert '{"column": "when", "skip": 3, "day": null, "password": "•••"}' in answer.err
    assert "s3cret" not in answer.out + answer.err
    assert jt("worker", "--burst").code == 0
    result = jt("show", job_id, "--json").json["result"]
    assert result == {"column": "where", "skip": 0, "day": "2013-02-12", "password": "•••"}


def test_one_of_a_list_by_its_place(jt: Command, ran: Make, typed: Type) -> None:
    job_id = ran("pick")
    typed("3", "2", "y")
    answer = jt("answer", job_id)
    assert "colour (1 red, 2 blue): " in answer.err
    assert "must be one of 'red', 'blue'; it is '3'" in answer.err
    assert answer_of(jt, job_id) == "blue"


def test_a_mapping_target_by_target(jt: Command, ran: Make, typed: Type) -> None:
    """Enter takes the proposal, a number or a name corrects it, - is none; wrong ones are told at once."""
    job_id = ran("columns")
    typed("", "-", "tail num", "Build", "built", "-", "y")
    answer = jt("answer", job_id)
    assert answer.code == 0, answer.err
    assert "2  Built         2004" in answer.err
    assert "•••" in answer.err
    assert "year is required" in answer.err
    assert "the column 'Tail Num' is used for 'tailnum' already" in answer.err
    assert "there is no column 'Build'; did you mean 'Built'?" in answer.err
    assert answer_of(jt, job_id) == {"tailnum": "Tail Num", "year": "Built", "seats": None}


def test_a_mapping_may_be_gone_through_again(jt: Command, ran: Make, typed: Type) -> None:
    """What was given is the proposal then; a column that another field has taken is not proposed."""
    job_id = ran("columns")
    typed("2", "1", "", "n", "1", "2", "", "y")
    answer = jt("answer", job_id)
    assert "year* (whole number) [-]: " in answer.err
    assert "year* (whole number) [Tail Num]: " not in answer.err
    assert answer_of(jt, job_id) == {"tailnum": "Tail Num", "year": "Built", "seats": "No. of seats"}


def test_leaving_answers_nothing(jt: Command, ran: Make, typed: Type) -> None:
    job_id = ran("pick")
    typed()
    assert jt("answer", job_id).code == 130
    assert jt("show", job_id, "--json").json["status"] == "awaiting_input"


def test_at_a_real_terminal(jt: Command, ran: Make, url: str) -> None:
    """In a process of its own, with a pseudo-terminal: what is asked is seen, what is typed is taken."""
    job_id = ran("pick")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "jobtrail", "--database", url, "answer", job_id]
    environment = {**os.environ, "TERM": "dumb"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = ""
    for wait_for, line in (("colour (1 red, 2 blue): ", "blue\n"), ("Send this answer? [Y/n]: ", "\n"), ("pending", "")):
        seen = read_until(ours, seen, wait_for)
        os.write(ours, line.encode())
    assert process.wait(timeout=20) == 0
    os.close(ours)
    assert answer_of(jt, job_id) == "blue"


def read_until(terminal: int, seen: str, text: str) -> str:
    """Read what stands on a terminal until a text is there."""
    end = time.monotonic() + 20
    while text not in seen:
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 0.5)[0]:
            seen += os.read(terminal, 4096).decode()
    return seen


def test_a_wait_says_that_the_job_asks(
    jt: Command, submitted: Make, process: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    del submitted
    worker = process("--app", "asking_shop:jobs", "worker")
    waiting = process("--app", "asking_shop:jobs", "submit", "pick", "--wait")
    try:
        assert waiting.stderr is not None
        told = ""
        while "asks a person: jobtrail answer " not in told:
            told = waiting.stderr.readline()
            assert told, "it ended"
        job_id = told.split()[-1]
        assert jt("answer", job_id, "--with", "blue").code == 0
        assert waiting.wait(timeout=20) == 0
    finally:
        for one in (worker, waiting):
            one.terminate()
            one.communicate(timeout=15)


# -- the chain -----------------------------------------------------------------------------------------


@pytest.fixture
def chained(jt: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Submit a load that is followed by a report (and that by an alert) and, where it fails, by an alert."""
    from asking_shop import make

    def submit(**arguments: bool) -> str:
        app = make()
        try:
            tasks = {name: app.task_named(name) for name in ("load", "report", "alert")}
            chain = tasks["load"].using(source="s", period="2013-02")
            chain = chain.then(tasks["report"].then(tasks["alert"], when=3600, on="ended"), result_as="rows")
            job = chain.then(tasks["alert"], on="failure").enqueue(**arguments)
            return job.id
        finally:
            app.close()

    return submit


def test_show_draws_the_chain(jt: Command, chained: Callable[..., str]) -> None:
    job_id = chained()
    waits = jt("show", job_id).out
    assert "├─ on success: report  waiting" in waits
    assert "└─ on failure: alert  waiting" in waits
    run_due(jt)
    told = jt("show", job_id)
    assert "← this job" in told.out
    assert "├─ on success: report s 2013-02 (…" in told.out
    assert "│  └─ on any end, 1:00:00 later: alert s 2013-02 (…" in told.out
    assert "└─ on failure: alert  skipped: comes on failure; load" in told.out
    seen = jt("show", job_id, "--json").json
    report, alert = seen["successors"]
    assert (report["state"], report["status"], report["on"]) == ("submitted", "completed", ["success"])
    assert (alert["state"], alert["job"]) == ("skipped", None)
    assert (report["successors"][0]["status"], report["successors"][0]["seconds_later"]) == ("pending", 3600)
    below = jt("show", report["successors"][0]["job"])
    assert [line[:10] for line in below.out[below.out.index("Chain") :].splitlines()[1:4]] == [
        "load s 201", "└─ report ", "   └─ aler",
    ]  # fmt: skip
    ancestors = jt("show", report["job"], "--json").json["ancestors"]
    assert [(one["id"], one["group"], one["name"], one["status"]) for one in ancestors] == [
        (job_id, False, "load", "completed")
    ]


def run_due(jt: Command) -> None:
    """Run what is due, not what is planned for later."""
    del jt
    from asking_shop import make

    from jobtrail.testing import drain

    app = make()
    try:
        drain(app)
    finally:
        app.close()


def test_show_tells_of_groups(jt: Command) -> None:
    from asking_shop import make

    app = make()
    members = [(app.task_named("load"), {}), (app.task_named("pick"), {})]
    group = app.group(members, then=app.task_named("alert"), name="night")
    first, second = (job.id for job in group.jobs())
    app.close()
    run_due(jt)
    told = jt("show", first).out
    assert f"member of group 'night' (…{group.id[-8:]}): 1 of 2 jobs have ended" in told
    assert "└─ on any end: alert  waiting" in told
    jt("answer", second, "--with", "red")
    run_due(jt)
    seen = jt("show", first, "--json").json["groups"]
    assert [(one["name"], one["total"], one["ended"], one["outcome"]) for one in seen] == [("night", 2, 2, "success")]
    follower = seen[0]["successors"][0]
    assert follower["status"] == "completed"
    assert "group 'night'" in jt("show", follower["job"]).out


def test_a_rerun_takes_successors_along_where_that_is_said(jt: Command, chained: Callable[..., str]) -> None:
    job_id = chained()
    run_due(jt)
    alone = jt("rerun", job_id, "--json").json["job"]["id"]
    run_due(jt)
    assert jt("show", alone, "--json").json["successors"] == []
    whole = jt("rerun", job_id, "--with-successors", "--json").json["job"]["id"]
    run_due(jt)
    assert [one["state"] for one in jt("show", whole, "--json").json["successors"]] == ["submitted", "skipped"]
    assert jt("list", "task:report", "--json").json["count"]["number"] == 2


def test_what_was_remembered_can_be_forgotten(jt: Command, ran: Make) -> None:
    given = '{"tailnum": "Tail Num", "year": "Built"}'
    jt("answer", ran("columns", "--source", "a"), "--with", given)
    assert jt("show", ran("columns", "--source", "a"), "--json").json["status"] == "completed"
    (kept,) = jt("questions", "--remembered", "--json").json["remembered"]
    assert (kept["task"], kept["source"], kept["answer"]) == ("columns", "a", {"tailnum": "Tail Num", "year": "Built"})
    assert kept["actor"].startswith("person:")
    shown = jt("questions", "--remembered").out
    assert all(word in shown for word in ("columns", "Tail Num", "jobtrail forget TASK"))
    assert jt("questions", "--remembered", "--job", kept["question"]).code == 2
    assert jt("forget", "columns", "--source", "a", "--question", "other").out.startswith("0 answers are forgotten")
    assert jt("forget", "columns", "--source", "a").out == "1 answer is forgotten of columns a\n"
    assert jt("show", ran("columns", "--source", "a"), "--json").json["status"] == "awaiting_mapping"
    assert jt("forget", "columns", "--json").json["forgotten"] == 0
    assert jt("questions", "--remembered").out == "no answer is remembered\n"
