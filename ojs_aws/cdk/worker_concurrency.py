"""Counts how much of the account's concurrency the Lambda workers of a backend may take.

The executions of all functions in an account and region share one limit. A backlog lets SQS start
workers until it is reached, and then API, stream and tick are throttled. Reserving executions for
those is no default: an account with the limit of a new one cannot reserve any.
"""

from __future__ import annotations

from typing import Final

from aws_cdk import Annotations
from constructs import Construct

DEFAULT_MAX_CONCURRENCY: Final = 100
"""Invocations at a time for each queue of a worker, where nobody says otherwise; each runs up to
ten jobs."""

WARNING: Final = "ojs:worker-concurrency"


class WorkerConcurrency:
    """Add up what the triggers of workers may take, and warn at synthesis when it is too much."""

    def __init__(self, most: int) -> None:
        """Begin with none.

        :param most: executions that workers may take together.
        """
        self._most = most
        self._taken = 0

    def add(self, worker: Construct, executions: int | None, queues: int) -> None:
        """Count the triggers of a worker.

        :param executions: most of each trigger; None for any number.
        """
        if executions is None:
            self._warn(worker, "any number of executions: it has no max_concurrency")
            return
        self._taken += executions * queues
        if self._taken > self._most:
            self._warn(worker, f"{self._taken} executions at a time with the workers before it")

    def _warn(self, worker: Construct, taken: str) -> None:
        Annotations.of(worker).add_warning_v2(
            WARNING,
            f"This worker may take {taken}. API, stream and tick share the account's limit with "
            f"it: keep the sum below {self._most} (concurrency_alarm), or raise the account's "
            "limit and concurrency_alarm.",
        )
