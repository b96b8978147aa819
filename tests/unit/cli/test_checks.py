"""The checks of a deployment: doctor and deploy-check."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from ojs_aws.cli.deployment.readiness import _template
from ojs_aws.cli.terminal.session import ExitCode, connect
from ojs_aws.client.transports import connection
from ojs_aws.client.transports.credentials import ApiKey, Credentials, chosen_credentials
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.queues import QueueSettings
from ojs_aws.services.events import Commit, events_of
from tests.simulation.world import World, count_changes
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import die


def test_doctor_finds_what_is_wrong(cli: Cli, world: World) -> None:
    """Here: the sweep never ran, clocks differ by months, a queue is paused, a worker is silent."""
    count_changes(world)
    cli.server.api.post("/workers/heartbeat", {"worker_id": "w1"})
    world.backend.queues.service.pause("default")
    world.clock.advance(s=600)
    die(cli, world, "email")
    findings = {each["check"]: each for each in cli.ask("doctor")["findings"]}
    assert findings["server"]["verdict"] == "ok"
    for check in ("sweep", "clock", "queue default", "workers", "dead letters"):
        assert findings[check]["verdict"] == "look", findings[check]
        assert findings[check]["hint"]


@pytest.mark.parametrize(("failed", "verdict"), [(9, "ok"), (10, None)])
def test_doctor_calls_failures_ok_only_with_what_is_normal(
    cli: Cli, world: World, failed: int, verdict: str | None
) -> None:
    """Where a queue fails, its own row says so, and no other row says ok."""
    count_changes(world)
    for _ in range(failed):
        job = world.backend.jobs.info(die(cli, world))
        before = replace(job, state=JobState.ACTIVE)
        world.backend.failures.record(events_of(before, job, Commit(world.clock.now())))
    findings = {each["check"]: each for each in cli.ask("doctor")["findings"]}
    row = findings.get("failures")
    assert (row["verdict"] if row else None) == verdict
    if row:
        assert row["text"].startswith("9 failed attempts in the last ")
        assert "No queue fails at present" in row["text"]
    else:
        assert "10 of 10 executions failed" in findings["queue default"]["text"]


def test_doctor_names_queues_with_too_many_lines_without_a_warning(cli: Cli, world: World) -> None:
    """It alone asks for that."""
    world.backend.lines["default"] = 16
    wide = QueueSettings(queue="default", revision=1, members={"ordering_shards": 16})
    world.queue_settings.save(QueueSettings(queue="default"), wide)
    rows = {each["check"]: each for each in cli.ask("doctor")["findings"]}
    assert rows["lines"]["verdict"] == "ok"
    assert "ojs-aws queues configure default ordering_shards=1" in rows["lines"]["text"]


def test_doctor_ends_with_a_code_of_its_own(cli: Cli) -> None:
    """Where something is bad; an unreachable server ends the checks."""
    cli.server.script = [httpx.ConnectError("refused")] * 9
    ran = cli.run("doctor", "--json")
    assert (ran.code, ran.json["ok"], len(ran.json["findings"])) == (
        ExitCode.CHECK_FAILED,
        False,
        1,
    )


def test_doctor_probes_the_stream_and_leaves_nothing_behind(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here nobody reads the table's changes."""
    monkeypatch.setattr("ojs_aws.cli.deployment.doctor.PROBE_S", 0.0)
    ran = cli.run("doctor", "--probe", "--json")
    assert ran.json["findings"][-1]["verdict"] == "bad"
    assert {job.state for job in world.stored.jobs.values()} == {"cancelled"}


def publish_changes(world: World, others: int = 0) -> None:
    """Publish each change of a job from now on, behind so many chunks of other jobs' events."""

    def publish(before: JobRecord | None, after: JobRecord | None) -> None:
        now = world.clock.now()
        events = events_of(before, after, Commit(now))
        for number in range(others):
            other = f"01990000-0000-7000-8000-{number:012d}"
            world.events.append([replace(each, subject=other) for each in events], now)
        world.events.append(events, now)

    world.follow_jobs(publish)


def test_doctor_sees_the_stream_of_a_server_whose_clock_is_behind(cli: Cli, world: World) -> None:
    """That the clocks differ is the finding of another check."""
    publish_changes(world)
    findings = {each["check"]: each for each in cli.ask("doctor", "--probe")["findings"]}
    assert findings["stream"]["verdict"] == "ok"
    assert findings["clock"]["verdict"] == "look"


