"""A conditional write that is refused for another reason than its condition is an error.

It must neither pass for done nor for a conflict: its caller would give a wrong answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from mypy_boto3_dynamodb import DynamoDBClient

from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.jobs.batches import Admission, OpenBatch
from ojs_aws.domain.queues import QueueSettings
from ojs_aws.domain.queues.tallies import MINUTE_MS, Tally
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.backend.foundation import Stores
from tests.aws import EmbeddedAws
from tests.contract.test_event_log import event, log_of
from tests.contract.test_job_store import NOW, a_job, a_reservation
from tests.contract.test_schemas import an_entry
from tests.contract.test_unique_jobs import new, unique_job

pytestmark = pytest.mark.thorough


class Refusing:
    """A client whose transactions are refused."""

    def __init__(self, client: DynamoDBClient, response: Any) -> None:
        """Wrap a client."""
        self._client = client
        self._response = response
        self.tried = 0

    def __getattr__(self, name: str) -> Any:
        """The client's method, or one that is refused."""
        if name != "transact_write_items":
            return getattr(self._client, name)

        def refused(**_: Any) -> Any:
            self.tried += 1
            code = self._response["Error"]["Code"]
            kind = getattr(self._client.exceptions, code, ClientError)
            raise kind(self._response, "TransactWriteItems")

        return refused


INVALID = {"Error": {"Code": "ValidationException", "Message": "no"}}
THROTTLED = {
    "Error": {"Code": "TransactionCanceledException", "Message": "no"},
    "CancellationReasons": [{"Code": "None"}, {"Code": "ThrottlingError"}],
}


def commit(stores: Stores) -> object:
    batches = stores.batches()
    batch = OpenBatch(id="b", token=batches.token(), committed_at=NOW, sizes=(1,), marks=b"")
    return batches.decide("b", batch, NOW)


def claim(stores: Stores) -> object:
    return stores.store.claim_within(a_job(), a_reservation(), [], NOW)


def save_settings(stores: Stores) -> None:
    after = QueueSettings(queue="q", revision=1)
    stores.queue_settings().save(QueueSettings(queue="q"), after)


def admit(stores: Stores) -> None:
    admissions: list[Admission] = [new(unique_job())]
    stores.unique().admit(admissions)


def count_late(stores: Stores) -> object:
    tallies, change = stores.tallies(), Tally(Counter(), held=Counter(available=1))
    assert tallies.add("q", Instant(NOW + MINUTE_MS), change, "1")
    return tallies.add("q", Instant(NOW), change, "2")


WRITES: list[Callable[[Stores], Any]] = [
    commit,
    claim,
    save_settings,
    admit,
    count_late,
    lambda stores: stores.schemas().add(an_entry()),
    lambda stores: stores.schemas().delete(an_entry().name),
]


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("response", [INVALID, THROTTLED], ids=["invalid", "throttled"])
@pytest.mark.parametrize("write", WRITES)
def test_a_transaction_that_is_refused_for_another_reason_is_an_error(
    aws: EmbeddedAws, write: Callable[[Stores], Any], response: dict[str, Any]
) -> None:
    """Whatever its condition would have said."""
    client = cast("DynamoDBClient", Refusing(aws.clients.dynamodb, response))
    stores = build_backend(
        aws.settings, replace(aws.clients, dynamodb=client), parallel=IN_ORDER
    ).stores
    with pytest.raises(BackendError):
        write(stores)


@pytest.mark.usefixtures("no_pauses")
def test_an_append_that_met_another_write_is_not_tried_at_another_place(aws: EmbeddedAws) -> None:
    """The place is free: whoever repeats it may take it."""
    response = {
        "Error": {"Code": "TransactionCanceledException", "Message": "no"},
        "CancellationReasons": [{"Code": "TransactionConflict"}, {"Code": "None"}],
    }
    client = Refusing(aws.clients.dynamodb, response)
    log = replace(log_of(aws), client=cast("DynamoDBClient", client))
    with pytest.raises(BackendError):
        log.append([event(1)], NOW)
    assert client.tried == 1
