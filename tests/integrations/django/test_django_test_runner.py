"""`TEST_RUNNER`: tests of a project have jobs in Django's test database, and it can be dropped after them."""

from __future__ import annotations


def test_tests_of_a_project_meet_only_the_test_database(shop):
    shop.python("count.enqueue()")
    shop.manage("test", "orders", "--pattern", "shop_tests.py", "--noinput")
    shop.python("assert states() == [('count', 'pending')], states()")
