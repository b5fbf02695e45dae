from __future__ import annotations

from jobtrail.django import jobs

from .models import Order


@jobs.task
def count(**about) -> int:
    return Order.objects.count()


@jobs.task
async def acount(**about) -> int:
    return await Order.objects.acount()


@jobs.task(executor="process")
def count_in_child() -> int:
    return Order.objects.count()
