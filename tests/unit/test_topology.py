"""The topology agrees with the code that builds on it."""

from __future__ import annotations

from ojs_aws.adapters.dynamodb.images import READERS
from ojs_aws.domain.job import JobState
from ojs_aws.topology import (
    ENDED_STATES,
    LIMIT_PARTITION,
    QUEUE_PARTITION,
    STREAMED_PARTITIONS,
    is_streamed,
)


def test_every_kind_of_item_readable_from_the_stream_invokes_its_function() -> None:
    """A reader without a filter would never be called when deployed."""
    assert set(READERS) <= {*STREAMED_PARTITIONS, QUEUE_PARTITION, LIMIT_PARTITION}


def test_the_stream_gets_jobs_and_items_with_events_only() -> None:
    """Not of documents, chunks of the log, or what was set aside."""
    assert is_streamed("job#x", "job")
    assert is_streamed("workers", "w1")
    assert is_streamed("queues", "email")
    for key in (("job#x", "blob#1"), ("events", "000000000000001"), ("events#aside", "1")):
        assert not is_streamed(*key)


def test_the_export_gets_every_state_that_is_final() -> None:
    """A state that the pattern does not name would never be exported."""
    assert set(ENDED_STATES) == {state for state in JobState if state.is_terminal}
