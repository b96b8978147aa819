"""Take orders in Litestar: the order and its job commit together.

    pip install litestar uvicorn aiosqlite 'ojs-aws[sqlalchemy]'
    OJS_URL=http://127.0.0.1:8080 uvicorn examples.litestar_shop:app

A thread of the process relays the jobs; `ojs-aws run examples.litestar_shop:worker` runs them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from litestar import Litestar, get, post
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ojs_aws import Jobs, Worker
from ojs_aws.contrib.sqlalchemy import AsyncJobSession, Outbox
from ojs_aws.errors import InvalidRequestError, NotFoundError

jobs = Jobs()


@jobs.job("order.confirm", queue="orders")
async def confirm_order(number: int) -> str:
    return f"order {number} is confirmed"


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    number: Mapped[int] = mapped_column(primary_key=True)


outbox = Outbox(Base.metadata)
engine = create_async_engine(os.environ.get("SHOP_DATABASE", "sqlite+aiosqlite:///shop.db"))
sessions = async_sessionmaker(engine, class_=AsyncJobSession, info={"ojs_outbox": outbox})
worker = Worker(jobs)


@asynccontextmanager
async def opened(_: Litestar) -> AsyncIterator[None]:
    """Open database and clients with the application, and close them with it."""
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with jobs.open():
        yield
    await asyncio.to_thread(outbox.close)
    await engine.dispose()


@post("/orders", status_code=202)
async def place_order() -> dict[str, str | int]:
    async with sessions.begin() as session:  # the order and its job, or neither
        order = Order()
        session.add(order)
        await session.flush()
        job = await session.enqueue(confirm_order.call(order.number))
        return {"number": order.number, "job": job.id}


@get("/jobs/{job_id:str}")
async def job_state(job_id: FromPath[str]) -> dict[str, str]:
    try:
        return {"state": str((await jobs.client().get(job_id)).state)}
    except (NotFoundError, InvalidRequestError):  # not sent yet, or no id at all
        raise NotFoundException from None


app = Litestar([place_order, job_state], lifespan=[opened])
