"""Checks the jobs of a new workflow as PUSH does, and passes them through the middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import EnqueueRejectedError, InvalidRequestError, OjsError
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.workflows.definition import Definition
from ojs_aws.domain.workflows.dependencies import MAX_FAULTS, refusal
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.middleware.results import EnqueueResult, Stored, result_of
from ojs_aws.services.jobs.render import raise_swallowed, rejecting

if TYPE_CHECKING:
    from ojs_aws.services.jobs.push import Push


Members: TypeAlias = Mapping[str, RawJson]
"""The texts of a job's members, without its id."""


def check_jobs(definition: Definition, push: Push) -> dict[int, Members]:
    """Refuse what PUSH would refuse, all faults at once; return what was checked, by the steps."""
    faults: list[tuple[str, str]] = []
    checked: dict[int, Members] = {}
    for index, job in definition.jobs.items():
        try:
            _check(push, job)
            checked[index] = _members(job)
        except InvalidRequestError as problem:
            field = problem.details.get("field")
            path = definition.paths[index]
            faults.append((f"{path}.{field}" if field else path, problem.message))
            if len(faults) >= MAX_FAULTS:
                break
        except OjsError as problem:
            problem.details["path"] = definition.paths[index]
            raise
    if faults:
        raise refusal(faults)
    return checked


def _members(job: Job) -> Members:
    members = job.members()
    members.pop("id", None)
    return members


def pass_middleware(
    push: Push,
    made: Workflow,
    definition: Definition,
    known: Mapping[int, Members],
    keep: Callable[[Mapping[int, Job]], None],
) -> None:
    """Let every job of a new workflow pass the enqueue middleware.

    :param known: what was checked of each job; what the middleware changes is checked again.
    :param keep: stores the workflow with its jobs as the middleware left them, by their steps;
        called once, when all have come through.
    :raises EnqueueRejectedError: a middleware refused or dropped a job; nothing is stored.
    """
    from ojs_aws.middleware.synchronous import run_in_loop  # imports asyncio

    index_of = {made.job_id(index): index for index in definition.jobs}
    jobs = []
    for index, job in definition.jobs.items():
        job.id = made.job_id(index)
        jobs.append(job)

    def store(final: Sequence[Job]) -> None:
        _check_complete(definition, {index_of[job.id] for job in final})
        keep({index_of[job.id]: job for job in final})

    def check(final: Job) -> None:
        if _members(final) != known[index_of[final.id]]:
            _check(push, final)

    paths = {job.id: definition.paths[index_of[job.id]] for job in jobs}
    run_in_loop(_pass_through(push, jobs, paths, check, store))


def _check_complete(definition: Definition, kept: set[int]) -> None:
    missing = sorted({*definition.jobs} - kept)
    if missing:
        path = definition.paths[missing[0]]
        raise EnqueueRejectedError(
            f"An enqueue middleware dropped the job at {path}; a workflow needs all its jobs.",
            details={"path": path, "dropped": len(missing)},
        )


def _check(push: Push, job: Job) -> None:
    """Refuse what PUSH would refuse, a unique policy, and a sequence.

    :raises InvalidRequestError: a job of a workflow must run, whatever other jobs there are.
    """
    record = push.check(job)
    if record.sequence is not None:
        message = "A job of a workflow cannot be part of a sequence."
        hint = "Let the workflow say the order, or enqueue the jobs by themselves."
        raise field_error("sequence", message, hint)
    if record.unique_key:
        message = "A job of a workflow cannot be unique: its step would have nothing to wait for."
        hint = "Give the workflow an id of its own: the same request again finds it."
        raise field_error("unique", message, hint)


@contextmanager
def _at(path: str) -> Iterator[None]:
    """Say in an error where the job stands in the request."""
    try:
        yield
    except OjsError as problem:
        problem.details.setdefault("path", path)
        raise


async def _pass_through(
    push: Push,
    jobs: Sequence[Job],
    paths: Mapping[str, str],
    check: Callable[[Job], None],
    store: Callable[[Sequence[Job]], None],
) -> list[EnqueueResult]:
    """Pass jobs through the middleware; each chain continues once all jobs are stored."""
    from ojs_aws.middleware.chain.batch import Batch, StoreOne  # imports asyncio

    async def one(job: Job, keep: StoreOne) -> EnqueueResult:
        async def checked(final: Job) -> Job | None:
            check(final)
            return (await keep(final)).job

        with _at(paths[job.id]), rejecting(job.id):
            return result_of(job, *await push.enqueuing.one(job, checked))

    async def store_all(through: Sequence[Job]) -> list[Stored]:
        store(through)
        return [Stored(job) for job in through]

    async def through(passed: Sequence[Job]) -> list[EnqueueResult]:
        return await Batch(one, store_all, stops_at_failure=True).run(passed)

    with rejecting(""):
        results = await push.enqueuing.many(jobs, through)
        raise_swallowed(results)
        return results
