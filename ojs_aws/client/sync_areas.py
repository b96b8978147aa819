"""The synchronous faces of what a client gives out: its areas, and jobs to hold on to.

Nothing is implemented here. Each method is the asynchronous one, run by a loop thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from ojs_aws.client.admin import Admin
from ojs_aws.client.cron import CronJobs
from ojs_aws.client.dead_letters import DeadLetterJobs
from ojs_aws.client.events import Events
from ojs_aws.client.handles import JobHandle
from ojs_aws.client.jobs import Jobs
from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.queues import Queues
from ojs_aws.client.schemas import Schemas
from ojs_aws.client.system import System
from ojs_aws.client.workers import Workers
from ojs_aws.client.workflows import WorkflowOperations

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


class Face(Generic[A]):
    """An object whose coroutines are run by a loop thread."""

    def __init__(self, target: A, loop: LoopThread) -> None:
        self._target = target
        self._loop = loop


def face(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Face[A], P], R]:
    """A method that runs the asynchronous one to its end."""

    def run(self: Face[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(method(self._target, *args, **kwargs))

    functools.update_wrapper(run, method)
    return run


class SyncAdmin(Face[Admin]):
    """:class:`Admin` for code that is not asynchronous."""

    dead_letters = face(Admin.dead_letters)
    retry_dead_letter = face(Admin.retry_dead_letter)
    delete_dead_letter = face(Admin.delete_dead_letter)
    queues = face(Admin.queues)
    health = face(Admin.health)


class SyncCronJobs(Face[CronJobs]):
    """:class:`CronJobs` for code that is not asynchronous."""

    register = face(CronJobs.register)
    get = face(CronJobs.get)
    list = face(CronJobs.list)
    pause = face(CronJobs.pause)
    resume = face(CronJobs.resume)
    delete = face(CronJobs.delete)
    trigger = face(CronJobs.trigger)


class SyncWorkers(Face[Workers]):
    """:class:`Workers` for code that is not asynchronous."""

    list = face(Workers.list)
    get = face(Workers.get)
    quiet = face(Workers.quiet)
    terminate = face(Workers.terminate)
    resume = face(Workers.resume)
    quiet_all = face(Workers.quiet_all)
    terminate_all = face(Workers.terminate_all)
    resume_all = face(Workers.resume_all)
    deregister = face(Workers.deregister)


class SyncDeadLetterJobs(Face[DeadLetterJobs]):
    """:class:`DeadLetterJobs` for code that is not asynchronous."""

    list = face(DeadLetterJobs.list)
    get = face(DeadLetterJobs.get)
    stats = face(DeadLetterJobs.stats)
    retry = face(DeadLetterJobs.retry)
    delete = face(DeadLetterJobs.delete)
    retry_many = face(DeadLetterJobs.retry_many)
    delete_many = face(DeadLetterJobs.delete_many)


class SyncWorkflows(Face[WorkflowOperations]):
    """:class:`WorkflowOperations` for code that is not asynchronous."""

    create = face(WorkflowOperations.create)
    get = face(WorkflowOperations.get)
    list = face(WorkflowOperations.list)
    cancel = face(WorkflowOperations.cancel)
    wait = face(WorkflowOperations.wait)


class SyncSchemas(Face[Schemas]):
    """:class:`Schemas` for code that is not asynchronous."""

    register = face(Schemas.register)
    get = face(Schemas.get)
    by_uri = face(Schemas.by_uri)
    versions = face(Schemas.versions)
    list = face(Schemas.list)
    delete = face(Schemas.delete)


class SyncQueues(Face[Queues]):
    """:class:`Queues` for code that is not asynchronous."""

    list = face(Queues.list)
    stats = face(Queues.stats)
    priorities = face(Queues.priorities)
    pause = face(Queues.pause)
    resume = face(Queues.resume)
    purge = face(Queues.purge)
    create = face(Queues.create)
    settings = face(Queues.settings)
    configure = face(Queues.configure)
    drain = face(Queues.drain)
    delete = face(Queues.delete)
    limit = face(Queues.limit)


class SyncJobs(Face[Jobs]):
    """:class:`Jobs` for code that is not asynchronous; bulk changes go on by their cursor."""

    list = face(Jobs.list)
    detail = face(Jobs.detail)
    cancel = face(Jobs.cancel)
    retry = face(Jobs.retry)
    reprioritise = face(Jobs.reprioritise)
    change_some = face(Jobs.change_some)


class SyncEvents(Face[Events]):
    """:class:`Events` for code that is not asynchronous."""

    read = face(Events.read)


class SyncSystem(Face[System]):
    """:class:`System` for code that is not asynchronous."""

    stats = face(System.stats)
    history = face(System.history)
    config = face(System.config)


class SyncJobHandle(Face[JobHandle]):
    """:class:`JobHandle` for code that is not asynchronous."""

    get = face(JobHandle.get)
    result = face(JobHandle.result)
    progress = face(JobHandle.progress)
    cancel = face(JobHandle.cancel)

    @property
    def id(self) -> str:
        """Id of the job."""
        return self._target.id
