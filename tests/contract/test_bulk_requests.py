"""What every store of bulk requests must do; each engine passes the same suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb.bulk import BulkRequests
from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.domain.jobs.batches import BulkDone, BulkRequest, OperationDone
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.events import Commit, events_of
from ojs_aws.topology import is_streamed
from tests.aws import embedded
from tests.contract.test_job_store import KINDS, NOW

FIRST = BulkRequest(key="ab" * 32, digest="one", begun_at=Instant(NOW))


@pytest.fixture(params=KINDS)
def requests(request: pytest.FixtureRequest) -> Iterator[BulkRequests]:
    """A fresh store of each kind."""
    if request.param == "emulator":
        aws = request.getfixturevalue("emulated_aws")
        yield BulkRequests(aws.clients.dynamodb, aws.settings.table)
        return
    with embedded() as aws:
        yield BulkRequests(aws.clients.dynamodb, aws.settings.table)


def test_the_first_request_of_a_key_stands_with_its_answer(requests: BulkRequests) -> None:
    """Until it is forgotten."""
    later = replace(FIRST, digest="two", begun_at=Instant(NOW + 1000))
    assert requests.begin(FIRST, Instant(NOW - 10)) == FIRST
    assert requests.begin(later, Instant(NOW - 10)) == FIRST
    answered = replace(FIRST, status=207, answer='{"items":["' + "x" * 500 + '"]}')
    requests.answer(answered)
    assert requests.begin(later, Instant(NOW - 10)) == answered
    assert requests.begin(later, Instant(NOW + 10)) == later


def test_the_stream_publishes_an_operation_that_is_over() -> None:
    """Its item is read as what was written, and one that goes by its TTL makes no event."""
    done = BulkDone(id="r1", operation="cancel", total=9, done=4, is_atomic=False, at=Instant(NOW))
    with embedded() as aws:
        client, table = aws.clients.dynamodb, aws.settings.table
        BulkRequests(client, table).record_bulk(done)
        key = {"pk": {"S": "bulk"}, "sk": {"S": "r1"}}
        image = client.get_item(TableName=table, Key=key)["Item"]
    assert is_streamed("bulk", "r1")
    assert read_image(image) == done
    commit = Commit(Instant(NOW), "1")
    assert [each.type for each in events_of(None, done, commit)] == ["bulk.cancel.completed"]
    assert events_of(done, None, commit) == []


def test_who_did_an_operation_is_published_once() -> None:
    """The item is read as what was written; its removal by TTL makes no event."""
    done = OperationDone(
        id="r1",
        operation="delete_cron",
        target='{"name":"a"}',
        at=Instant(NOW),
        by=f"{NOW} key:1\tann",
        queue="email",
    )
    with embedded() as aws:
        client, table = aws.clients.dynamodb, aws.settings.table
        BulkRequests(client, table).record_operation(done)
        key = {"pk": {"S": "operations"}, "sk": {"S": "r1"}}
        image = client.get_item(TableName=table, Key=key)["Item"]
    assert is_streamed("operations", "r1")
    assert read_image(image) == done
    commit = Commit(Instant(NOW), "1")
    (event,) = events_of(None, done, commit)
    assert (event.type, event.queue, event.subject) == ("operation.completed", "email", "r1")
    assert '"by":{"id":"key:1","name":"ann"}' in event.data.replace(" ", "")
    assert events_of(done, None, commit) == []
