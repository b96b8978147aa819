"""What the shop keeps, and what it does in the background."""

from __future__ import annotations

import os

from sqlalchemy import create_engine, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

from ojs_aws import Jobs
from ojs_aws.contrib.sqlalchemy import JobSession, Outbox

jobs = Jobs()


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="waits")


outbox = Outbox(Base.metadata)
engine = create_engine(os.environ.get("SHOP_DATABASE", "sqlite:///shop.db"))
sessions = sessionmaker(engine, class_=JobSession, info={"ojs_outbox": outbox})


@jobs.job("shop.confirm", queue="orders")
def confirm(order_id: int) -> str:
    with sessions.begin() as session:
        session.execute(update(Order).where(Order.id == order_id).values(state="is confirmed"))
    return f"order {order_id} is confirmed"


if __name__ == "__main__":
    Base.metadata.create_all(engine)
