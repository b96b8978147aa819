"""The function that a schedule invokes sends what is due, and says what is left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from ojs_aws.contrib.sqlalchemy import lambda_relay
from ojs_aws.domain.errors import BackendUnavailableError
from ojs_aws.worker.secrets import worker_secrets
from tests.contrib.backends import Backend
from tests.contrib.postgres import Postgres
from tests.contrib.sqlalchemy.shop import Shop


@dataclass
class Context:
    """Stands for Lambda's context object."""

    left_ms: int = 50_000
    aws_request_id: str = "r-1"

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[Shop]:
    postgres.empty()
    made = Shop(postgres.url)
    yield made
    made.close()


@pytest.fixture
def backend(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    made = Backend()
    monkeypatch.setattr("ojs_aws.client.Client.from_env", lambda **_: made.client())
    monkeypatch.setenv("OJS_OUTBOX_DATABASE", str(shop.engine.url))
    monkeypatch.setenv("OJS_OUTBOX_PASSWORD", "of-the-secret")
    monkeypatch.setenv("OJS_TABLE", "jobs")
    monkeypatch.setenv("OJS_QUEUE_PREFIX", "ojs")
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "relay")
    worker_secrets.cache_clear()
    yield made
    lambda_relay._relay().close()
    lambda_relay._relay.cache_clear()
    worker_secrets.cache_clear()


def test_it_sends_what_is_due_and_gives_up_the_lead(
    shop: Shop, backend: Backend, capsys: pytest.CaptureFixture[str]
) -> None:
    first = shop.order(1)
    assert lambda_relay.handler({}, Context()) == {"sent": 1, "refused": 0, "parked": 0}
    other = shop.relay(backend)
    assert other.run_round().is_leader
    other.close()
    second = shop.order(2)
    lambda_relay.handler({}, Context())
    assert backend.ids == [first, second]
    metrics = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["OutboxAge"], each["OutboxParked"]) for each in metrics] == [([0], [0])] * 2
    assert {each["service"] for each in metrics} == {"relay"}


def test_the_metrics_say_how_long_rows_wait_for_a_backend_that_is_down(
    shop: Shop, backend: Backend, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.order(1)
    with shop.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE ojs_outbox SET created_at = now() - interval '1 hour'")
    backend.fault = lambda _: BackendUnavailableError("down")
    assert lambda_relay.handler({}, Context())["sent"] == 0
    [age] = json.loads(capsys.readouterr().out)["OutboxAge"]
    assert 3600 <= age < 7200


def test_it_begins_no_batch_shortly_before_its_end(shop: Shop, backend: Backend) -> None:
    shop.order(1)
    assert lambda_relay.handler({}, Context(left_ms=lambda_relay.RESERVE_MS))["sent"] == 0
    assert shop.statuses() == ["pending"]
