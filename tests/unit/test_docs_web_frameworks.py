"""The recipes of docs/web-frameworks.md run in their frameworks."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import httpx
import pytest

from ojs_aws import Client, SyncClient
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.job import JobRecord
from tests.simulation.world import World
from tests.unit.typed_jobs.conftest import Shop

PAGE: Final = Path(__file__).parents[2] / "docs" / "web-frameworks.md"
EXAMPLES: Final = dict(
    re.findall(
        r"<!-- example: ([\w-]+) -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
)


def run(*names: str) -> dict[str, Any]:
    """Run examples of the page, as one module; return its names."""
    found: dict[str, Any] = {"__name__": "shop"}
    for name in names:
        code = compile(EXAMPLES[name], f"{PAGE.name}:{name}", "exec", dont_inherit=True)
        exec(code, found)  # noqa: S102 - our own page
    return found


@pytest.fixture
def shop() -> Shop:
    """A backend over the model, and a client of it."""
    world = World()
    return Shop(world, Client(transport=InProcessTransport(world.backend), middleware=[]))


def stored(shop: Shop) -> list[JobRecord]:
    """Return the jobs of the backend."""
    return list(shop.world.stored.jobs.values())


async def test_fastapi_sends_a_job_and_shows_its_state(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its endpoints; the jobs are closed with the application."""
    pytest.importorskip("fastapi", reason="make setup installs it")
    names = run("jobs", "fastapi")
    monkeypatch.setattr(Client, "from_env", lambda: shop.client)
    app = names["app"]
    async with app.router.lifespan_context(app) as state:

        async def with_state(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "state": {**state}}, receive, send)

        transport = httpx.ASGITransport(with_state)
        async with httpx.AsyncClient(transport=transport, base_url="http://shop") as http:
            with shop.client.use():
                answer = await http.post("/users", params={"email": "ada@example.com"})
                assert answer.status_code == 202
                job_id = answer.json()["job"]
                assert (await http.get(f"/jobs/{job_id}")).json() == {"state": "available"}
                await shop.work(names["jobs"], "email")
                assert (await http.get(f"/jobs/{job_id}")).json() == {"state": "completed"}
                for unknown in ("01990000-0000-7000-8000-00000000ffff", "nonsense"):
                    assert (await http.get(f"/jobs/{unknown}")).status_code == 404
    assert stored(shop)[0].result == '"sent to ada@example.com"'


def test_flask_sends_a_job(shop: Shop) -> None:
    """From a synchronous view."""
    pytest.importorskip("flask", reason="make setup installs it")
    names = run("jobs", "flask")
    with SyncClient(client=shop.client).use():
        answer = names["flask_app"].test_client().post("/users", data={"email": "ada@example.com"})
    assert answer.status_code == 202
    (job,) = stored(shop)
    assert (answer.json["job"], job.type, job.queue) == (job.id, "email.welcome", "email")


@pytest.fixture
def django(tmp_path: Path) -> Iterator[None]:
    """Django with a database in a file, as threads need it."""
    django = pytest.importorskip("django", reason="make setup installs it")
    settings = importlib.import_module("django.conf").settings
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "db.sqlite3")}
    if not settings.configured:
        settings.configure(DATABASES={"default": database}, DEFAULT_CHARSET="utf-8")
        django.setup()
    yield
    importlib.import_module("django.db").connections.close_all()


@pytest.mark.usefixtures("django")
def test_django_sends_a_job_when_the_transaction_is_committed(shop: Shop) -> None:
    """And not before."""
    transaction: Any = importlib.import_module("django.db").transaction
    factory: Any = importlib.import_module("django.test").RequestFactory()
    names = run("jobs", "django")
    request = factory.post("/users", {"email": "ada@example.com"})
    with SyncClient(client=shop.client).use():
        with transaction.atomic():
            assert names["sign_up_in_django"](request).status_code == 202
            assert stored(shop) == []
        assert [job.type for job in stored(shop)] == ["email.welcome"]


@pytest.mark.usefixtures("django")
async def test_a_job_in_django_closes_its_connection(shop: Shop) -> None:
    """In the thread that it ran in; its parameters are those of the function."""
    connections: Any = importlib.import_module("django.db").connections
    names = run("jobs", "django-connections")
    with patch.object(connections, "close_all", wraps=connections.close_all) as close:
        with shop.client.use():
            await names["count_users"].enqueue()
        await shop.work(names["jobs"], "email")
    assert (stored(shop)[0].result, close.call_count) == ("3", 1)


def test_the_tests_of_the_page_pass_and_its_worker_is_one() -> None:
    """As somebody would copy them."""
    names = run("jobs", "worker", "tests")
    names["test_what_is_sent"]()
    names["test_what_the_job_does"]()
    assert list(names["worker"].registry) == ["email.welcome"]


def test_the_module_of_djangos_worker_can_be_read() -> None:
    """It is shown, and needs an application: so only its form is checked."""
    (block,) = [
        each
        for each in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        if "django.setup()" in each
    ]
    compile(block, PAGE.name, "exec")
    assert block.index("django.setup()") < block.index("from shop.jobs import jobs")
