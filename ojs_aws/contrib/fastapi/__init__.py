"""Enqueue jobs in FastAPI: the client, units of work, jobs after the response, the dashboard.

Example::

    app = FastAPI(lifespan=lifespan(jobs))
    app.add_middleware(RequestContext)


    @app.post("/users")
    async def sign_up(email: str, later: EnqueueLater) -> None:
        later.add_task(send_welcome, email)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws.contrib.fastapi.application import EnqueueLater as EnqueueLater
    from ojs_aws.contrib.fastapi.application import JobClient as JobClient
    from ojs_aws.contrib.fastapi.application import LaterJobs as LaterJobs
    from ojs_aws.contrib.fastapi.application import RequestContext as RequestContext
    from ojs_aws.contrib.fastapi.application import SyncJobClient as SyncJobClient
    from ojs_aws.contrib.fastapi.application import lifespan as lifespan
    from ojs_aws.contrib.fastapi.dashboard_router import dashboard as dashboard
    from ojs_aws.contrib.fastapi.units import AsyncUnitOfWork as AsyncUnitOfWork
    from ojs_aws.contrib.fastapi.units import UnitOfWork as UnitOfWork
    from ojs_aws.contrib.fastapi.units import unit_of_work as unit_of_work
    from ojs_aws.contrib.request_meta import request_meta as request_meta
else:
    __getattr__, __dir__ = lazy_exports(__name__, extra="fastapi")
