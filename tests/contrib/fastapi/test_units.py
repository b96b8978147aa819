"""Units of work in FastAPI: jobs are sent if and when the session commits."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session, sessionmaker

from ojs_aws import Client
from ojs_aws.contrib.fastapi.application import enqueue_or_log
from ojs_aws.contrib.sqlalchemy import AsyncJobSession, JobSession, Outbox
from ojs_aws.contrib.sqlalchemy.commits import JobsAfterCommit
from ojs_aws.contrib.sqlalchemy.outbox import outbox_of
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendUnavailableError, InvalidRequestError
from ojs_aws.testing import Ojs
from tests.contrib.backends import Backend
from tests.contrib.fastapi import TestClient
from tests.contrib.fastapi.shop import Shop
from tests.contrib.sqlalchemy.shop import Base, Order, confirm


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


@pytest.fixture
def http(shop: Shop, ojs: Ojs) -> Iterator[TestClient]:
    with TestClient(shop.app, raise_server_exceptions=False) as http:
        yield http


@pytest.mark.parametrize("path", ["/orders", "/async-orders"])
def test_a_commit_sends_the_jobs_of_the_unit(
    http: TestClient, shop: Shop, ojs: Ojs, path: str
) -> None:
    job_id = http.post(path, params={"number": 1}).json()
    [job] = ojs.assert_enqueued(confirm.call(1), count=1)
    assert (job.id, shop.orders()) == (job_id, [1])


def test_an_endpoint_that_raises_stores_and_sends_nothing(
    http: TestClient, shop: Shop, ojs: Ojs
) -> None:
    answer = http.post("/orders", params={"number": 1, "fails": True})
    assert (answer.status_code, shop.orders(), ojs.all_enqueued()) == (409, [], [])


@pytest.mark.parametrize("path", ["/orders", "/async-orders", "/later-orders"])
def test_a_commit_that_fails_is_an_error_of_the_response(
    http: TestClient, ojs: Ojs, path: str
) -> None:
    """FastAPI would end the dependency after the response; nothing is sent later, either."""
    assert http.post(path, params={"number": 1}).status_code == 200
    before = len(ojs.all_enqueued())
    assert http.post(path, params={"number": 1}).status_code == 500
    assert len(ojs.all_enqueued()) == before


@pytest.mark.parametrize("path", ["/orders", "/async-orders"])
def test_an_enqueue_that_fails_after_the_commit_is_logged(
    http: TestClient,
    shop: Shop,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
) -> None:
    async def fail(*_: object) -> None:
        raise BackendUnavailableError("down")

    monkeypatch.setattr(Client, "enqueue_prepared", fail)
    answer = http.post(path, params={"number": 1})
    assert (answer.status_code, shop.orders()) == (200, [1])
    [record] = [each for each in caplog.records if each.name == "ojs_aws.contrib.fastapi"]
    assert record.levelno == logging.ERROR
    assert (record.__dict__["job_id"], record.__dict__["job_type"]) == (
        answer.json(),
        "order.confirm",
    )
    assert answer.json() in record.getMessage()


async def test_one_refused_job_does_not_cost_the_others() -> None:
    backend = Backend()
    bad = "01990000-0000-7000-8000-000000000001"
    backend.fault = lambda jobs: (
        InvalidRequestError("no") if bad in [job.id for job in jobs] else None
    )
    jobs = [Job("a.b", [], id=bad), Job("a.b", [], id=bad[:-1] + "2")]
    await enqueue_or_log(jobs, backend.client().enqueue_prepared)
    assert backend.ids == [jobs[1].id]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Session, JobsAfterCommit]]:
    engine: Engine = create_engine(f"sqlite:///{tmp_path / 'held.db'}")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        yield session, JobsAfterCommit(session)


def numbered(number: int) -> Job:
    return confirm.call(number).to_job()


def numbers(held: JobsAfterCommit) -> list[object]:
    return [job.args[0] for job in held.take_committed()]


def test_the_release_of_a_savepoint_sends_nothing(held: tuple[Session, JobsAfterCommit]) -> None:
    session, jobs = held
    session.add(Order(id=1))
    jobs.add(numbered(1))
    with session.begin_nested():
        jobs.add(numbered(2))
    assert numbers(jobs) == []
    jobs.add(numbered(3))
    session.commit()
    assert (numbers(jobs), numbers(jobs)) == ([1, 2, 3], [])


def test_an_outer_rollback_forgets_the_jobs_of_savepoints(
    held: tuple[Session, JobsAfterCommit],
) -> None:
    session, jobs = held
    with session.begin_nested():
        jobs.add(numbered(1))
    session.rollback()
    session.commit()
    assert numbers(jobs) == []


def test_a_savepoint_that_rolls_back_takes_its_jobs_with_it(
    held: tuple[Session, JobsAfterCommit],
) -> None:
    session, jobs = held
    jobs.add(numbered(1))
    nested = session.begin_nested()
    with session.begin_nested():
        jobs.add(numbered(2))
    nested.rollback()
    session.commit()
    assert numbers(jobs) == [1]


def test_a_session_that_is_closed_forgets_its_jobs(held: tuple[Session, JobsAfterCommit]) -> None:
    session, jobs = held
    jobs.add(numbered(1))
    session.close()
    session.add(Order(id=1))
    session.commit()
    assert numbers(jobs) == []


def test_a_unit_of_an_outbox_writes_its_jobs_there(tmp_path: Path, ojs: Ojs) -> None:
    """They reach the test by the outbox, which marks them."""
    outbox = Outbox(Base.metadata, relay="separate")
    engine = create_engine(f"sqlite:///{tmp_path / 'shop.db'}")
    sessions: sessionmaker[Session] = sessionmaker(
        engine, class_=JobSession, info={"ojs_outbox": outbox}
    )
    with TestClient(Shop(tmp_path, sessions).app) as http:
        http.post("/orders", params={"number": 1})
        ojs.assert_enqueued(confirm.call(1), count=1)
    with engine.connect() as connection:
        assert connection.execute(outbox.table.select()).one().status == "sent"


def test_the_outbox_of_a_unit_is_that_of_its_session() -> None:
    outbox = Outbox()
    assert outbox_of(Session()) is None
    assert outbox_of(Session(info={"ojs_outbox": outbox})) is outbox
    assert outbox_of(AsyncJobSession(info={"ojs_outbox": outbox})) is outbox
    assert isinstance(outbox_of(AsyncJobSession()), Outbox)
