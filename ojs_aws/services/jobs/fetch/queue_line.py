"""Lists the next jobs of a queue: its head, jobs of received messages, and those behind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.jobs.lists import Head, JobList
from ojs_aws.services.jobs.fetch.candidates import Candidate, QueueSnapshot, named_by, shown
from ojs_aws.services.jobs.fetch.job_claims import JobClaims

PAGE_BEYOND: Final = 100
MAX_PAGES_BEYOND: Final = 3
"""How far is looked behind jobs that limits keep waiting."""

FAIR_DUE: Final = 5
"""Due jobs of a fair queue that a round makes available first, beyond its messages."""


@dataclass(slots=True)
class QueueLine:
    """Lists the jobs of a queue that may be claimed, in fetch order.

    :ivar stamp: distinguishes this round from others that overlap it.
    """

    claims: JobClaims
    stamp: str = ""

    def first(self, look: QueueSnapshot) -> list[Candidate]:
        """Return the head of the queue, the jobs of held messages and those due, in order."""
        line = {each.id: each for each in look.shown()}
        waited = [*self._due_of_fair(look, line)]
        for received in self.claims.held:
            message = received.message
            if message.job_id in waited:
                continue
            listed = line.get(message.job_id)
            if listed is not None and not listed.waits:
                continue
            is_known = bool(message.sort_key) and not self.claims.limiting.types
            if listed is None and is_known and received.receive_count == 1:
                named = named_by(message)
                is_likely_gone = look.has_passed(named, self.claims.now)
                line[message.job_id] = replace(named, is_likely_gone=is_likely_gone)
            else:
                waited.append(message.job_id)
        waited += [row.id for row in look.due.jobs if row.priority is None and row.id not in waited]
        line |= {candidate.id: candidate for candidate in self.settled(waited)}
        return sorted(line.values(), key=lambda candidate: candidate.sort_key)

    def _due_of_fair(self, look: QueueSnapshot, line: dict[str, Candidate]) -> Iterator[str]:
        """Yield the first due jobs of a fair queue, and take them out of the line.

        Virtual starts are behind the clock while there is a backlog. So a due job would stand
        behind all of it, until it is made available and gets its place.
        """
        due = sorted(
            (each for each in line.values() if look.head.is_fair and each.waits),
            key=lambda each: each.sort_key,
        )
        for each in due[: len(self.claims.held) + FAIR_DUE]:
            del line[each.id]
            yield each.id

    def turn(self, candidate: Candidate) -> tuple[bool, str, bool, str]:
        """Return a candidate's sort key: its place; after a lost claim, its priority alone.

        What the head has shown to be gone comes last: a claim would be refused, and billed.
        """
        is_last = candidate.is_likely_gone
        if not self.claims.lost:
            return is_last, candidate.sort_key, False, ""
        is_own = any(received.message.job_id == candidate.id for received in self.claims.held)
        if not self.stamp:
            self.stamp = f"{self.claims.options.worker_id}/{self.claims.changer.clock.order()}/"
        scattered = hashlib.blake2s((self.stamp + candidate.id).encode(), digest_size=8)
        return is_last, candidate.rank, not is_own, scattered.hexdigest()

    def settled(self, job_ids: Sequence[str]) -> Iterator[Candidate]:
        """Yield the jobs that are available once due transitions are made; read in one call.

        For jobs that had to wait, or whose message came back.
        """
        for job_id, job in self.claims.changer.settle_each(
            job_ids, self.claims.now, self.claims.errors.note
        ):
            if job is None:
                self.claims.seen[job_id] = None
                continue
            candidate = self.claims.note(job)
            if candidate is not None:
                yield candidate

    def beyond(self, head: Head) -> Iterator[Candidate]:
        """Yield jobs behind a head that waits for limits, up to a maximum (RL-004)."""
        store = self.claims.changer.store
        cursor = store.place_of(head.jobs[-1], JobList.READY) if head.jobs else ""
        for _ in range(MAX_PAGES_BEYOND):
            if not cursor or self.claims.limiting.refuses_all:
                return
            page = store.listed(
                self.claims.options.queue,
                JobList.READY,
                PAGE_BEYOND,
                cursor=cursor,
                newest_first=False,
            )
            yield from (shown(row) for row in page.jobs if row.id not in self.claims.seen)
            cursor = page.cursor

    def swapped(self) -> Iterable[Candidate]:
        """Yield jobs whose message another fetcher used for the job that our message names.

        The index may not show such a job yet, so it is found by way of the reservation.
        """
        for received in list(self.claims.held):
            job = self.claims.seen.get(received.message.job_id)
            held = job.reservation if job else None
            if held and held.message_job_id not in {"", received.message.job_id, *self.claims.seen}:
                yield from self.settled([held.message_job_id])
