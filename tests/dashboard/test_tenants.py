"""Tenants: what each has, its jobs and limits, and its suspension."""

from __future__ import annotations

import re

import httpx

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import push


def test_a_tenant_is_suspended_and_goes_on(tab: Tab, api: httpx.Client) -> None:
    """In the list, after a question that shows the command line."""
    push(api, "shared", meta={"tenant_id": "beta"})
    page = tab.open("tenants", "Tenants")
    row = page.locator("tr", has=page.get_by_role("link", name="beta", exact=True))
    row.get_by_role("button", name="Suspend").click()
    assert tab.confirm("Suspend") == "ojs-aws tenants suspend beta"
    tab.says("The tenant beta is suspended.")
    assert api.get("admin/tenants/beta").json()["state"] == "suspended"
    row.get_by_role("button", name="Resume").click()
    assert tab.confirm("Resume") == "ojs-aws tenants resume beta"
    row.get_by_role("button", name="Suspend").wait_for()
    assert api.get("admin/tenants/beta").json()["state"] == "active"


def test_a_tenant_shows_its_own_jobs_and_its_limits(tab: Tab, api: httpx.Client) -> None:
    """With what is used of each limit; the states are links."""
    own = push(api, "shared", meta={"tenant_id": "gamma"})
    foreign = push(api, "shared", meta={"tenant_id": "delta"})
    limits = {"max_concurrency": 7, "max_enqueue_rate": {"limit": 1000, "period": "PT1M"}}
    api.patch("admin/tenants/gamma", json={"limits": limits}).raise_for_status()
    tab.open("tenants", "Tenants").get_by_role("link", name="gamma", exact=True).click()
    page = tab.page
    page.get_by_role("heading", name="Tenant gamma", level=1).wait_for()
    page.get_by_text("7 (0 now)").wait_for()
    page.get_by_text("1,000 in 1 min").wait_for()
    page.get_by_role("link", name=own).wait_for()
    assert page.get_by_role("link", name=foreign).count() == 0
    page.get_by_role("link", name="completed").click()
    tab.says("It has no such job.")


def test_the_code_of_seldom_views_is_loaded_once_and_keeps_the_focus(tab: Tab) -> None:
    """When the first of them is opened; the heading has the focus, as in other views."""
    page = tab.open("", "Overview")
    assert not any("/seldom-" in url for url in tab.requests)
    for view, heading in (("tenants", "Tenants"), ("schemas", "Schemas")):
        page.get_by_role("navigation", name="Views").get_by_role("link", name=heading).click()
        page.get_by_text("Live · ").wait_for()
        page.locator("#heading:focus").wait_for()
        assert page.url.endswith(view)
    assert sum("/seldom-" in url for url in tab.requests) == 1


def test_a_view_whose_code_is_gone_says_what_to_do(tab: Tab) -> None:
    """As after a deployment of another version."""
    tab.is_losing = True
    tab.page.route(re.compile("/seldom-"), lambda route: route.abort())
    page = tab.open("tenants", "Tenants")
    page.get_by_role("alert").get_by_text("Load the page again").wait_for()
