"""The pages about costs have the tables that commands print, and the figures of the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks import compare, paths
from benchmarks.alternatives import ALTERNATIVES, OURS, Alternative, break_even
from benchmarks.pages import PageTable
from ojs_aws.pricing import (
    BUSY_RATE,
    ORDINARY_JSON,
    PRICES,
    RANDOM_TOKENS,
    Workload,
    estimate,
    million,
)
from ojs_aws.pricing.estimate import API_GB, GB, STREAM_MS, STREAM_RECORD_MS
from ojs_aws.pricing.units import STREAM_LOG, fetch_reads, is_in_s3, life_units
from ojs_aws.topology import STREAM_BATCH

DOCS: Final = Path(__file__).resolve().parents[3] / "docs"
PAGES: Final = [page.read_text("utf-8") for page in sorted(DOCS.glob("costs*.md"))]
SENTENCES: Final = re.sub(r"\s+", " ", "\n".join(PAGES))
NAMED: Final = {each.name: each for each in ALTERNATIVES}
CELERY: Final = NAMED["Celery on SQS and Fargate"]
SIDEKIQ: Final = NAMED["Sidekiq or BullMQ on ElastiCache and Fargate"]
STANDARD: Final = NAMED["Step Functions, standard"]


def busy(**options: Any) -> float:
    """Return the dollars of a million jobs when busy."""
    return million(Workload(jobs=1e6, rate=BUSY_RATE, **options))


def saved(less: dict[str, Any], **options: Any) -> float:
    """Return what a million jobs with these options cost less with some others."""
    return busy(**options) - busy(**options | less)


def polls(*, uses_gateway: bool) -> float:
    """Return what a million polls cost that find nothing."""
    some = Workload(jobs=0, empty_polls=1e6, uses_gateway=uses_gateway)
    none = replace(some, empty_polls=0)
    found = [sum(line.dollars for line in estimate(each)) for each in (some, none)]
    return found[0] - found[1]


def removed(*, together: int) -> float:
    """Return what counting the removal of a million jobs costs, so many in an invocation."""
    run_s = (STREAM_MS + together * STREAM_RECORD_MS) / 1000
    each = PRICES["write unit"] + PRICES["Lambda request"] + STREAM_LOG / GB * PRICES["log GB"]
    return (each + run_s * API_GB * PRICES["Lambda GB-second"]) / together * 1e6


def key(*, jobs: float) -> float:
    """Return what a month's use of the account's key costs."""
    lines = estimate(Workload(jobs=jobs))
    return sum(line.dollars for line in lines if line.unit == "KMS request")


def crossing(other: Alternative) -> float:
    """Return from how many jobs a month on the other is cheaper, or dearer, to two digits."""
    jobs = break_even(compare.workload(0), other).jobs
    assert jobs is not None
    return float(f"{jobs:.2g}")


@pytest.mark.parametrize("tables", [paths.tables, compare.tables], ids=["paths", "compare"])
def test_the_pages_have_the_tables_that_commands_print(
    tables: Callable[[], Sequence[PageTable]],
) -> None:
    """``python -m benchmarks.paths --docs`` and ``python -m benchmarks.compare --docs`` do it."""
    made = tables()  # not at import, which each process that collects the tests would wait for
    assert made
    for table in made:
        page = table.page().read_text("utf-8")
        assert table.put_into(page) == page, table.name


def test_a_table_needs_its_marks() -> None:
    with pytest.raises(ValueError, match="lacks"):
        PageTable("none", ("a",), [("1",)]).put_into(PAGES[0])


HTTP: Final = {"uses_http_workers": True}
ENDPOINT: Final = {"uses_gateway": False}
BEAT: Final = {"heartbeats": 1}
DIRECT: Final = {"is_direct": True}
SAID: Final[Mapping[str, Sequence[float]]] = {
    "saves ${:.2f} a million jobs with HTTP workers, and ${:.2f} with Lambda workers": (
        saved(ENDPOINT, **HTTP),
        saved(ENDPOINT),
    ),
    "find no job cost ${:.2f}, or ${:.2f} at the job endpoint": (
        polls(uses_gateway=True),
        polls(uses_gateway=False),
    ),
    "${:.2f} a million with its two changes in the event log, or ${:.2f} at the job endpoint": (
        -saved(BEAT, **HTTP),
        -saved(BEAT, **HTTP, **ENDPOINT),
    ),
    "no request: ${:.2f} a million less, or ${:.2f} less than at the job endpoint": (
        saved(DIRECT),
        saved(DIRECT, **ENDPOINT),
    ),
    "${:.2f} a million requests, its access log included: ${:.2f} a million jobs": (
        saved(ENDPOINT),
        saved(ENDPOINT, **HTTP),
    ),
    "role that uses the table: ${:.2f} a month without jobs, ${:.2f} with them": (
        key(jobs=0),
        key(jobs=1e6),
    ),
    "function's own line: ${:.2f} a million requests": (saved({"has_access_log": False}),),
    "cheaper above {:g} million jobs a month, Sidekiq and BullMQ above {:g} million": (
        crossing(CELERY) / 1e6,
        crossing(SIDEKIQ) / 1e6,
    ),
    "Standard workflows are cheaper below {:,.0f} jobs a month": (crossing(STANDARD),),
    "Lambda durable functions are cheaper below {:g} million jobs a month": (
        crossing(NAMED["Lambda durable functions"]) / 1e6,
    ),
    "costs ${:.2f} a million where each removal comes by itself, and ${:.2f} in full batches": (
        removed(together=1),
        removed(together=STREAM_BATCH),
    ),
    "further step costs ${:g} a million more": (PRICES["durable operation"] * 1e6,),
}
"""Sentences of the pages, and their figures by the model."""


@pytest.mark.parametrize("sentence", SAID)
def test_the_sentences_of_the_pages_have_the_figures_of_the_model(sentence: str) -> None:
    assert sentence.format(*SAID[sentence]) in SENTENCES


@pytest.mark.parametrize(
    ("name", "size"), [("0.5 KB", 512), ("1 KB", 1024), ("8 KB", 8192), ("100 KB", 102_400)]
)
def test_the_page_has_the_units_of_a_jobs_life_by_its_size(name: str, size: int) -> None:
    """DynamoDB, S3, and two messages: one is sent, one received."""
    cells: list[str] = []
    for compression in (RANDOM_TOKENS, ORDINARY_JSON):
        writes, reads = (of(size, compression) for of in (life_units, fetch_reads))
        paid = {"write unit": writes, "read unit": reads, "SQS request": 2}
        if is_in_s3(size, compression):
            paid |= {"S3 PUT": 1, "S3 GET": 1}
        dollars = sum(PRICES[unit] * amount for unit, amount in paid.items()) * 1e6
        cells += [f"{writes:g}", f"{dollars:.2f}"]
    assert f"| {name} | {' | '.join(cells)} |" in "\n".join(PAGES)


def test_the_comparison_says_from_where_on_servers_are_cheaper() -> None:
    """As the README does; SQS and Lambda alone cost a sixth at most."""
    text = re.sub(r"\s+", " ", (DOCS / "comparison.md").read_text("utf-8"))
    readme = re.sub(r"\s+", " ", (DOCS.parent / "README.md").read_text("utf-8"))
    servers = crossing(CELERY) / 1e6, crossing(SIDEKIQ) / 1e6
    assert "above {:g} million jobs a month, Sidekiq above {:g} million".format(*servers) in text
    assert f"always on are cheaper from {servers[0]:g} million jobs a month on" in readme
    months = [compare.workload(jobs) for jobs in (1e6, 1e8)]
    ratios = [OURS.dollars(each) / NAMED["SQS and Lambda"].dollars(each) for each in months]
    assert min(ratios) >= 6
    assert "cost a sixth or less" in text
