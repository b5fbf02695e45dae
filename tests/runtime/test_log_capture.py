"""The log of a job: threads of its body write into it, no configuration silences it, no message forges a record."""

from __future__ import annotations

import asyncio
import logging
import logging.config
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobtrail.runtime import log_capture
from jobtrail.testing import drain

log = logging.getLogger("shop.import")


@pytest.fixture(autouse=True)
def _logging_as_it_was():
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.disabled = handlers, False
    root.setLevel(level)
    for name in list(logging.Logger.manager.loggerDict):
        logging.getLogger(name).disabled = False


def test_lines_of_threads_and_pools_land_in_the_log_of_the_job_that_uses_them(jobs):
    pool = ThreadPoolExecutor(1)  # of the application, for all jobs

    @jobs.task
    def load(n):
        thread = threading.Thread(target=log.warning, args=("thread of %d", n))
        thread.start()
        thread.join(10)
        pool.submit(log.warning, "pool of %d", n).result(10)
        with ThreadPoolExecutor(1) as own:
            own.submit(own.submit, log.warning, "pool in a pool of %d", n).result(10)

    @jobs.task
    async def aload(n):
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, log.warning, "default executor of %d", n)
        await loop.run_in_executor(pool, log.warning, "executor of %d", n)

    found = [task.enqueue(n=n) for n, task in enumerate([load, aload, load, aload])]
    drain(jobs, slots=1)
    pool.submit(log.warning, "of no job").result(10)
    pool.shutdown()
    for n, job in enumerate(found):
        said = [line.split("shop.import: ")[1] for line in job.log().splitlines()]
        kinds = ["thread", "pool", "pool in a pool"] if n % 2 == 0 else ["default executor", "executor"]
        assert said == [f"{kind} of {n}" for kind in kinds]


def test_a_job_that_configures_logging_silences_no_later_one(jobs):
    @jobs.task
    def load(n):
        if n == 0:
            logging.config.dictConfig({"version": 1, "disable_existing_loggers": True, "root": {"handlers": []}})
        logging.getLogger(log_capture.JOB_LOGGER).info("line %d", n)
        log.warning("line %d of the program", n)

    found = [load.enqueue(n=n) for n in range(3)]
    drain(jobs, slots=1)
    assert [job.log().count("line") for job in found[1:]] == [2, 2]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_a_line_break_in_a_message_forges_no_record(jobs, end):
    @jobs.task
    def load():
        log.warning("row%s2013-02-12T03:00:00.123Z ERROR root: all money is gone", end)

    job = load.enqueue()
    drain(jobs)
    assert len([line for line in job.log().splitlines() if line[:4].isdigit()]) == 1
    (record,) = jobs.queries.log(job.id).records
    assert record.level == "WARNING"


PROGRAM = """
import logging, sys
from jobtrail import JobTrail
from jobtrail.testing import drain
jobs = JobTrail(sys.argv[1], migrate=True)
@jobs.task
def load():
    logging.getLogger("shop").info("as documented")
    logging.getLogger("shop").debug("too fine")
job = load.enqueue()
drain(jobs)
print(job.log().count("as documented"), job.log().count("too fine"))
logging.getLogger("shop").info("not for the terminal")
logging.getLogger("shop").warning("for the terminal")
"""


def test_a_program_without_logging_has_info_in_the_log_and_warnings_on_its_terminal(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, f"sqlite:///{tmp_path / 'jobs.db'}"], capture_output=True, text=True, timeout=60
    )
    assert told.stdout == "1 0\n"
    assert told.stderr == "for the terminal\n"
