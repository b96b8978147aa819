"""docs/durations.md says what is so, and the pages that have times link to it."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any, cast

import pytest

from ojs_aws import (
    Client,
    Job,
    RateLimit,
    RetryPolicy,
    UniquePolicy,
    Worker,
)
from ojs_aws.domain.jobs.attributes import JobDurations
from ojs_aws.middleware import TimeoutMiddleware
from ojs_aws.worker import RetryError, SnoozeError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "durations.md").read_text("utf-8")
ROWS = [line.split("|")[1:4] for line in PAGE.splitlines() if line.startswith("| ")][1:]
JOB = re.compile(r"`(\w+=[^`(]+)`")
CALL = re.compile(r"`([A-Z]\w+\([^`]+\))`")
KNOWN: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(RateLimit, RetryError, RetryPolicy, SnoozeError),
        *(TimeoutMiddleware, UniquePolicy),
    )
}
PAGES = ("typed-jobs", "retries", "results", "workers", "unique-jobs", "limits", "reference/client")


def attributes(text: str) -> dict[str, Any]:
    """Return the attributes of a job that a cell of the table shows."""
    return {
        name: ast.literal_eval(value) for name, value in (e.split("=") for e in JOB.findall(text))
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip())
def test_both_forms_of_a_row_say_the_same(row: list[str]) -> None:
    """And each call of the table can be made."""
    for name, value in attributes(row[1]).items():
        made = Job("a.b", **cast("Any", {name: value}))
        for other, seconds in attributes(row[2]).items():
            assert made.members() == Job("a.b", **cast("Any", {other: seconds})).members()
    for text in CALL.findall("".join(row[1:])):
        if not text.startswith(("Client", "Worker")):  # they would need a server
            eval(text, {**KNOWN})  # noqa: S307 - of our own page


def test_the_page_names_each_duration_of_a_job() -> None:
    assert all(f"`{name}=" in PAGE for name in JobDurations.__annotations__)
    assert "Worker(grace_s=25)" in PAGE
    assert "Client(timeout_s=15)" in PAGE
    assert inspect.signature(Worker).parameters["grace_s"].default == 25
    assert inspect.signature(Client).parameters["timeout_s"].default == 15


@pytest.mark.parametrize("page", PAGES)
def test_pages_with_times_link_to_the_rule(page: str) -> None:
    assert "durations.md" in (ROOT / "docs" / f"{page}.md").read_text("utf-8")
