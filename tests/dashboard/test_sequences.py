"""Stopped sequences: which there are, and how each goes on."""

from __future__ import annotations

import httpx

from tests.dashboard.conftest import Tab
from tests.dashboard.jobs import push


def stop(api: httpx.Client, key: str, **attributes: object) -> tuple[str, str]:
    """Stop a sequence on its first job, and return this and the one behind it."""
    first, second = [push(api, key, sequence=key, **attributes) for _ in range(2)]
    api.post("workers/fetch", json={"worker_id": "w", "queues": [key]}).raise_for_status()
    error = {"type": "Broken", "message": "no", "code": "DISCARD"}
    body = {"job_id": first, "worker_id": "w", "error": error}
    api.post("workers/nack", json=body).raise_for_status()
    return first, second


def test_a_stopped_sequence_goes_on_without_its_job(tab: Tab, api: httpx.Client) -> None:
    """After a question that shows the command line; with its tenant, where it has one."""
    first, second = stop(api, "order-1", meta={"tenant_id": "acme"})
    stop(api, "order-2")
    page = tab.open("sequences", "Sequences")
    row = page.get_by_role("row").filter(has_text="order-1")
    row.get_by_role("link", name=first).wait_for()
    row.get_by_role("button", name="Go on").click()
    assert tab.confirm("Go on") == "ojs-aws sequences skip order-1 --tenant acme"
    tab.says("The sequence order-1 goes on.")
    row.wait_for(state="detached")
    page.get_by_role("row").filter(has_text="order-2").wait_for()
    running = api.get("admin/sequences/order-1", params={"tenant": "acme"}).json()
    assert (running["state"], running["job_id"]) == ("running", second)


def test_a_stopped_sequence_goes_on_with_its_job(tab: Tab, api: httpx.Client) -> None:
    """Which runs in its place; the finding leads to the list."""
    first, _ = stop(api, "order-3")
    page = tab.open("", "Overview")
    page.locator(".findings").wait_for()
    if (more := page.locator(".more-button")).count():
        more.click()
    page.get_by_role("link", name="See the sequences").click()
    row = page.get_by_role("row").filter(has_text="order-3")
    row.get_by_role("button", name="Retry").click()
    assert tab.confirm("Retry") == f"ojs-aws jobs retry {first}"
    row.wait_for(state="detached")
    assert api.get("admin/sequences/order-3").json()["job_id"] == first
