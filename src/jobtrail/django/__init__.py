"""jobtrail in a Django project: ``INSTALLED_APPS = [..., "jobtrail.django"]``.

Attributes:
    jobs: The `JobTrail` of the project, made by ``settings.JOBTRAIL`` at the first use.

Example:
    ```python
    # shop/tasks.py
    from jobtrail.django import jobs

    @jobs.task
    def send_invoice(*, order: int) -> None: ...
    ```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobtrail.app import JobTrail

    jobs: JobTrail

__all__ = ["jobs"]


def __getattr__(name: str) -> Any:
    if name == "jobs":
        from jobtrail.integrations.django import setup

        from .application import application

        setup.set_up()
        return application()
    message = f"module 'jobtrail.django' has no attribute '{name}'"
    raise AttributeError(message)
