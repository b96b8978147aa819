"""Runs one queue's round of a FETCH: from messages and ready jobs to claimed jobs.

A message is a permission to run one job of its queue, and a hint which. The head of the ready list
says which job is first (``queue_line``). Jobs are claimed one by one (``job_claims``), and messages
that no job was claimed with are given back (``unused_messages``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.job import JobRecord
from ojs_aws.services.jobs.fetch.candidates import Candidate, QueueSnapshot
from ojs_aws.services.jobs.fetch.job_claims import JobClaims
from ojs_aws.services.jobs.fetch.queue_line import QueueLine
from ojs_aws.services.jobs.fetch.unused_messages import UnusedMessages

FURTHER_TRIES: Final = 2
"""Claims that may be lost after a further look, at least."""

MAX_LOOKS: Final = 4
"""How often a round looks who is first in line while others are faster with all that it sees."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ClaimRound:
    """Runs one round; it lives for one request and one queue."""

    claims: JobClaims
    line: QueueLine = field(init=False)

    def __post_init__(self) -> None:
        """Look at the line of the same queue."""
        self.line = QueueLine(self.claims)

    def run(
        self, first: QueueSnapshot, need: int, again: Callable[[int], QueueSnapshot]
    ) -> list[JobRecord]:
        """Claim up to ``need`` jobs in fetch order: ready ones, and those that became due.

        :param first: who was first in line just now.
        :param again: looks again, so that there is room for so many jobs; for when others were
            faster with all that were seen.

        A job that cannot be read or written is passed over. An error that comes after the first
        claim ends the round at most: the jobs that were claimed must reach the worker.

        :raises Exception: the first error, where no job was claimed.
        """
        claims, head = self.claims, first.head
        claims.tries_left += 2 * need
        claims.limiting.is_whole = bool(head.limit)
        try:
            self._claim_line(first, need, again)
            if len(claims.claimed) < need and claims.limiting.has_passed_by:
                self._claim_all(self.line.beyond(head), need)
            if len(claims.claimed) < need:
                self._claim_all(self.line.swapped(), need)
        except Exception:
            if not claims.claimed:
                raise
            claims.is_overtaken = True
            _logger.warning("A fetch ended after %d claims", len(claims.claimed), exc_info=True)
        if not claims.claimed and claims.errors.first is not None:
            raise claims.errors.first
        return claims.claimed

    def _claim_line(
        self, look: QueueSnapshot, need: int, again: Callable[[int], QueueSnapshot]
    ) -> None:
        """Claim the first jobs in fetch order.

        Once a claim was lost, fetches overlap. Going on in order, all would lose to one another,
        job by job. So each takes another one of the same priority: its own message's, or any.
        """
        claims = self.claims
        line = {each.id: each for each in self.line.first(look)}
        looks_left = MAX_LOOKS - 1
        while len(claims.claimed) < need and not claims.is_full():
            line |= claims.come_back()
            best = min(line.values(), key=self.line.turn, default=None)
            if claims.lost and looks_left and (claims.tries_left <= 0 or look.may_hide(best)):
                looks_left -= 1
                missing = need - len(claims.claimed)
                look = again(missing + claims.lost)
                claims.tries_left = max(claims.tries_left, missing + FURTHER_TRIES)
                fresh = [each for each in look.shown() if each.id not in claims.seen]
                left = [each for each in line.values() if not each.is_listed]
                line = {each.id: each for each in (*left, *fresh)}
                continue
            if best is None or claims.tries_left <= 0:
                return
            del line[best.id]
            if best.waits:
                due = {each.id: each for each in self.line.settled([best.id])}
                claims.is_overtaken |= not due
                line |= due
            else:
                claims.claim(best)

    def _claim_all(self, candidates: Iterable[Candidate], need: int) -> None:
        for candidate in candidates:
            if self.claims.is_done(need):
                return
            self.claims.claim(candidate)
            for returned in self.claims.come_back().values():
                self.claims.claim(returned)

    def release(self) -> frozenset[str]:
        """Give back the messages that found nothing to run.

        :returns: handles of those that were kept (made visible later) rather than deleted.
        """
        claims = self.claims
        held, claims.held = claims.held, []
        is_complete = not (claims.is_overtaken or claims.tries_left <= 0 or claims.is_full())
        left = UnusedMessages(
            claims.options.queue,
            claims.job_messages,
            claims.limiting,
            claims.seen,
            claims.now,
            began=claims.began,
            is_complete=is_complete,
            failed=claims.errors.ids,
        )
        return left.give_back(held)
