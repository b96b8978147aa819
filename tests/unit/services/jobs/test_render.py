"""What a job shows: the client's own text where it still holds, else what the system knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.failures import read_failure
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.jobs import render
from ojs_aws.services.jobs.render import render_job, render_outcome, summarise_job
from tests.contract.test_job_store import NOW, a_job, a_reservation

FAILURE = read_failure(parse_object('{"type": "T", "message": "m"}'), 1, NOW)


def scheduled(written: str, due: Instant | None) -> Any:
    """What a scheduled job shows of its time, if the client wrote it so."""
    document = RawJson('{"args":[]' + (f',"scheduled_at":"{written}"' if written else "") + "}")
    job = a_job(state=JobState.SCHEDULED, document=document, scheduled_at=due)
    return render_job(job).get("scheduled_at")


@pytest.mark.parametrize("written", [5, 0, -3])
def test_a_priority_that_was_changed_is_shown(written: int) -> None:
    document = RawJson(f'{{"args":[],"priority":{written}}}')
    assert render_job(a_job(document=document, priority=7))["priority"] == "7"
    assert render_job(a_job(document=document, priority=written))["priority"] == str(written)


def test_a_time_that_still_holds_is_shown_as_the_client_wrote_it() -> None:
    """One that a limit postponed is not; nor is one that the client never wrote."""
    text, due = "2026-01-01T01:00:00+01:00", Instant(1_767_225_600_000)
    assert scheduled(text, due) == f'"{text}"'
    assert scheduled(text, NOW) == f'"{format_instant(NOW)}"'
    assert scheduled("", NOW) == f'"{format_instant(NOW)}"'
    assert scheduled(text, None) == f'"{text}"'


def test_a_summary_names_the_worker_that_gave_its_name() -> None:
    job = a_job(state=JobState.ACTIVE, reservation=a_reservation("w9"))
    assert summarise_job(job)["worker_id"] == "w9"
    assert "worker_id" not in summarise_job(replace(job, reservation=a_reservation("")))


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"result": RawJson("12")}, {"result_stored_at", "result_size_bytes"}),
        ({"failures": (FAILURE,)}, {"result_stored_at"}),
        ({}, set()),
        ({"result": RawJson("12"), "state": JobState.ACTIVE}, set()),
    ],
)
def test_an_outcome_is_described_once_there_is_one(more: dict[str, Any], shown: set[str]) -> None:
    job = a_job(**{"state": JobState.COMPLETED, "completed_at": NOW, **more})
    assert render_outcome(job).keys() == shown


@pytest.mark.parametrize(("written", "priority"), [("null", 0), ("7.0", 7), ("7", 7)])
def test_a_priority_is_shown_as_it_was_sent_while_it_holds(written: str, priority: int) -> None:
    document = RawJson(f'{{"args":[],"priority":{written}}}')
    assert render_job(a_job(document=document, priority=priority))["priority"] == written


def test_a_text_is_shown_as_it_is_and_an_empty_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of instants are shown as timestamps; others as the record has them."""
    rows = (("created_at", "created_at", True), ("tenant", "tenant", False))
    monkeypatch.setattr(render, "IN_JOBS", rows)
    monkeypatch.setattr(render, "IN_LISTS", rows)
    job = a_job(tenant="acme")
    assert render.stored_values(job)["tenant"] == '"acme"'
    assert summarise_job(job)["tenant"] == "acme"
    assert "tenant" not in {**render.stored_values(a_job()), **summarise_job(a_job())}
