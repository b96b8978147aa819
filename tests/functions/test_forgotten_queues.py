"""Queues that a process remembers and another one has removed: it looks again, and refuses none."""

from __future__ import annotations

import pytest

from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.services.backend import Backend
from tests.aws import EmbeddedAws
from tests.clocks import advance
from tests.functions.counting import warm_backend
from tests.jobs import any_job

QUEUE = "reports"


@pytest.fixture
def backend(aws: EmbeddedAws) -> Backend:
    """A backend over it, in a process that has used a queue before."""
    made = warm_backend(aws)
    made.queues.config.change(QUEUE, {"default_timeout": 60})
    return made


def forget(aws: EmbeddedAws) -> None:
    """Remove what is stored of the queue, as another process does that clears the table."""
    for partition in ("queues", "settings"):
        key = {"pk": {"S": partition}, "sk": {"S": QUEUE}}
        aws.clients.dynamodb.delete_item(TableName=aws.settings.table, Key=key)


def is_listed(aws: EmbeddedAws) -> bool:
    """Return whether another process, such as the sweep, knows of the queue."""
    return QUEUE in {info.name for info in warm_backend(aws).queues.service.list()}


def registry_of(backend: Backend) -> QueueRegistry:
    """Return the registry of this process."""
    return backend.stores.queues


def test_the_settings_of_a_queue_that_was_removed_can_be_changed(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """The change is followed; it was written before it was refused with 404."""
    forget(aws)
    changed = backend.queues.config.change(QUEUE, {"default_timeout": 90})
    assert changed.info is not None
    assert changed.info.name == QUEUE
    assert is_listed(aws)


def test_a_queue_that_was_removed_can_be_created_again(aws: EmbeddedAws, backend: Backend) -> None:
    """And it is listed, so that the sweep knows it."""
    forget(aws)
    assert backend.queues.config.create(QUEUE, {}).info is not None
    assert is_listed(aws)


def test_a_job_for_later_registers_a_queue_that_was_seen_to_be_gone(
    aws: EmbeddedAws, backend: Backend
) -> None:
    """The sweep must know of it, and the process has found out that it does not."""
    forget(aws)
    with pytest.raises(NotFoundError):
        backend.queues.service.get(QUEUE)
    backend.jobs.push(any_job("a.b", [], queue=QUEUE, scheduled_at="+PT2H"))
    assert is_listed(aws)


def test_a_queue_is_registered_again_after_an_hour(aws: EmbeddedAws, backend: Backend) -> None:
    """A process that only pushes never looks whether its queues are still registered."""
    forget(aws)
    advance(backend, s=3_599)
    registry_of(backend).note(QUEUE, backend.clock.now())
    assert not is_listed(aws)
    advance(backend, s=1)
    registry_of(backend).note(QUEUE, backend.clock.now())
    assert is_listed(aws)


def test_a_known_queue_costs_no_call(aws: EmbeddedAws, backend: Backend) -> None:
    """Within the hour."""
    advance(backend, s=3_599)
    with aws.calls.counted() as calls:
        registry_of(backend).note(QUEUE, backend.clock.now())
    assert calls == {}
