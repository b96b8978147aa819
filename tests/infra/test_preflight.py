"""The preflight finds what it looks for in what the app of this project synthesises."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from aws_cdk import App

from infra.app import make_app
from ojs_aws.adapters.account import Account, Concurrency
from ojs_aws.cli.deployment.doctor import Verdict
from ojs_aws.cli.deployment.plans import Answer, planned_stacks
from ojs_aws.cli.deployment.preflight import checked
from tests.infra.conftest import NO_BUNDLING


class NewAccount:
    """An account of today, in a region without function URLs."""

    region = "me-central-1"

    def number(self) -> str:
        return "123456789012"

    def concurrency(self) -> Concurrency:
        return Concurrency(limit=10, unreserved=10)

    def reserved_by(self, stacks: Any) -> int:
        assert list(stacks) == ["OjsBackend"]
        return 0

    def queues_of(self, stacks: Any) -> set[str]:
        assert list(stacks) == ["OjsBackend"]
        return set()

    def owner_of_queue(self, name: str) -> str | None:
        return "" if name == "ojs__default" else None


def found(folder: Path, **context: str) -> dict[str, str]:
    """The problems of an app with this context, by the names of their checks."""
    make_app(App(outdir=str(folder), context={**NO_BUNDLING, **context})).synth()
    (planned,) = planned_stacks(folder)
    account = cast("Account", NewAccount())
    results = checked(planned, account, lambda _: Answer(seconds=9))
    return {each.check: each.text for each in results if each.verdict is not Verdict.OK}


def test_each_thing_that_a_new_account_refuses_is_found_in_the_assembly(tmp_path: Path) -> None:
    """Two executions of six functions, workers with a hundred, an alarm at 800, a queue's name."""
    problems = found(tmp_path, job_endpoint="true", start="2")
    assert problems["reserved executions"].startswith("12 are planned, of 0")
    assert problems["workers"].startswith("their triggers may take 100 of 10")
    assert problems["concurrency alarm"].startswith("rings at 800")
    assert problems["function URLs"] == "the region me-central-1 has none"
    assert "ojs__default" in problems["names"]


def test_the_issuer_of_tokens_is_found_in_the_assembly(tmp_path: Path) -> None:
    """And the default stack needs neither function URLs nor reserved executions."""
    issuer = "https://issuer.example.com"
    problems = found(tmp_path, auth="jwt", jwt_issuer=issuer, jwt_audience="ojs")
    assert problems["issuer"].startswith(f"{issuer} answered after 9.0 s")
    assert not {"function URLs", "reserved executions"} & {*problems}
