"""What every store of workflows must do, over each engine."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from mypy_boto3_dynamodb import DynamoDBClient

from ojs_aws.adapters.dynamodb.columns import item_bytes
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.workflows.codec import to_item
from ojs_aws.adapters.dynamodb.workflows.store import Workflows
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.conflicts import StaleWorkflowError
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import changes as workflows
from ojs_aws.domain.workflows.graph import Graph, Kind, Step, WorkflowPlan
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import Ended, StepFailure, Workflow, WorkflowState
from tests.aws import EmbeddedAws, embedded
from tests.contract.test_job_store import a_job
from tests.contract.test_lost_answers import LosesFirstAnswers

NOW = Instant(1_760_000_000_000)
ENVELOPE = RawJson('{"type":"a.b","args":[1.10,"\\ud800 é"]}')

Stores = tuple[Workflows, JobStore]


def over(aws: EmbeddedAws, *, is_losing: bool = False) -> Stores:
    """The adapters; ones that lose each write's first answer, if wanted."""
    client = aws.clients.dynamodb
    if is_losing:
        client = cast("DynamoDBClient", LosesFirstAnswers(client))
    stores = build_backend(aws.settings, replace(aws.clients, dynamodb=client)).stores
    return stores.workflows(), stores.store


@pytest.fixture(
    params=["moto", "lost answers", pytest.param("emulator", marks=pytest.mark.emulator)]
)
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """Each kind of store, empty."""
    if request.param == "emulator":
        yield over(request.getfixturevalue("emulated_aws"))
    else:
        with embedded() as aws:
            yield over(aws, is_losing=request.param == "lost answers")


class Writing:
    """A client that notes its writes, with the bytes of each item."""

    def __init__(self, client: DynamoDBClient) -> None:
        """Wrap a client."""
        self._client = client
        self.writes: list[tuple[str, list[int]]] = []

    def __getattr__(self, name: str) -> Any:
        """The client's method, which is noted if it writes."""
        method = getattr(self._client, name)
        if name not in {"put_item", "transact_write_items"}:
            return method

        def noted(**arguments: Any) -> Any:
            puts = [each["Put"] for each in arguments.get("TransactItems", [])] or [arguments]
            self.writes.append((name, [item_bytes(put["Item"]) for put in puts]))
            return method(**arguments)

        return noted


def writing(aws: EmbeddedAws) -> tuple[Workflows, list[tuple[str, list[int]]]]:
    """A store, and what it writes."""
    client = Writing(aws.clients.dynamodb)
    clients = replace(aws.clients, dynamodb=cast("DynamoDBClient", client))
    return build_backend(aws.settings, clients).stores.workflows(), client.writes


def a_plan(jobs: int = 2, envelope: RawJson = ENVELOPE) -> WorkflowPlan:
    """The plan of a group."""
    steps = [Step(kind=Kind.JOB, parent=0, key=str(each), type="a.b") for each in range(jobs)]
    graph = Graph((Step(kind=Kind.GROUP, parent=-1, key="", name="n"), *steps))
    return WorkflowPlan(graph, dict.fromkeys(graph.jobs, envelope))


def a_workflow(plan: WorkflowPlan, name: str = "w-1", at: int = NOW) -> Workflow:
    """A workflow as it is created."""
    made = workflows.create(plan.graph, name, Instant(at), name="näme \ud800", digest="d")
    return replace(
        workflows.mark_enqueued(made, plan.graph, [1], NOW), version=1, events=made.events
    )


def its_job(workflow: Workflow, index: int) -> JobRecord:
    """The job of a step."""
    job = a_job(id=workflow.job_id(index))
    return replace(job, workflow_id=workflow.id, workflow_step=index)


def test_a_workflow_is_stored_whole_with_its_plan_and_its_jobs(stores: Stores) -> None:
    store, jobs = stores
    plan = a_plan()
    made = a_workflow(plan)
    store.create(made, plan, [its_job(made, 1)])
    assert store.load("w-1") == made
    assert store.plan("w-1") == plan
    assert store.results("w-1") == {}
    stored = jobs.load(made.job_id(1))
    assert stored is not None
    assert (stored.workflow_id, stored.workflow_step) == ("w-1", 1)


def test_a_taken_id_is_refused_and_nothing_is_stored(stores: Stores) -> None:
    store, jobs = stores
    plan = a_plan()
    made = a_workflow(plan)
    store.create(made, plan, [])
    other = a_workflow(a_plan(3), at=NOW + 1)
    with pytest.raises(StaleWorkflowError) as caught:
        store.create(other, a_plan(3), [its_job(other, 1)])
    assert caught.value.current == made
    assert store.plan("w-1") == plan
    assert jobs.load(other.job_id(1)) is None


