from __future__ import annotations

from django.db import connection
from django.test import TestCase, TransactionTestCase

from jobtrail.django import jobs
from jobtrail.testing import drain

from .tasks import count


class Rolled(TestCase):
    def test_a_job_of_the_transaction_goes_with_the_test(self):
        count.using(connection="default").enqueue()
        assert str(connection.settings_dict["NAME"]).rpartition("/")[2].startswith("test"), "not that of development"


class Whole(TransactionTestCase):
    def test_jobs_run(self):
        job = count.enqueue()
        drain(jobs)
        assert [str(one.status) for one in jobs.find()] == ["completed"]
        assert job.result(timeout=1) == 0
