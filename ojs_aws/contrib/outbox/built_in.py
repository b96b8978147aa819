"""Run a relay inside the application's own process, or in its place send to a test's backend."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from typing import Final

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.transports.substitute import ReplaceableTransport
from ojs_aws.contrib.outbox.relay import Relay
from ojs_aws.domain.envelope import Job

logger: Final = logging.getLogger("ojs_aws.outbox")
_IN_LAMBDA: Final = "AWS_LAMBDA_FUNCTION_NAME"


class BuiltInRelay:
    """Runs a relay in a thread, which starts when this process first commits a job.

    Each process of a prefork server so has one after its fork; the database lets one of them lead.
    In a Lambda function, which freezes between requests, nothing starts: run a relay elsewhere.
    """

    def __init__(self, make_relay: Callable[[], Relay]) -> None:
        """Describe it; the relay and its connections are made in the thread's process."""
        self._make_relay = make_relay
        self._locks: dict[int, threading.Lock] = {}  # by process: a parent's may be held at a fork
        self._pid = 0
        self._relay: Relay | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Return whether the thread runs in this process."""
        thread = self._thread
        return self._pid == os.getpid() and thread is not None and thread.is_alive()

    def wake(self) -> None:
        """Let the relay look for rows at once; start it in this process, unless it runs.

        In a Lambda function this does nothing.
        """
        if self.is_running and self._relay is not None:
            self._relay.wake()
            return
        if os.environ.get(_IN_LAMBDA):
            logger.warning("A Lambda function freezes between requests: run `ojs-aws outbox relay`")
            return
        with self._locks.setdefault(os.getpid(), threading.Lock()):
            if self.is_running:
                return  # another thread has just started it, and it looks for rows first
            self._pid, self._thread = os.getpid(), None
            self._relay = self._make_relay()
            self._thread = threading.Thread(
                target=self._relay.run, name="ojs-outbox-relay", daemon=True
            )
            self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Let the relay finish its batch, and wait so many seconds for it."""
        if self.is_running and self._relay is not None and self._thread is not None:
            self._relay.stop()
            self._thread.join(timeout_s)


def send_to_test(jobs: Iterable[Job]) -> None:
    """Enqueue jobs into what takes the place of the backend; they have passed their middleware."""
    with SyncClient(client=Client(transport=ReplaceableTransport(), middleware=[])) as client:
        client.enqueue_many(jobs)
