"""Writes that took effect although their answer was lost are recognised when they are repeated.

botocore sends a request again when its answer does not come: the first try may have taken effect.
Here every write is sent twice, and only the second answer arrives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.conflicts import AlreadyStoredError, StaleJobError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs import held_job, lifecycle
from ojs_aws.domain.jobs.held_job import Extension, Holder
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws, embedded
from tests.contract.test_job_store import NOW, a_job, a_reservation, big_document

WRITES = frozenset({"put_item", "update_item", "delete_item", "transact_write_items"})


class LosesFirstAnswers:
    """A client whose writes are all sent twice."""

    def __init__(self, client: DynamoDBClient) -> None:
        """Wrap a client."""
        self._client = client

    def __getattr__(self, name: str) -> Any:
        """The client's method, called twice if it writes."""
        method = getattr(self._client, name)
        if name not in WRITES:
            return method

        def twice(**arguments: Any) -> Any:
            method(**arguments)
            return method(**arguments)

        return twice


def losing(aws: EmbeddedAws) -> JobStore:
    """A store whose every first answer is lost."""
    client = cast("DynamoDBClient", LosesFirstAnswers(aws.clients.dynamodb))
    return job_store(aws.settings, replace(aws.clients, dynamodb=client))


@pytest.fixture(params=["moto", pytest.param("emulator", marks=pytest.mark.emulator)])
def store(request: pytest.FixtureRequest) -> Iterator[JobStore]:
    """Such a store over each kind of AWS."""
    if request.param == "emulator":
        yield losing(request.getfixturevalue("emulated_aws"))
        return
    with embedded() as aws:
        yield losing(aws)


@pytest.mark.parametrize("document", [RawJson('{"args":[]}'), big_document(6_000)])
def test_a_life_in_which_every_first_answer_is_lost(store: JobStore, document: RawJson) -> None:
    """Insert, claim, extend and delete come to what they would have come to."""
    job = a_job(document=document)
    store.insert(job)
    early = replace(a_reservation(), listed_at=Instant(NOW + 10_000))
    held = store.fill(store.claim("default", job.id, early, NOW))
    assert held == lifecycle.claim(job, early, NOW)
    longer = held_job.extend(held, Instant(NOW + 40_000))
    store.save(held, longer)
    assert store.load_whole(job.id) == longer
    first = Extension(
        worker_id="w1", now=NOW, alive_until=None, expires_at=Instant(NOW + 45_000), moves_row=False
    )
    asked = Extension(worker_id="w1", now=NOW, alive_until=Instant(NOW + 35_000))
    until = Instant(NOW + 50_000)
    both = replace(asked, alive_until=until, expires_at=until)
    for number, beat in enumerate((first, asked, both), 1):
        assert store.extend(job.id, beat).version == longer.version + number
    done = store.acknowledge(job.id, Holder("w1"), RawJson("1"), NOW)
    assert (done.state, done.result) == ("completed", "1")
    stored = store.load(job.id)
    assert stored is not None
    store.delete(stored)
    assert store.load(job.id) is None


def test_a_batch_whose_answer_was_lost_is_stored_once(store: JobStore) -> None:
    """And not taken for somebody else's."""
    jobs = [a_job(number) for number in range(1, 4)]
    store.insert_all(jobs)
    assert len(store.load_many([job.id for job in jobs])) == 3


def test_writes_of_others_are_still_recognised(store: JobStore) -> None:
    """A second caller is not the same caller again."""
    job: JobRecord = a_job()
    store.insert(job)
    with pytest.raises(AlreadyStoredError):
        store.insert(job)
    store.claim("default", job.id, a_reservation(), NOW)
    with pytest.raises(StaleJobError):
        store.claim("default", job.id, a_reservation("w2"), NOW)
