"""A program whose threads use the store, and that forks children with hosts of their own: ``forking_host_app.py URL CHILDREN``."""

import os
import signal
import sys
import threading
import time

from handing import Box

from jobtrail import JobTrail
from jobtrail.store.tracked.hand_over import Refusal

url, children = sys.argv[1], int(sys.argv[2])
jobs = JobTrail(
    url, executor=Box(), poll_interval=0.05, beat_interval=0.05, sweep_interval=0.05, graceful_shutdown_timeout=1, migrate=True
)
work = jobs.task(name="work")(lambda: os.getpid())
own = work.enqueue()
leads = jobs.host("box", leads=True)
leads.start()
over = threading.Event()


def busy():
    while not over.is_set():
        work.enqueue()
        list(jobs.find("status:completed", limit=3))


def child(job_id):
    assert not jobs.store.wake._callbacks, "it would wake the loop of its parent"
    host = jobs.host("box", leads=False)
    host.start()
    while (end := host.run(job_id, 1)).refused is Refusal.AWAY:
        pass  # on a busy machine it takes a while until the host works
    host.stop()
    if not end.begun:
        print(end, flush=True)
    return end.begun


threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
pids, wanted = [], []
for _ in range(children):
    job = work.enqueue()
    wanted.append(job)
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        code = 1
        try:
            code = 0 if child(job.id) else 2
        except BaseException as error:
            print(repr(error), flush=True)
        finally:
            sys.stdout.flush()
            os._exit(code)
    pids.append(pid)
    time.sleep(0.02)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
over.set()
for thread in threads:
    thread.join(10)
print("codes", sorted(set(codes)))
print("ran", sum(job.refresh().status == "completed" and job.result() == pid for job, pid in zip(wanted, pids, strict=True)))
print("parent", leads.run(own.id, 1).begun, own.refresh().result() == os.getpid())
leads.stop()
