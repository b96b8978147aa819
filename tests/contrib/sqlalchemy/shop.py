"""A shop with a table of orders, whose jobs are in the outbox."""

from __future__ import annotations

from typing import TypedDict, Unpack

from sqlalchemy import Engine, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

from ojs_aws import Client, Jobs
from ojs_aws.contrib.outbox.relay import Relay
from ojs_aws.contrib.outbox.staged_jobs import Clock
from ojs_aws.contrib.outbox.store import OutboxStore
from ojs_aws.contrib.sqlalchemy import JobSession, Outbox, RelayOptions
from ojs_aws.contrib.sqlalchemy.database import EngineDatabase
from tests.contrib.backends import Backend

jobs = Jobs()


@jobs.job("order.confirm", queue="orders")
def confirm(number: int) -> int:
    return number


class Options(TypedDict, total=False):
    """Lists the options of a relay that tests set."""

    batch_size: int
    max_attempts: int
    poll_s: float
    listens: bool


class Base(DeclarativeBase):
    """The tables of the shop."""


class Order(Base):
    """One order."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)


class Shop:
    """An engine with all tables, and sessions whose jobs only a test's relay sends."""

    def __init__(self, url: str, *, creates: bool = True) -> None:
        self.outbox = Outbox(Base.metadata, relay="separate")
        self._relays: list[Relay] = []
        self.engine: Engine = create_engine(url)
        if creates:
            Base.metadata.create_all(self.engine)
        info = {"ojs_outbox": self.outbox}
        self.sessions: sessionmaker[JobSession] = sessionmaker(
            self.engine, class_=JobSession, info=info
        )

    def relay(
        self, backend: Backend, clock: Clock | None = None, **options: Unpack[Options]
    ) -> Relay:
        """Return a relay to a backend, which ends with the shop."""
        database = EngineDatabase(self.engine)
        chosen = RelayOptions(**options)
        made = Relay(database, chosen, make_client=backend.client, clock=clock)
        self._relays.append(made)
        return made

    def relay_to(self, url: str) -> Relay:
        """Return a relay to a server, which ends with the shop."""
        made = Relay(EngineDatabase(self.engine), make_client=lambda: Client(url, middleware=[]))
        self._relays.append(made)
        return made

    def store(self) -> OutboxStore:
        """Return the rows, as operators see them."""
        made = self.relay(Backend())
        return made.store

    def close(self) -> None:
        """Close all connections."""
        for relay in self._relays:
            relay.close()
        self.engine.dispose()

    def order(self, number: int) -> str:
        """Store an order and its job; return the job's id."""
        with self.sessions.begin() as session:
            session.add(Order(id=number))
            return session.enqueue(confirm.call(number)).id

    def orders(self) -> list[int]:
        """Return the orders that are committed."""
        with Session(self.engine) as session:
            return sorted(session.scalars(select(Order.id)))

    def statuses(self) -> list[str]:
        """Return the statuses of the outbox's rows, in their order."""
        columns = self.outbox.table.c
        with self.engine.connect() as connection:
            return [*connection.scalars(select(columns.status).order_by(columns.id))]