def test_doctor_finds_its_event_behind_many_of_other_jobs(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One read looks at a part of the log: here at two chunks."""
    monkeypatch.setattr("ojs_aws.adapters.dynamodb.events.reader.MAX_QUERIES", 2)
    monkeypatch.setattr("ojs_aws.adapters.dynamodb.events.reader.CHUNKS", 1)
    publish_changes(world, others=5)
    findings = {each["check"]: each for each in cli.ask("doctor", "--probe")["findings"]}
    assert findings["stream"]["verdict"] == "ok"


def test_deploy_check_finds_an_open_api(cli: Cli) -> None:
    """The server of the tests is open to everybody."""
    ran = cli.run("deploy-check", "--json", "--url", "https://jobs.example.com")
    findings = {each["check"]: each["verdict"] for each in ran.json["findings"]}
    assert (ran.code, findings["access"], findings["transport"]) == (7, "bad", "ok")
    assert findings["test mode"] == "ok"


@pytest.mark.parametrize(
    ("host", "verdict"),
    [("localhost:8080", "look"), ("[::1]", "look"), ("localhost.example.com", "bad")],
)
def test_plain_http_is_bad_but_on_this_machine(cli: Cli, host: str, verdict: str) -> None:
    """A name that begins like this machine's is another one."""
    ran = cli.run("deploy-check", "--json", "--url", f"http://{host}")
    findings = {each["check"]: each["verdict"] for each in ran.json["findings"]}
    assert findings["transport"] == verdict


def test_deploy_check_without_a_key_says_what_to_do(cli: Cli) -> None:
    """As every other command that is refused."""
    refused = httpx.Response(401, json={"error": {"code": "unauthorized", "message": "No key."}})
    cli.server.script = [refused, refused]
    ran = cli.run("deploy-check", "--json", "--url", "https://jobs.example.com")
    findings = {each["check"]: each for each in ran.json["findings"]}
    assert findings["access"]["verdict"] == "ok"
    assert "OJS_API_KEY" in findings["settings"]["hint"]
    assert "ojs-aws keys create" in findings["settings"]["hint"]


@pytest.mark.parametrize("text", [None, "no json", "[]", "{}"])
def test_deploy_check_says_what_is_no_template(cli: Cli, tmp_path: Path, text: str | None) -> None:
    """Not there, no JSON, or something else."""
    path = tmp_path / "t.json"
    if text is not None:
        path.write_text(text)
    ran = cli.run("deploy-check", "--template", str(path))
    assert (ran.code, "t.json" in ran.err) == (ExitCode.USAGE, True)


def test_a_stranger_has_no_key_although_one_is_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As `deploy-check` asks, which would else find every closed API open."""
    monkeypatch.setenv("OJS_API_KEY", "secret")
    chosen: list[Credentials | None] = []

    def choose(*given: Any) -> Credentials | None:
        chosen.append(chosen_credentials(*given))
        return chosen[-1]

    monkeypatch.setattr(connection, "chosen_credentials", choose)
    connect("https://jobs.example.com", "")
    connect("https://jobs.example.com", "other")
    assert chosen == [None, ApiKey("other")]


def test_deploy_check_reads_a_template(cli: Cli, tmp_path: Path) -> None:
    """Alarms that reach nobody, and tables that nothing restores."""
    template = {
        "Resources": {
            "A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {}},
            "T": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": {"Replicas": [{}]}},
        }
    }
    found = {each.check: each.verdict for each in _template(template)}
    assert found == {"alarms": "bad", "logs": "ok", "tables": "look", "backups": "bad"}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(template))
    assert "reach nobody" in cli.run("deploy-check", "--template", str(path)).out


def test_deploy_check_finds_jobs_that_lambda_would_cut_short(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their declared timeouts; the hint names the service on ECS."""
    (tmp_path / "long_jobs.py").write_text(
        "from ojs_aws import Jobs, LambdaWorker\n"
        "jobs = Jobs()\n"
        "@jobs.job('video.encode', timeout='1h')\n"
        "def encode() -> None: ...\n"
        "worker = LambdaWorker(jobs)\n"
        "other = LambdaWorker(jobs, queues=['mail'])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    workers = ("--worker", "long_jobs:worker", "--worker", "long_jobs:other")
    found = {
        each["check"]: each for each in cli.run("deploy-check", "--json", *workers).json["findings"]
    }
    assert found["long_jobs:worker"]["verdict"] == "bad"
    assert "EcsWorkerService" in found["long_jobs:worker"]["hint"]
    assert found["long_jobs:other"]["verdict"] == "ok"
    assert cli.run("deploy-check", "--worker", "long_jobs:none").code == ExitCode.USAGE
