"""Limits on how jobs begin: read, set and removed by key."""

from __future__ import annotations

import pytest

from ojs_aws.client import Client
from ojs_aws.domain.errors import NotFoundError, OjsError


async def test_a_limit_is_set_read_listed_and_removed(client: Client) -> None:
    """With what it counts."""
    made = await client.rate_limits.set("stripe", {"concurrency": 2})
    assert (made.key, made.concurrency["limit"], made.rate) == ("stripe", 2, {})
    await client.rate_limits.set("queue:email", {"rate": {"limit": 10, "period": "PT1M"}})
    page = await client.rate_limits.list(limit=1)
    rest = await client.rate_limits.list(limit=1, cursor=page.cursor)
    assert {each.key for each in (*page.limits, *rest.limits)} == {"stripe", "queue:email"}
    assert (await client.rate_limits.get("queue:email")).rate["limit"] == 10
    await client.rate_limits.remove("stripe")
    with pytest.raises(NotFoundError):
        await client.rate_limits.get("stripe")


async def test_a_policy_that_says_nothing_is_refused(client: Client) -> None:
    """As the server says it."""
    with pytest.raises(OjsError, match="limits nothing"):
        await client.rate_limits.set("stripe", {})
