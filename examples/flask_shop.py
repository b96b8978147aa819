"""Take orders in Flask: the order and its job commit together.

    pip install flask 'ojs-aws[sqlalchemy]'
    OJS_URL=http://127.0.0.1:8080 flask --app examples/flask_shop.py run

A thread of the process relays the jobs; `ojs-aws run examples.flask_shop:worker` runs them.
"""

from __future__ import annotations

import atexit
import os

from flask import Flask
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

from ojs_aws import Jobs, Worker
from ojs_aws.contrib.sqlalchemy import JobSession, Outbox
from ojs_aws.errors import InvalidRequestError, NotFoundError

jobs = Jobs()


@jobs.job("order.confirm", queue="orders")
def confirm_order(number: int) -> str:
    return f"order {number} is confirmed"


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    number: Mapped[int] = mapped_column(primary_key=True)


outbox = Outbox(Base.metadata)
engine = create_engine(os.environ.get("SHOP_DATABASE", "sqlite:///shop.db"))
sessions = sessionmaker(engine, class_=JobSession, info={"ojs_outbox": outbox})
worker = Worker(jobs)
app = Flask(__name__)
atexit.register(jobs.close_sync)
atexit.register(outbox.close)


@app.cli.command("create-tables")
def create_tables() -> None:
    Base.metadata.create_all(engine)


@app.post("/orders")
def place_order() -> tuple[dict[str, str | int], int]:
    with sessions.begin() as session:  # the order and its job, or neither
        order = Order()
        session.add(order)
        session.flush()
        job = session.enqueue(confirm_order.call(order.number))
        return {"number": order.number, "job": job.id}, 202


@app.get("/jobs/<job_id>")
def job_state(job_id: str) -> tuple[dict[str, str], int]:
    try:
        return {"state": str(jobs.sync_client().get(job_id).state)}, 200
    except (NotFoundError, InvalidRequestError):  # not sent yet, or no id at all
        return {"state": "unknown"}, 404
