"""Test a chain of enqueue middleware: what each adds, and what it drops."""

from __future__ import annotations

from examples.middleware.enqueue_flow import chain
from ojs_aws import Job, UniquePolicy
from ojs_aws.middleware.builtin.propagation import LOCALE
from ojs_aws.testing import run_enqueue


async def test_the_locale_goes_with_the_job() -> None:
    token = LOCALE.set("en-US")
    try:
        trace = await run_enqueue(chain, Job("email.send", ["ada@example.com"]))
    finally:
        LOCALE.reset(token)
    _, after = trace.layer("locale").changed["meta"]
    assert after["locale"] == "en-US"
    assert trace.layer("deduplication").changed == {}


async def test_a_duplicate_is_dropped() -> None:
    def report() -> Job:
        return Job("report.build", ["a test"], unique=UniquePolicy(keys=["type", "args"]))

    assert (await run_enqueue(chain, report())).stored is not None
    second = await run_enqueue(chain, report())
    assert (second.stored, second.dropped_by) == (None, "deduplication")
    assert second.order[-1] == "leave show"
