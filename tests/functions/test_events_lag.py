"""How the tick learns that nothing reads the table's stream, or reads it late."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.events import HANDLED_MARK
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.topology import is_streamed
from ojs_aws.transport.events.stream import build_stream
from ojs_aws.transport.events.tick import build_tick
from tests.aws import EmbeddedAws, changes_of, embedded

MINUTE_MS = 60_000


class Context:
    """An invocation of the deployed tick function."""

    function_name = "Jobs-Tick"

    def get_remaining_time_in_millis(self) -> int:
        """Until Lambda ends it."""
        return 55_000


class Deployment:
    """The tick, each minute, and the consumer of the changes that pass the trigger's filter."""

    def __init__(self, aws: EmbeddedAws, capsys: pytest.CaptureFixture[str]) -> None:
        self.aws = aws
        self._capsys = capsys
        self.clock = FakeClock()
        self.backend: Backend = build_backend(
            aws.settings, aws.clients, clock=self.clock, parallel=IN_ORDER
        )
        self._tick = build_tick(self.backend)
        self._changes = changes_of(aws)
        self.waiting: list[Any] = []

    def tick(self) -> float | None:
        """Run a tick a minute later; the lag that it publishes, if it does."""
        self.clock.advance(ms=MINUTE_MS)
        self._capsys.readouterr()
        self._tick({}, Context())
        found, done = self._changes()
        done()
        self.waiting += [each for each in found if is_streamed(*_key(each))]
        lines = [json.loads(line) for line in self._capsys.readouterr().out.splitlines()]
        (lag,) = [line.get("EventsLag", [None]) for line in lines if "SweepLag" in line]
        value: float | None = lag[0]
        return value

    def read(self) -> int:
        """Handle the changes that wait; how many there were."""
        records, self.waiting = self.waiting, []
        answer = build_stream(self.backend, read_image)({"Records": records}, None)
        assert answer == {"batchItemFailures": []}
        return len(records)


def _key(record: Any) -> tuple[str, str]:
    keys = record["dynamodb"]["Keys"]
    return keys["pk"]["S"], keys["sk"]["S"]


@pytest.fixture
def deployment(capsys: pytest.CaptureFixture[str]) -> Iterator[Deployment]:
    """A deployment without jobs."""
    with embedded() as aws:
        yield Deployment(aws, capsys)


def test_the_lag_is_that_of_the_last_tick_while_the_stream_is_read(deployment: Deployment) -> None:
    """Also where there is no job, so that it is known before the first one comes."""
    assert deployment.tick() is None
    for _ in range(3):
        assert deployment.read() >= 1
        assert deployment.tick() == MINUTE_MS


def test_the_lag_grows_while_nothing_reads_the_stream(deployment: Deployment) -> None:
    """And falls when somebody does. In a deployment whose stream was never read there is none."""
    assert [deployment.tick() for _ in range(3)] == [None] * 3
    deployment.read()
    assert [deployment.tick() for _ in range(6)] == [n * MINUTE_MS for n in range(1, 7)]
    deployment.read()
    assert deployment.tick() == MINUTE_MS


def test_a_tick_behind_a_change_that_fails_is_not_handled(deployment: Deployment) -> None:
    """The mark says that all before it was."""
    deployment.tick()
    deployment.read()
    deployment.tick()
    tick = [each for each in deployment.waiting if _key(each)[0] == "tick"]

    def refuse(*_: Any) -> None:
        raise BackendError("down")

    poison = {"dynamodb": {"SequenceNumber": "0", "NewImage": {"pk": 5, "v": {"N": "1"}}}}
    handler = build_stream(deployment.backend, read_image)
    before = deployment.backend.stores.watermarks().read(HANDLED_MARK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(deployment.backend.events), "set_aside", refuse)
        assert handler({"Records": [poison, *tick]}, None)["batchItemFailures"]
    assert deployment.backend.stores.watermarks().read(HANDLED_MARK) == before
    handler({"Records": tick}, None)
    assert deployment.backend.stores.watermarks().read(HANDLED_MARK) == deployment.clock.now()


def test_a_tick_costs_the_stream_one_write_and_makes_no_event(deployment: Deployment) -> None:
    """Beside its own: the mark, and half a read unit of the next tick."""
    deployment.tick()
    deployment.tick()
    deployment.waiting = [each for each in deployment.waiting if _key(each)[0] == "tick"]
    with deployment.aws.calls.counted() as calls:
        deployment.read()
    assert calls == {"UpdateItem": 1}
