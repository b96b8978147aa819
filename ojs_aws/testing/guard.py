"""Refuses what a test sends that uses none of the fixtures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from ojs_aws.client.client import Client
from ojs_aws.client.sync import SyncClient
from ojs_aws.client.transports.substitute import ReplaceableTransport, deactivate, stand_behind

if TYPE_CHECKING:
    from ojs_aws.client.transports.substitute import Substitute


class UnguardedTestError(AssertionError):
    """Reports that a test reaches a server, and uses none of the fixtures."""


class Guard:
    """Takes the place of the backend where no fixture does, and refuses everything."""

    def __init__(self, test: str) -> None:
        """Guard one test.

        :param test: its name.
        """
        self.is_active = False
        self.outer: Substitute | None = None
        self._test = test

    @property
    def transport(self) -> NoReturn:
        """Refuse to reach a server.

        :raises UnguardedTestError: always.
        """
        raise UnguardedTestError(
            f"{self._test} would reach a real server: let it use the fixture ojs. (Such tests fail "
            "by the setting ojs_guard; the marker ojs_unguarded exempts a test.)"
        )

    @property
    def client(self) -> Client:
        """Return a client that sends nothing."""
        return Client(transport=ReplaceableTransport())

    @property
    def sync_client(self) -> SyncClient:
        """Return a client that sends nothing, for code that is not asynchronous."""
        return SyncClient(client=self.client)

    def note_declaration(self, declaration: object) -> None:
        """Learn nothing."""

    def pattern_of(
        self, declaration: object, args: Sequence[object], keywords: Mapping[str, object]
    ) -> None:
        """Know no patterns: they are for assertions of a fixture."""


@contextmanager
def guarded(test: str) -> Iterator[None]:
    """Refuse what a test sends while none of the fixtures is active."""
    guard = Guard(test)
    stand_behind(guard)
    try:
        yield
    finally:
        deactivate(guard)
