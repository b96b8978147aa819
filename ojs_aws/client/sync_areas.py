"""Offer the areas of a client, and its handles of jobs, without ``await``.

Nothing is implemented here. Each method runs the asynchronous one on a loop thread.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cached_property, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from ojs_aws.client.areas.admin import Admin
from ojs_aws.client.areas.attributes import Areas
from ojs_aws.client.areas.cron import CronJobs
from ojs_aws.client.areas.dead_letters import DeadLetterJobs
from ojs_aws.client.areas.events import Events
from ojs_aws.client.areas.jobs import Jobs
from ojs_aws.client.areas.queues import Queues
from ojs_aws.client.areas.schemas import Schemas
from ojs_aws.client.areas.system import System
from ojs_aws.client.areas.workers import Workers
from ojs_aws.client.areas.workflows import WorkflowOperations
from ojs_aws.client.handles import JobHandle
from ojs_aws.client.loop_thread import LoopThread

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Synchronous(Generic[A_co]):
    """Runs the coroutines of an object on a loop thread."""

    def __init__(self, target: A_co, loop: LoopThread) -> None:
        self._target = target
        self._loop = loop


def synchronous(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Synchronous[A], P], R]:
    """Return a method that runs the asynchronous one to its end."""

    def run(self: Synchronous[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(method(self._target, *args, **kwargs))

    update_wrapper(run, method)
    return run


def area(
    kind: Callable[[A, LoopThread], R], asynchronous: Callable[[Areas], A]
) -> cached_property[R]:
    """Return an attribute that is an area's synchronous side, made when it is first used.

    :param asynchronous: returns the area of a client.
    """

    def made(client: Synchronous[Areas]) -> R:
        return kind(asynchronous(client._target), client._loop)  # noqa: SLF001 - of this module

    return cached_property(made)


class SyncAdmin(Synchronous[Admin]):
    """:class:`Admin` for code that is not asynchronous."""

    dead_letters = synchronous(Admin.dead_letters)
    retry_dead_letter = synchronous(Admin.retry_dead_letter)
    delete_dead_letter = synchronous(Admin.delete_dead_letter)
    queues = synchronous(Admin.queues)
    health = synchronous(Admin.health)


class SyncCronJobs(Synchronous[CronJobs]):
    """:class:`CronJobs` for code that is not asynchronous."""

    register = synchronous(CronJobs.register)
    get = synchronous(CronJobs.get)
    list = synchronous(CronJobs.list)
    pause = synchronous(CronJobs.pause)
    resume = synchronous(CronJobs.resume)
    delete = synchronous(CronJobs.delete)
    trigger = synchronous(CronJobs.trigger)


class SyncWorkers(Synchronous[Workers]):
    """:class:`Workers` for code that is not asynchronous."""

    list = synchronous(Workers.list)
    get = synchronous(Workers.get)
    quiet = synchronous(Workers.quiet)
    terminate = synchronous(Workers.terminate)
    resume = synchronous(Workers.resume)
    quiet_all = synchronous(Workers.quiet_all)
    terminate_all = synchronous(Workers.terminate_all)
    resume_all = synchronous(Workers.resume_all)
    deregister = synchronous(Workers.deregister)


class SyncDeadLetterJobs(Synchronous[DeadLetterJobs]):
    """:class:`DeadLetterJobs` for code that is not asynchronous."""

    list = synchronous(DeadLetterJobs.list)
    get = synchronous(DeadLetterJobs.get)
    stats = synchronous(DeadLetterJobs.stats)
    retry = synchronous(DeadLetterJobs.retry)
    delete = synchronous(DeadLetterJobs.delete)
    retry_many = synchronous(DeadLetterJobs.retry_many)
    delete_many = synchronous(DeadLetterJobs.delete_many)


class SyncWorkflows(Synchronous[WorkflowOperations]):
    """:class:`WorkflowOperations` for code that is not asynchronous."""

    create = synchronous(WorkflowOperations.create)
    get = synchronous(WorkflowOperations.get)
    list = synchronous(WorkflowOperations.list)
    cancel = synchronous(WorkflowOperations.cancel)
    wait = synchronous(WorkflowOperations.wait)


class SyncSchemas(Synchronous[Schemas]):
    """:class:`Schemas` for code that is not asynchronous."""

    register = synchronous(Schemas.register)
    get = synchronous(Schemas.get)
    by_uri = synchronous(Schemas.by_uri)
    versions = synchronous(Schemas.versions)
    list = synchronous(Schemas.list)
    delete = synchronous(Schemas.delete)


class SyncQueues(Synchronous[Queues]):
    """:class:`Queues` for code that is not asynchronous."""

    list = synchronous(Queues.list)
    stats = synchronous(Queues.stats)
    priorities = synchronous(Queues.priorities)
    pause = synchronous(Queues.pause)
    resume = synchronous(Queues.resume)
    purge = synchronous(Queues.purge)
    create = synchronous(Queues.create)
    settings = synchronous(Queues.settings)
    configure = synchronous(Queues.configure)
    drain = synchronous(Queues.drain)
    delete = synchronous(Queues.delete)
    limit = synchronous(Queues.limit)


class SyncJobs(Synchronous[Jobs]):
    """:class:`Jobs` for code that is not asynchronous; bulk changes go on by their cursor."""

    list = synchronous(Jobs.list)
    detail = synchronous(Jobs.detail)
    cancel = synchronous(Jobs.cancel)
    retry = synchronous(Jobs.retry)
    reprioritise = synchronous(Jobs.reprioritise)
    change_some = synchronous(Jobs.change_some)


class SyncEvents(Synchronous[Events]):
    """:class:`Events` for code that is not asynchronous."""

    read = synchronous(Events.read)


class SyncSystem(Synchronous[System]):
    """:class:`System` for code that is not asynchronous."""

    stats = synchronous(System.stats)
    history = synchronous(System.history)
    config = synchronous(System.config)


class SyncJobHandle(Synchronous[JobHandle]):
    """:class:`JobHandle` for code that is not asynchronous."""

    get = synchronous(JobHandle.get)
    result = synchronous(JobHandle.result)
    progress = synchronous(JobHandle.progress)
    cancel = synchronous(JobHandle.cancel)

    @property
    def id(self) -> str:
        """Return the id of the job."""
        return self._target.id
