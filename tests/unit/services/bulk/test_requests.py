"""Which ids a bulk request may name, and what a repeated one is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.bulk import BulkRequests
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, PayloadTooLargeError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.batches import BulkRequest
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import BulkAction, checked_ids, require_since
from ojs_aws.services.bulk.enqueue import MAX_KEY, IdempotentRequests, StoredAnswer
from ojs_aws.testing.deployment import FakeClock
from tests.contract.test_job_store import NOW, a_job
from tests.simulation.world import World

IDS = [a_job(number).id for number in range(5)]


def test_a_request_names_so_many_jobs_each_once() -> None:
    assert checked_ids(IDS, 5) == IDS
    with pytest.raises(PayloadTooLargeError):
        checked_ids(IDS, 4)
    with pytest.raises(InvalidRequestError):
        checked_ids([], 4)
    with pytest.raises(InvalidRequestError, match="twice"):
        checked_ids([IDS[0], IDS[1], IDS[0]], 5)


@pytest.mark.parametrize(("as_of", "accepted"), [(None, True), (NOW, True), (NOW - 1, False)])
def test_a_job_is_changed_that_was_in_its_state_by_then(
    as_of: Instant | None, accepted: bool
) -> None:
    job = a_job(state=JobState.DISCARDED, discarded_at=NOW)
    if accepted:
        require_since(job, as_of)
        return
    with pytest.raises(ConflictError):
        require_since(job, as_of)


def test_jobs_are_not_deleted_all_or_none(world: World) -> None:
    changes = world.backend.bulk.changes
    with pytest.raises(InvalidRequestError, match="one by one"):
        changes.named(BulkAction.DELETE, IDS[:1], is_atomic=True)


@dataclass
class Requests:
    """What is known of requests, by their keys."""

    kept: dict[str, BulkRequest] = field(default_factory=dict)

    def begin(self, wanted: BulkRequest, _since: Instant) -> BulkRequest:
        return self.kept.setdefault(wanted.key, wanted)

    def answer(self, done: BulkRequest) -> None:
        self.kept[done.key] = done


def requests_of(kept: Requests) -> IdempotentRequests:
    return IdempotentRequests(cast("BulkRequests", kept), FakeClock(NOW))


@pytest.mark.parametrize("length", [1, MAX_KEY])
def test_a_request_that_is_sent_again_gets_its_first_answer(length: int) -> None:
    """Once it is final: until then it is done again, with the same ids."""
    requests, key, ids = requests_of(Requests()), "k" * length, list[str]()

    def work(answer: StoredAnswer) -> Callable[[Callable[[int], str]], StoredAnswer]:
        def run(id_of: Callable[[int], str]) -> StoredAnswer:
            ids.append(id_of(0))
            return answer

        return run

    failed, done = StoredAnswer(503, "no", is_final=False), StoredAnswer(200, "yes")
    assert requests("s", key, b"1", work(failed)) == failed
    assert requests("s", key, b"1", work(done)) == done
    assert requests("s", key, b"1", work(failed)) == done
    assert len(ids) == 2
    assert len({*ids}) == 1
    with pytest.raises(ConflictError):
        requests("s", key, b"2", work(done))
    assert requests("other", key, b"2", work(done)) == done


@pytest.mark.parametrize("key", ["", "k" * (MAX_KEY + 1)])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(InvalidRequestError):
        requests_of(Requests())("s", key, b"", lambda _: StoredAnswer(200, ""))


def test_a_batch_that_is_not_stored_names_the_first_job_at_fault(world: World) -> None:
    """The others were rolled back for it."""
    jobs: list[Any] = [_job("a.b"), _job("no type!"), _job("a.b"), _job("also none!")]
    problems = [item.problem for item in world.backend.bulk.enqueue.all(jobs)]
    assert all(problems)
    rolled_back = [str(problems[at]) for at in (0, 2)]
    assert all("1" in each and "3" not in each for each in rolled_back), rolled_back


def _job(job_type: str) -> Any:
    from ojs_aws.domain.envelope import Job

    job = Job("a.b", [])
    job["type"] = job_type
    return job


def test_a_request_is_kept_by_its_key() -> None:
    kept = Requests()
    requests_of(kept)("s", "k", b"", lambda _: StoredAnswer(200, "yes"))
    (one,) = kept.kept.values()
    assert replace(one, key="").answer == "yes"
