"""A shop in FastAPI, with a table of orders."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException, params
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from ojs_aws.contrib.fastapi import (
    AsyncUnitOfWork,
    EnqueueLater,
    JobClient,
    RequestContext,
    SyncJobClient,
    UnitOfWork,
    lifespan,
    request_meta,
    unit_of_work,
)
from tests.contrib.sqlalchemy.shop import Base, Order, confirm, jobs


@asynccontextmanager
async def own_lifespan(_: FastAPI) -> AsyncIterator[Mapping[str, Any]]:
    """The application's own one, whose job is sent while it ends."""
    yield {"greeting": "hello"}
    await confirm.enqueue(0)


class Shop:
    """The application, over a database in a file."""

    def __init__(self, folder: Path, sessions: sessionmaker[Session] | None = None) -> None:
        path = folder / "shop.db"
        self.engine: Engine = create_engine(f"sqlite:///{path}")
        Base.metadata.create_all(self.engine)
        self.async_engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
        plain: sessionmaker[Session] = sessionmaker(self.engine)
        self.sessions = sessions or plain
        self.async_sessions: async_sessionmaker[AsyncSession]
        self.async_sessions = async_sessionmaker(self.async_engine)
        self.app = FastAPI(lifespan=lifespan(jobs, inner=own_lifespan))
        self.app.add_middleware(RequestContext)
        self.app.include_router(
            orders(unit_of_work(self.sessions), unit_of_work(self.async_sessions))
        )

    def orders(self) -> list[int]:
        """Return the orders that are committed."""
        with self.engine.connect() as connection:
            return [*connection.scalars(text("SELECT id FROM orders ORDER BY id"))]


def orders(work: params.Depends, async_work: params.Depends) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter()
    # FastAPI reads annotations that are no text: these know the local units.

    def place(work: UnitOfWork, number: int, fails: bool = False) -> str:
        work.session.add(Order(id=number))
        job_id = work.enqueue(confirm.call(number)).id
        if fails:
            raise HTTPException(409)
        return job_id

    place.__annotations__["work"] = Annotated[UnitOfWork, work]
    router.post("/orders")(place)

    async def place_async(work: AsyncUnitOfWork, number: int) -> str:
        work.session.add(Order(id=number))
        return (await work.enqueue(confirm.call(number))).id

    place_async.__annotations__["work"] = Annotated[AsyncUnitOfWork, async_work]
    router.post("/async-orders")(place_async)

    async def place_and_confirm(work: AsyncUnitOfWork, later: EnqueueLater, number: int) -> str:
        work.session.add(Order(id=number))
        return later.add_task(confirm, number)

    place_and_confirm.__annotations__["work"] = Annotated[AsyncUnitOfWork, async_work]
    router.post("/later-orders")(place_and_confirm)

    @router.post("/later")
    def later(later: EnqueueLater, number: int, fails: bool = False) -> str:
        job_id = later.add_task(confirm.options(priority=5), number)
        if fails:
            raise HTTPException(409)
        return job_id

    @router.post("/now")
    async def now(client: JobClient, number: int) -> bool:
        request_meta()["ojs.context.user_id"] = "ada"
        job = await confirm.enqueue(number)
        return (await client.get(job.id)).id == job.id

    @router.post("/now-in-a-thread")
    def now_in_a_thread(client: SyncJobClient, number: int) -> bool:
        job = confirm.enqueue_sync(number)
        return client.get(job.id).id == job.id

    return router
