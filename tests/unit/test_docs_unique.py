"""The pages about unique jobs, transactional enqueue and Celery: their examples run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ojs_aws import SyncClient
from tests.aws import embedded

pytestmark = pytest.mark.moto

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "unique-jobs.md", DOCS / "transactional-enqueue.md"]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, on an AWS in memory, as somebody who copies them would run them."""
    text = page.read_text()
    blocks = FENCE.findall(text)
    assert blocks
    for block in blocks:
        with embedded() as aws:
            monkeypatch.delenv("OJS_URL", raising=False)
            monkeypatch.setenv("OJS_TABLE", aws.settings.table)
            monkeypatch.setenv("OJS_QUEUE_URL_PREFIX", aws.settings.queue_url_prefix)
            aws.clients.dynamodb.create_table(
                TableName="orders",
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
            exec(compile(block, str(page), "exec"), {"__name__": "__main__"})  # noqa: S102


def test_the_example_for_users_of_celery_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job with a delay and a chain, from code without an event loop."""
    page = (DOCS / "migrating-from-celery.md").read_text()
    block = FENCE.findall(page.partition("<!-- example: day -->")[2])[0]
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile(block, "migrating-from-celery.md", "exec"), names)  # noqa: S102 - our own page
    with embedded() as aws:
        monkeypatch.delenv("OJS_URL", raising=False)
        monkeypatch.setenv("OJS_TABLE", aws.settings.table)
        monkeypatch.setenv("OJS_QUEUE_URL_PREFIX", aws.settings.queue_url_prefix)
        names["close_of_day"]("2026-01-31")
        with SyncClient.from_env() as client:
            found = {(job.type, job.state) for job in client.jobs.list().jobs}
        names["jobs"].close_sync()
    assert found == {("report.build", "scheduled"), ("report.build", "available")}
