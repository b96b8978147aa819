"""What the context offers to handlers and middleware."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ojs_aws.middleware import (
    JobContext,
)
from tests.unit.middleware.doubles import JOB_ID, context, job

ABOUT = {"job_id": JOB_ID, "job_type": "a.b", "queue": "email"}


@pytest.mark.parametrize("level", ["nope", "", 20, None])
def test_ctx_log_refuses_an_unknown_level_by_the_names_there_are(level: Any) -> None:
    """A KeyError said nothing of levels."""
    with pytest.raises(ValueError, match="debug, info, warning, error, critical, not"):
        context(job()).log(level, "hello")


async def test_mw_exe_011_013_017_the_context_offers_what_section_4_4_asks_for() -> None:
    """MW-EXE-011..013, MW-EXE-015..017."""
    beats: list[int] = []

    async def beat() -> None:
        beats.append(1)

    executed = job(1, queue="email", attempt=2)
    ctx = JobContext(executed, heartbeat=beat)
    assert (ctx.job, ctx.attempt, ctx.queue) == (executed, 2, "email")
    assert JobContext(job()).attempt == 1
    await ctx.heartbeat()
    await JobContext(job()).heartbeat()
    assert beats == [1]
    ctx.set_result({"a": 1})
    assert ctx.result == {"a": 1}
    ctx.metadata["k"] = 1
    assert JobContext(executed).metadata == {}


def test_mw_exe_014_the_context_s_log_is_bound_to_the_job(caplog: pytest.LogCaptureFixture) -> None:
    """MW-EXE-014."""
    with caplog.at_level(logging.DEBUG, "ojs_aws.job"):
        context(job(queue="email", attempt=2)).log("warning", "hello", template="welcome")
    (record,) = caplog.records
    assert (record.levelno, record.message) == (logging.WARNING, "hello")
    assert {name: getattr(record, name) for name in ABOUT} == ABOUT
    assert (record.__dict__["attempt"], record.__dict__["template"]) == (2, "welcome")


def test_the_context_knows_when_a_job_was_given_up() -> None:
    """The first reason stays."""
    ctx = context()
    assert not ctx.is_cancelled
    ctx.cancel("cancelled")
    ctx.cancel("lost")
    assert (ctx.is_cancelled, ctx.cancelled_because) == (True, "cancelled")


def test_handled_means_this_very_error() -> None:
    """And not one that looks the same."""
    ctx, error = context(), ValueError("x")
    ctx.mark_handled(error)
    assert ctx.is_handled(error)
    assert not ctx.is_handled(ValueError("x"))


def test_a_handler_is_shown_what_is_its_own() -> None:
    """And not what chains and workers call."""
    shown = dir(context(job()))
    assert {"job", "attempt", "checkpoint", "heartbeat", "log", "progress", "set_result"} <= {
        *shown
    }
    assert not {"cancel", "finish", "note_origin", "stop"} & {*shown}
    assert all(hasattr(JobContext, name) for name in JobContext._internal)
