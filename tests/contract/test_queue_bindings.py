"""The states of bindings in a queue's item, and what a second write of them keeps."""

from __future__ import annotations

import pytest

from ojs_aws.adapters.dynamodb.queues.bindings import BindingStates, QueueBindings
from ojs_aws.domain.bindings import BindingConfig
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import QUEUE_PARTITION
from tests.aws import EmbeddedAws

FIRST, LATER = Instant(1_760_000_000_000), Instant(1_760_000_060_000)


@pytest.fixture
def states(aws: EmbeddedAws) -> QueueBindings:
    return QueueBindings(aws.clients.dynamodb, aws.settings.table)


def created(aws: EmbeddedAws) -> str:
    (item,) = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    return item["cr"]["N"]


def test_a_second_binding_keeps_when_the_queue_came_to_be(
    states: QueueBindings, aws: EmbeddedAws
) -> None:
    states.bind("email", "mailer", ["email.*"], FIRST)
    states.bind("email", "mailer", ["email.send"], LATER)
    assert states.of("email").bound == {"mailer": ("email.send",)}
    assert created(aws) == str(FIRST)


def test_an_endpoint_is_kept_with_its_types_and_forgotten_with_them(states: QueueBindings) -> None:
    """A function has none."""
    states.bind("email", "web", ["email.*"], FIRST, "https://app.example.com/jobs/")
    states.bind("email", "mailer", ["news.*"], FIRST)
    assert states.of("email").endpoints == {"web": "https://app.example.com/jobs/"}
    assert states.unbind("email", "web")
    found = states.of("email")
    assert (found.endpoints, found.bound) == ({}, {"mailer": ("news.*",)})


def test_a_binding_that_became_a_function_has_no_url_any_more(states: QueueBindings) -> None:
    """The stack gave its name to another target, and somebody registered job types for that."""
    states.bind("email", "mailer", ["email.*"], FIRST, "https://app.example.com/jobs/")
    states.bind("email", "mailer", ["email.*"], LATER)
    assert states.of("email").endpoints == {}


def test_a_config_is_replaced_with_its_types_and_forgotten_with_them(
    states: QueueBindings, aws: EmbeddedAws
) -> None:
    """A registration without one has none; what a later version wrote is left out."""
    config = BindingConfig(non_retryable_errors=("exit.3", "a.*"), timeout_ms=30_000)
    states.bind("email", "mailer", ["email.*"], FIRST, config=config)
    states.bind("email", "other", ["news.*"], FIRST, config=BindingConfig(timeout_ms=1))
    assert states.of("email").configs == {"mailer": config, "other": BindingConfig(timeout_ms=1)}
    states.bind("email", "mailer", ["email.*"], FIRST)
    assert {*states.of("email").configs} == {"other"}
    assert states.unbind("email", "other")
    assert states.of("email").configs == {}
    states.bind("email", "mailer", ["email.*"], FIRST, config=config)
    aws.clients.dynamodb.update_item(
        TableName=aws.settings.table,
        Key={"pk": {"S": QUEUE_PARTITION}, "sk": {"S": "email"}},
        UpdateExpression="SET #c = :c",
        ExpressionAttributeNames={"#c": "bc_mailer"},
        ExpressionAttributeValues={":c": {"S": '{"weight":3,"timeout_ms":7}'}},
    )
    assert states.of("email").configs == {"mailer": BindingConfig(timeout_ms=7)}


def test_what_somebody_suspends_at_the_same_moment_stays_so(
    states: QueueBindings, aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure that was seen before does not turn it into a suspension which ends by itself."""
    read = QueueBindings.of

    def and_then(store: QueueBindings, queue: str) -> BindingStates:
        monkeypatch.setattr(QueueBindings, "of", read)
        found = read(store, queue)
        store.suspend(queue, "mailer", "suspended by ada", FIRST, is_lasting=True)
        return found

    for _ in range(2):  # the binding was active, and was suspended
        monkeypatch.setattr(QueueBindings, "of", and_then)
        states.suspend("email", "mailer", "gone", LATER)
        found = states.of("email").suspended["mailer"]
        assert (found.reason, found.is_lasting) == ("suspended by ada", True)
        states.resume("email", "mailer")
        states.suspend("email", "mailer", "gone", FIRST)


def test_what_somebody_suspends_at_the_moment_of_a_failure_stays_so(
    states: QueueBindings, aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure is written down between their read and their write."""
    read = QueueBindings.of

    def and_then(store: QueueBindings, queue: str) -> BindingStates:
        monkeypatch.setattr(QueueBindings, "of", read)
        found = read(store, queue)
        store.suspend(queue, "mailer", "gone", FIRST)
        return found

    monkeypatch.setattr(QueueBindings, "of", and_then)
    states.suspend("email", "mailer", "suspended by ada", LATER, is_lasting=True)
    assert states.of("email").suspended["mailer"].is_lasting


def test_a_binding_that_is_suspended_again_keeps_its_time(
    states: QueueBindings, aws: EmbeddedAws
) -> None:
    """It gets the new reason, and a job is tried a while after the latest failure."""
    states.suspend("email", "mailer", "gone", FIRST)
    states.suspend("email", "mailer", "forbidden", LATER)
    suspended = states.of("email").suspended["mailer"]
    assert (suspended.since, suspended.tried_at) == (FIRST, LATER)
    assert suspended.reason == "forbidden"
    assert created(aws) == str(FIRST)
