"""Moves the clock of a backend that a test made."""

from __future__ import annotations

from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock


def advance(backend: Backend, *, ms: int = 0, s: float = 0) -> None:
    """Let time pass for a backend, whose clock is a FakeClock."""
    assert isinstance(backend.clock, FakeClock)
    backend.clock.advance(ms=ms, s=s)