def test_a_change_takes_place_with_its_jobs_and_results_or_not_at_all(stores: Stores) -> None:
    store, jobs = stores
    plan = a_plan()
    made = a_workflow(plan)
    store.create(made, plan, [its_job(made, 1)])
    why = StepFailure(index=1, job_id="j", code="bad", message="é \ud800", attempt=2)
    ended = Ended(index=1, state=StepState.FAILED, at=NOW, duration_ms=5, failure=why)
    one = workflows.end_jobs(workflows.start(made, NOW), plan.graph, [ended], NOW)
    after = workflows.joined(made, one, workflows.mark_enqueued(one, plan.graph, [2], NOW))
    results = {1: RawJson('{"big": 1e400, "é": "\\ud800"}')}
    store.save(made, after, results, [its_job(made, 2)])
    assert store.load("w-1") == after
    assert store.results("w-1") == results
    assert jobs.load(made.job_id(2)) is not None
    stale = replace(made, version=2, events=())
    with pytest.raises(StaleWorkflowError) as caught:
        store.save(made, stale, {2: RawJson("1")}, [])
    assert caught.value.current == after
    with pytest.raises(StaleWorkflowError):
        store.save(made, stale, {}, [])
    assert store.results("w-1") == results


@pytest.mark.usefixtures("no_pauses")
def test_a_collision_of_transactions_is_a_change_by_somebody_else() -> None:
    """DynamoDB refuses both; whoever looks again finds what there is now."""
    with embedded() as aws:
        store, _ = over(aws)
        plan = a_plan()
        made = a_workflow(plan)
        store.create(made, plan, [])

        def collide(**_: object) -> None:
            reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
            error = {"Code": "TransactionCanceledException", "Message": "collision"}
            response = {"Error": error, "CancellationReasons": reasons}
            raise ClientError(cast("Any", response), "TransactWriteItems")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(aws.clients.dynamodb, "transact_write_items", collide)
            with pytest.raises(StaleWorkflowError) as caught:
                store.save(made, workflows.start(made, NOW), {1: RawJson("1")}, [])
        assert caught.value.current == made


def test_a_refused_change_says_what_there_is_without_a_read() -> None:
    """The refusal brings the workflow with it."""
    with embedded() as aws:
        store, _ = over(aws)
        plan = a_plan()
        made = a_workflow(plan)
        store.create(made, plan, [])
        started = workflows.start(made, NOW)
        store.save(made, started, {1: RawJson("1")}, [])
        calls: list[str] = []
        events = aws.clients.dynamodb.meta.events
        events.register("before-call.dynamodb", lambda model, **_: calls.append(model.name))
        with pytest.raises(StaleWorkflowError) as caught:
            store.save(made, started, {2: RawJson("1")}, [])
    assert caught.value.current == started
    assert calls == ["TransactWriteItems"]


def test_a_change_without_jobs_and_results_is_one_put(stores: Stores) -> None:
    store, _ = stores
    plan = a_plan()
    made = a_workflow(plan)
    store.create(made, plan, [])
    started = workflows.start(made, NOW)
    store.save(made, started, {}, [])
    assert store.load("w-1") == started


def test_what_comes_alone_costs_no_transaction() -> None:
    """Which DynamoDB bills twice."""
    with embedded() as aws:
        store, writes = writing(aws)
        plan = a_plan()
        made = a_workflow(plan)
        store.create(made, plan, [])
        store.save(made, workflows.start(made, NOW), {}, [])
    assert [name for name, _ in writes] == ["transact_write_items", "put_item"]


def test_a_plan_beyond_a_transaction_is_put_before_it() -> None:
    """DynamoDB takes 4 MB."""
    chance = random.Random(1)
    noise = [base64.b64encode(chance.randbytes(420_000)).decode() for _ in range(10)]
    plan = a_plan(10)
    envelopes = zip(plan.envelopes, noise, strict=True)
    plan = replace(plan, envelopes={at: RawJson(f'{{"type":"{text}"}}') for at, text in envelopes})
    made = a_workflow(plan)
    with embedded() as aws:
        store, writes = writing(aws)
        store.create(made, plan, [its_job(made, 1)])
        assert store.plan("w-1") == plan
    sizes = [size for name, size in writes if name == "transact_write_items"]
    assert [len(size) for size in sizes] == [2]
    assert sum(sum(size) for _, size in writes) > 4_000_000


