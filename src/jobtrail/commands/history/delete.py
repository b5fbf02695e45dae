"""Deletes ended jobs with everything that tells of them: chosen by a filter, in chunks, each of them audited."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from jobtrail.commands import bulk, uploads
from jobtrail.errors import Conflict
from jobtrail.job.model import new_id
from jobtrail.messages import Message, render, stored
from jobtrail.store.removal import deletion
from jobtrail.store.search import search

from .removal import DELETED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobtrail.commands.service import Service

CHUNK = 100  # jobs in one transaction
MOST_ITEMS = 20_000  # in one transaction, unless one job has more
PAGE = 500


@dataclass(frozen=True, slots=True)
class Skipped:
    """Jobs that stay: why, how many, and the id of one of them."""

    reason: str
    jobs: int
    example: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """What was deleted, or would be.

    Attributes:
        jobs: Number of jobs.
        skipped: Those that stay, with the reasons.
        digest: Of the selection, for `JobTrail.delete`; None if it was not asked for.
        more: The filter matches older jobs too, which are not in the selection of ``digest``.
    """

    jobs: int
    skipped: tuple[Skipped, ...] = ()
    digest: str | None = None
    more: bool = False


class Deleter:
    """Deletes chosen jobs, chunk by chunk, under one entry of the audit."""

    def __init__(self, service: Service, order: deletion.Order) -> None:
        self._service = service
        self._store = service.store
        self._order = order

    def delete(self, chosen: Mapping[str, int]) -> dict[str, str | None]:
        """Delete jobs, given with the number of their last run when they were chosen; the first chunk of them.

        Returns:
            For each job of the chunk None, or why it stays, in stored form.
        """
        chunk = self._first(chosen)
        held = self._held_back(chunk)
        if held is not None:
            return dict.fromkeys(chunk, held)
        done = self._store.write_beside(partial(deletion.delete_jobs, store=self._store, chosen=chunk, order=self._order))
        if done.units:
            self._store.write(partial(deletion.restore_units, gone=done.units))
        uploads.remove(self._store, self._service.settings, done.files)
        return dict.fromkeys(chunk) | done.left

    def _first(self, chosen: Mapping[str, int]) -> dict[str, int]:
        ids = list(chosen)[:CHUNK]
        with self._store.read() as conn:
            items = deletion.item_counts(conn, ids)
        number, chunk = 0, dict[str, int]()
        for one in ids:
            number += items.get(one, 0)
            if chunk and number > MOST_ITEMS:
                break
            chunk[one] = chosen[one]
        return chunk

    def _held_back(self, chunk: Mapping[str, int]) -> str | None:
        """Call what is called before a removal; why the chunk stays, where it raised."""
        announce = self._service.announces(DELETED)
        if announce is None:
            return None
        with self._store.read() as conn:
            going = deletion.deletable(conn, list(chunk))
        try:
            announce(going)
        except Exception as error:
            return Message("commands.kept-by-function", error=stored(error)).stored
        return None


def delete(
    service: Service,
    filter: str,  # noqa: A002 - as it is called for a person
    *,
    actor: str,
    reason: str | None = None,
    dry_run: bool = False,
    digest: str | None = None,
    conceal_filter: bool = False,
) -> Deletion:
    """Delete the ended jobs that a filter names; see `JobTrail.delete`."""
    service.make_ready()
    wanted = bulk.Wanted(bulk.DELETE, filter=filter)
    if dry_run or digest is not None:
        with service.store.read() as conn:
            shown = bulk.preview(conn, wanted, service.store.now())
        skipped = tuple(Skipped(render(why), number, example) for why, number, example in shown.skips)
        if dry_run:
            return Deletion(shown.acts, skipped, shown.digest, shown.more)
        if shown.digest != digest:
            raise Conflict(Message("commands.selection-changed"))
        pages: Iterable[dict[str, int]] = [{one.id: one.run_no for one in shown.chosen}]
    else:
        pages = _pages(service, filter)
    order = deletion.Order(new_id(), actor, reason, told_filter(filter, conceal=conceal_filter))
    return _carry_out(Deleter(service, order), pages)


def told_filter(text: str | None, *, conceal: bool) -> str | None:
    """A filter as the audit keeps it: the text, or its SHA-256 where the text itself names a person."""
    return text if not conceal or text is None else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _pages(service: Service, text: str) -> Iterator[dict[str, int]]:
    before: str | None = None
    while True:
        with service.store.read() as conn:
            page = search.find(conn, text, now=service.store.now(), limit=PAGE, before=before)
        yield {row.id: row.run_no for row in page.rows}
        if page.next is None:
            return
        before = page.next


def _carry_out(deleter: Deleter, pages: Iterable[dict[str, int]]) -> Deletion:
    number, reasons, examples = 0, Counter[str](), dict[str, str]()
    for page in pages:
        left = dict(page)
        while left:
            for job_id, why in deleter.delete(left).items():
                del left[job_id]
                number += why is None
                if why is not None:
                    reasons[why] += 1
                    examples.setdefault(why, job_id)
    skipped = tuple(Skipped(render(why), count, examples[why]) for why, count in reasons.most_common())
    return Deletion(number, skipped)
