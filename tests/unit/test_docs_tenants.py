"""docs/tenants.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ojs_aws.adapters.dynamodb.queues.totals import TENANTS
from ojs_aws.domain.tenants import MAX_TENANT_LENGTH, TenantSettings, tenant_of
from ojs_aws.services.jobs.fetch.candidates import HEAD_SPARE
from ojs_aws.services.jobs.fetch.service import TENANT_HEAD
from ojs_aws.services.jobs.fetch.tenant_round import MAX_ROWS, PAGE
from ojs_aws.services.jobs.list_walk import MAX_EXAMINED
from ojs_aws.services.limits.admin import MAX_TYPES
from ojs_aws.services.tenants.admin import RATE_MINUTES
from ojs_aws.services.tenants.enqueue_limits import SUSPENDED_S

TEXT = (Path(__file__).parents[2] / "docs" / "tenants.md").read_text("utf-8")


def test_the_examples_run() -> None:
    """With a client that notes what it is asked for."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)  # noqa: S102 - our own page
    names["test_the_tenant_of_the_request_is_put_into_the_job"]()
    asked: list[Any] = []

    class Notes:
        def enqueue(self, job: Any) -> Any:
            asked.append(job)
            return type("Result", (), {"id": "1"})

    assert names["order_report"](Notes(), "acme") == "1"
    assert [tenant_of(job) for job in asked] == ["acme"]
    limited: list[Any] = []
    counted = SimpleNamespace(
        stats=lambda tenant: SimpleNamespace(jobs={"available": len(tenant)}),
        set=lambda tenant, limits: limited.append((tenant, TenantSettings().with_limits(limits))),
    )
    assert names["backlog"](SimpleNamespace(tenants=counted), "acme") == 4
    names["slow_down"](SimpleNamespace(tenants=counted), "acme")
    assert limited == [("acme", TenantSettings(max_concurrency=5))]
    names["client_of"]("http://localhost:1", "acme").close()


def test_the_numbers_are_those_of_the_code() -> None:
    """How long an id may be, and how far is looked."""
    assert f"up to {MAX_TENANT_LENGTH} letters" in TEXT
    assert MAX_ROWS == MAX_EXAMINED == 1_000
    assert f"looks at up to {MAX_ROWS:,} rows" in TEXT
    assert f"the query of the head reads {TENANT_HEAD + HEAD_SPARE} rows" in TEXT
    assert f"page of {PAGE} rows" in TEXT
    assert f"until {(TENANTS.kept_s or 0) // 86_400} days after" in TEXT
    assert RATE_MINUTES == 5
    assert f"Up to {MAX_TYPES:,} tenants and job types together" in TEXT
    assert f"`Retry-After` of {SUSPENDED_S} seconds" in TEXT