def test_a_workflow_goes_some_time_after_its_end_and_not_before() -> None:
    """For ever is no time."""
    plan = a_plan()
    made = a_workflow(plan)
    ended = workflows.cancel(made, plan.graph, Instant(NOW + 999))
    assert "ttl" not in to_item(made, 60)
    assert to_item(ended, 60)["ttl"] == {"N": str(NOW // 1000 + 60)}
    assert "ttl" not in to_item(ended, 0)


def test_a_change_of_what_is_gone_is_refused(stores: Stores) -> None:
    store, _ = stores
    made = a_workflow(a_plan())
    with pytest.raises(StaleWorkflowError) as caught:
        store.save(made, workflows.start(made, NOW), {}, [])
    assert caught.value.current is None


def test_a_large_plan_and_many_large_results_come_back_whole(stores: Stores) -> None:
    """Beyond what one item takes, and what one transaction does."""
    store, _ = stores
    chance = random.Random(1)
    noise = "".join(chance.choices("0123456789abcdef", k=60_000))
    plan = a_plan(20, RawJson(f'{{"type":"a","args":["{noise}"]}}'))
    plan = WorkflowPlan(
        plan.graph,
        {i: RawJson(text.replace("a", f"{i}b", 200)) for i, text in plan.envelopes.items()},
    )
    made = a_workflow(plan)
    store.create(made, plan, [])
    results = {index: RawJson(f'"{index}{noise[:40_000]}"') for index in plan.graph.jobs}
    store.save(made, workflows.start(made, NOW), results, [])
    assert store.plan("w-1") == plan
    assert store.results("w-1") == results


def test_workflows_are_listed_the_newest_first_and_by_state(stores: Stores) -> None:
    store, _ = stores
    plan = a_plan()
    for number in range(5):
        made = a_workflow(plan, f"w-{number}", NOW + number)
        store.create(made, plan, [])
        if number % 2:
            store.save(made, workflows.cancel(made, plan.graph, NOW), {}, [])
    page = store.page(None, 3)
    assert [each.id for each in page.workflows] == ["w-4", "w-3", "w-2"]
    rest = store.page(None, 3, page.cursor)
    assert ([each.id for each in rest.workflows], rest.cursor) == (["w-1", "w-0"], "")
    cancelled = store.page(WorkflowState.CANCELLED, 10)
    assert [each.id for each in cancelled.workflows] == ["w-3", "w-1"]


@pytest.mark.parametrize("state", [None, WorkflowState.RUNNING])
def test_a_full_page_of_workflows_has_a_cursor_only_if_more_follow(
    stores: Stores, state: WorkflowState | None
) -> None:
    store, _ = stores
    plan = a_plan()
    for number in range(4):
        made = a_workflow(plan, f"w-{number}", NOW + number)
        store.create(made, plan, [])
        store.save(made, workflows.start(made, NOW), {}, [])
    pages = [store.page(state, 2)]
    pages.append(store.page(state, 2, pages[0].cursor))
    found = [(len(each.workflows), bool(each.cursor), each.is_followed) for each in pages]
    assert found == [(2, True, True), (2, False, False)]


def test_a_list_goes_on_behind_any_of_its_workflows(stores: Stores) -> None:
    store, _ = stores
    plan = a_plan()
    made = [a_workflow(plan, f"w-{number}", NOW + number // 2) for number in range(4)]
    for each in made:
        store.create(each, plan, [])
    listed = store.page(None, 10).workflows
    for place, each in enumerate(listed):
        rest = store.page(None, 10, store.place_of(each)).workflows
        assert rest == listed[place + 1 :]


def test_plans_of_many_workflows_are_read_together(stores: Stores) -> None:
    """Also one of several pieces; absent ones are left out."""
    store, _ = stores
    noise = random.Random(7).randbytes(360_000).hex()
    large = a_plan()
    large = WorkflowPlan(large.graph, {1: RawJson(f'{{"type":"a","args":["{noise}"]}}')})
    plans = {f"w-{number}": a_plan() for number in range(30)} | {"w-large": large}
    for name, plan in plans.items():
        store.create(a_workflow(plan, name), plan, [])
    assert dict(store.plans_of([*plans, "w-none"])) == plans
    assert dict(store.plans_of([])) == {}


def test_what_a_workflow_kept_can_be_removed_again_and_again(stores: Stores) -> None:
    store, _ = stores
    plan = a_plan()
    made = a_workflow(plan)
    store.create(made, plan, [])
    store.save(made, workflows.start(made, NOW), {1: RawJson("1")}, [])
    store.forget("w-1")
    store.forget("w-1")
    assert store.plan("w-1") is None
    assert store.results("w-1") == {}


@pytest.mark.parametrize("cursor", ["x", "-1", "\u00b2", "W10"])
def test_a_cursor_that_no_page_gave_is_refused(stores: Stores, cursor: str) -> None:
    """As an error of the request."""
    store, _ = stores
    with pytest.raises(InvalidRequestError):
        store.page(None, 3, cursor)
