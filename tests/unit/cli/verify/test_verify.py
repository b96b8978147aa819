"""The command `ojs-aws verify-aws`: what it asks for, what it refuses, and how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from ojs_aws.adapters.stacks import StackState
from ojs_aws.cli.deployment.deploy_choices import Wanted
from ojs_aws.cli.deployment.deploy_needs import deploy_policy
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.cli.verify import command
from ojs_aws.cli.verify.assertions import DOCUMENTED_MS
from ojs_aws.cli.verify.bill import compare, dollars
from ojs_aws.cli.verify.conformance.runner import (
    cases_of_a_deployment,
    is_at_the_job_endpoint,
)
from ojs_aws.cli.verify.deployments import Deployments, stack_of
from ojs_aws.cli.verify.load import AHEAD_S, _pages, reached
from ojs_aws.cli.verify.report import Result, masked, run_all
from ojs_aws.cli.verify.scales import FULL, LAMBDA_QUEUE, SMALL
from ojs_aws.cli.verify.site import Assertion, Outcome, Site, demand
from ojs_aws.domain.errors import BackendError
from ojs_aws.services.events import Commit, events_of
from tests.commands import run_command
from tests.jobs import any_job
from tests.load import HUNG_S
from tests.unit.cli.verify.stub import Stub, StubDeployments

DOCS = Path(__file__).parents[4] / "docs"


class Removable(StubDeployments):
    """Deployments that note their removal."""

    stacks: Any = type("Stacks", (), {"region": "eu-west-1", "account": "123456789012"})
    left: list[str]
    removals = 0

    def remove(self, say: Any) -> list[str]:
        type(self).removals += 1
        return self.left


@pytest.fixture
def site() -> Site:
    """A site that can be removed without a rest."""
    stub = Stub()
    deployments = Removable(stub)
    object.__setattr__(deployments, "left", [])
    Removable.removals = 0
    stub.site.deployments = deployments
    return stub.site


def verified(site: Site, path: Path, *runs: Assertion, patch: pytest.MonkeyPatch) -> Any:
    """Run these assertions; the exit code and the report."""
    patch.setattr(command, "assertions", lambda: [*runs])
    code = ExitCode.DONE
    try:
        command._verify(Output(as_json=True), site, path, 0.5)
    except typer.Exit as ended:
        code = ExitCode(ended.exit_code)
    return code, json.loads(path.read_text())


def passing(_: Site) -> str:
    return "seen by 123456789012"


def failing(_: Site) -> str:
    demand(False, "it is not so")
    return ""


def interrupted(_: Site) -> str:
    signal.raise_signal(signal.SIGTERM)
    return ""


FIRST = Assertion(name="first", section="s", proves="p", run=passing)


def test_a_run_that_passes_removes_everything(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, report = verified(site, tmp_path / "r.json", FIRST, patch=monkeypatch)
    assert (code, report["ok"], Removable.removals) == (ExitCode.DONE, True, 1)
    assert "123456789012" not in json.dumps(report)


@pytest.mark.parametrize(("run", "name"), [(failing, "then"), (interrupted, "interrupted")])
def test_a_run_that_fails_or_is_ended_removes_everything_too(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any, name: str
) -> None:
    then = replace(FIRST, name="then", run=run)
    code, report = verified(site, tmp_path / "r.json", FIRST, then, patch=monkeypatch)
    assert (code, report["ok"], Removable.removals) == (ExitCode.CHECK_FAILED, False, 1)
    assert report["results"][-1]["name"] == name


def test_a_run_that_leaves_something_is_not_well(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    object.__setattr__(site.deployments, "left", ["bucket b"])
    code, report = verified(site, tmp_path / "r.json", FIRST, patch=monkeypatch)
    assert (code, report["left"]) == (ExitCode.CHECK_FAILED, ["bucket b"])


def test_nothing_runs_after_a_failed_deployment_or_when_time_is_over() -> None:
    site = Stub().site
    seen: list[Result] = []
    failed = replace(FIRST, run=failing)
    run_all([failed, FIRST], site, site.clock() + 60, seen.append)
    assert len(seen) == 1
    run_all([FIRST], site, site.clock() - 1, seen.append)
    assert [each.name for each in seen[1:]] == ["time"]


def test_an_assertion_that_still_runs_when_time_is_over_is_cut_off() -> None:
    """So that the teardown begins; what waits in asyncio is cut off, too."""
    site = Stub().site
    site.clock = time.time
    for wait in (lambda: time.sleep(HUNG_S), lambda: asyncio.run(asyncio.sleep(HUNG_S))):
        seen: list[Result] = []

        def waits(_: Site, wait: Callable[[], None] = wait) -> str:
            wait()
            return "it ended"

        run_all([replace(FIRST, run=waits)], site, site.clock() + 0.2, seen.append)
        [result] = seen
        assert (result.outcome, "cut off" in result.seen) == (Outcome.FAILED, True)


def test_the_job_endpoint_gets_the_cases_of_senders_and_workers() -> None:
    """All cases that it is asked are served there; those of operators are not."""
    cases = cases_of_a_deployment()
    served = [case for case in cases if is_at_the_job_endpoint(case)]
    assert {case.level for case in cases} == {0, 1, 2, 3, 4}
    assert 50 < len(served) < len(cases)
    assert not [case.file for case in served if "dead-letter" in case.file]


def test_the_policy_has_what_each_assertion_needs() -> None:
    policy = json.loads(run_command("verify-aws", "--policy").stdout)
    deploying = deploy_policy(stack_of("*"), deletes_data=True)["Statement"]
    assert policy["Statement"][: len(deploying)] == deploying
    allowed = policy["Statement"][-1]["Action"]
    assert {action for each in command.assertions() for action in each.needs} <= {*allowed}


@pytest.mark.parametrize("option", [("--scale", "huge"), ("--teardown", "x"), ("--bill", "../etc")])
def test_wrong_options_are_refused(option: tuple[str, str]) -> None:
    assert run_command("verify-aws", *option).exit_code == ExitCode.USAGE


def test_a_run_costs_less_than_two_dollars() -> None:
    assert 0 < dollars(SMALL) < dollars(FULL) < 2


def test_a_run_that_may_cost_more_than_five_is_refused(site: Site) -> None:
    with pytest.raises(typer.Exit) as ended:
        command._agree(Output(as_json=True), site.deployments.stacks, 5.01, yes=True)
    assert ended.value.exit_code == ExitCode.FAILED


def test_keys_and_numbers_of_accounts_are_masked() -> None:
    text = f"arn:aws:sqs:eu-west-1:123456789012:q ojs_{'0' * 16}_{'x' * 43} 1234567890123"
    assert masked(text) == "arn:aws:sqs:eu-west-1:************:q ojs_... 1234567890123"


def test_an_emulator_has_both_urls_below_its_own() -> None:
    emulator = "http://127.0.0.1:4566"
    api = reached("https://a1.execute-api.us-east-1.amazonaws.com/", emulator)
    url = reached("https://b2.lambda-url.us-east-1.on.aws/", emulator)
    assert api == f"{emulator}/_aws/execute-api/a1/$default"
    assert url == f"{emulator}/_aws/lambda-url/b2"
    assert reached("https://a1.example.com/", None) == "https://a1.example.com"


@pytest.mark.parametrize(("ahead_s", "seen"), [(AHEAD_S, 1), (AHEAD_S + 0.001, 0)])
def test_events_of_the_load_are_read_although_this_clock_is_ahead(
    ahead_s: float, seen: int
) -> None:
    """Each event counts that the deployment dates a minute before the load, or later."""
    stub = Stub()
    world, site = stub.world, stub.deployed()
    record = world.backend.jobs.push(any_job("a.b", queue=LAMBDA_QUEUE)).record
    now = world.clock.now()
    world.events.append(events_of(None, record, Commit(now)), now)
    assert len([*_pages(site.gateway, now / 1000 + ahead_s)]) == seen


def test_the_documented_times_are_those_of_the_page() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (DOCS / "latency.md").read_text("utf-8").splitlines()
    ]
    times = {row[0]: [*map(_number, row[1:5])] for row in rows if len(row) == 5}
    assert times["Lambda worker"][:2] == [*DOCUMENTED_MS["push answered"]]
    for worker in ("Lambda worker", "HTTP worker, busy"):
        assert times[worker][2:] == [*DOCUMENTED_MS[worker]]


def _number(cell: str) -> int:
    digits = cell.replace(",", "")
    return int(digits) if digits.isdigit() else 0


def test_metrics_of_the_whole_account_are_shown_and_not_judged() -> None:
    stub = Stub()
    lines = {each.unit: each for each in compare(stub.deployed(), stub.loaded)}
    assert {unit for unit, each in lines.items() if not each.is_judged} == {
        "bus event",
        "KMS request",
    }
    assert "not only of this deployment" in str(lines["bus event"])


def test_the_page_lists_all_assertions() -> None:
    page = (DOCS / "verify.md").read_text("utf-8")
    table = page.partition("<!-- assertions -->\n")[2].partition("<!-- /assertions -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    listed = [[each.section, each.name, each.proves] for each in command.assertions()]
    assert rows == listed
    jobs = sum(phase.jobs for phase in FULL.phases)
    assert f"about ${dollars(FULL):.2f} in us-east-1" in page
    assert f"sends {jobs:,} jobs within ten minutes" in page


class Cloud:
    """Stacks, evidence and removal of an account where the bucket cannot be removed at first."""

    def __init__(self) -> None:
        self.there = {("stack", "OjsVerify-1"), ("table", "OjsVerify-1-T"), ("bucket", "b")}
        self.is_stuck, self.looks, self.settles = True, 0, 0
        self.stack = StackState(
            name="OjsVerify-1", status="UPDATE_IN_PROGRESS", reason="",
            parameters={}, outputs={}, template={}, tags={},
        )  # fmt: skip

    def state(self, name: str) -> object:
        return self.stack if ("stack", name) in self.there else None

    def settled(self, name: str) -> object:
        self.settles += 1
        return self.state(name)

    def delete(self, name: str) -> None:
        self.there.discard(("stack", name))

    def left(self, _stack: str, _prefix: str) -> Iterator[tuple[str, str]]:
        self.looks += 1
        yield from sorted(each for each in self.there if each[0] != "stack")

    def sleep(self, _seconds: float) -> None:
        self.is_stuck = False

    def table(self, name: str) -> None:
        self.there.discard(("table", name))

    def bucket(self, name: str) -> None:
        if self.is_stuck:
            raise BackendError("it is not empty")
        self.there.discard(("bucket", name))

    def remove_log_group(self, name: str) -> None:
        """There is none."""

    def queues(self, prefix: str) -> None:
        assert prefix == "ojs-verify-1__"


def test_a_teardown_goes_on_after_a_failure_and_says_what_is_left() -> None:
    """Run again, it removes the rest."""
    cloud: Any = Cloud()
    deployments = Deployments(
        run="1", stacks=cloud, evidence=cloud, removal=cloud, wanted=Wanted(stack="")
    )
    said: list[str] = []
    left = deployments.remove(said.append)
    assert left == ["the bucket b: it is not empty", "bucket b"]
    assert "removing the table OjsVerify-1-T" in said
    assert cloud.settles == 1  # an update that was cut off ends before: it cannot be deleted
    assert deployments.remove(said.append) == []
