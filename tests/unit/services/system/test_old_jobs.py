"""Of which queues it is found that the next job waits too long, and what callers see of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.domain.jobs.lists import Page
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.system import findings
from ojs_aws.services.system.findings import OLD_MS, Findings
from ojs_aws.services.system.queue_findings import Finding
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import row_of

OLD = OLD_MS + 1


def found(
    waits: dict[str, int],
    *,
    available: int = 1,
    paused: str = "",
    counted: int | None = None,
    hides: str = "",
) -> list[Finding]:
    """Of queues whose next job has waited so long."""

    def listed(queue: str, *_: Any, **__: Any) -> Page:
        since = NOW - waits[queue]
        return Page((row_of(a_job(queue=queue, order=since * 1000)),))

    counts = SimpleNamespace(counts={"available": available})
    totals = SimpleNamespace(
        queues=len(waits),
        counted=len(waits) if counted is None else counted,
        paused={paused: NOW} if paused else {},
        by_queue=dict.fromkeys(waits, (counts, None)),
        jobs={"available": available},
    )
    reasons = SimpleNamespace(reasons=[SimpleNamespace(code="c", message="Because.")])
    names = ("statistics", "queues", "workers", "failures", "sequences")
    given: dict[str, Any] = dict.fromkeys(names)
    looking = Findings(
        **given,
        lines=cast("Any", lambda *_, **__: []),
        store=cast("Any", SimpleNamespace(listed=listed)),
        why=lambda: cast("Any", lambda *_, **__: reasons),
    )
    sees = (lambda queue, _: queue != hides) if hides else None
    return looking._old_jobs(cast("Any", totals), sees, Instant(NOW), {})


@pytest.mark.parametrize(("waits_ms", "is_old"), [(OLD_MS, False), (OLD, True)])
def test_a_job_that_has_waited_for_long_is_found(waits_ms: int, is_old: bool) -> None:
    assert bool(found({"q": waits_ms})) is is_old


@pytest.mark.parametrize(
    ("options", "is_looked_at"),
    [
        ({}, True),
        ({"paused": "q"}, False),
        ({"available": 0}, False),
        ({"available": 0, "counted": 0}, True),
        ({"available": 1, "counted": 0}, True),
        ({"available": 0, "counted": 0, "paused": "q"}, False),
    ],
)
def test_queues_are_looked_at_in_which_jobs_may_wait(
    options: dict[str, Any], is_looked_at: bool
) -> None:
    """By their totals, if these count all jobs; a paused queue is found by itself."""
    assert bool(found({"q": OLD}, **options)) is is_looked_at


def test_a_job_of_others_is_not_named() -> None:
    (finding,) = found({"q": OLD}, hides="q")
    assert "job_id" not in finding.data
    assert "Because" not in finding.message
    (finding,) = found({"q": OLD}, hides="other")
    assert finding.data["job_id"] == a_job().id


def test_the_oldest_jobs_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many of them: it costs reads."""
    monkeypatch.setattr(findings, "MAX_EXPLAINED", 2)
    explained = [
        "Because" in each.message for each in found({"a": OLD, "b": 3 * OLD, "c": 2 * OLD})
    ]
    assert explained == [True, True, False]
    names = [each.data["queue"] for each in found({"a": OLD, "b": 3 * OLD, "c": 2 * OLD})]
    assert names == ["b", "c", "a"]
