"""Alarms and the dashboard: each alarm says what to read, and the page has it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk.aws_logs import RetentionDays

from ojs_aws.cdk import (
    DeliveryFunction,
    DeliveryFunctionProps,
    EventJobs,
    EventJobsProps,
    EventRule,
    ExportOptions,
    JobBackend,
    JobBackendProps,
    OutboxRelayFunction,
    OutboxRelayFunctionProps,
)
from ojs_aws.pricing import Workload, estimate
from ojs_aws.pricing.estimate import ALARMS, BACKUP_DAYS
from ojs_aws.topology import AGE_METRIC, DEAD_LETTERED_METRIC, METRICS, SUSPENDED_METRIC
from tests.infra.conftest import NO_BUNDLING
from tests.infra.templates import of_backend, of_stack

DOCS = Path(__file__).resolve().parents[2] / "docs"
JOBS, PLATFORM = (DOCS / name for name in ("operations.md", "operations-platform.md"))


def runbooks() -> set[str]:
    """Return the address of each runbook of the two pages."""
    jobs = JOBS.read_text("utf-8").partition("## When an alarm rings")[2]
    platform = PLATFORM.read_text("utf-8")
    named = [(JOBS, title) for title in re.findall(r"^### (.+)$", jobs, re.MULTILINE)]
    named += [(PLATFORM, title) for title in re.findall(r"^## (.+)$", platform, re.MULTILINE)]
    return {f"{page.name}#{title.lower().replace(' ', '-')}" for page, title in named}


def test_every_alarm_has_a_runbook() -> None:
    """Its description names page and section; no runbook is left over."""
    named = set()
    scope = Stack(App(context=NO_BUNDLING), "S")
    props = JobBackendProps(queues=["default", "email"], export=ExportOptions(), job_endpoint=True)
    JobBackend(scope, "Jobs", props).allow_targets({"shop": {"queues": ["email"], "types": []}})
    for alarm in of_stack(scope).of("AWS::CloudWatch::Alarm"):
        found = re.search(r"Runbook: docs/([a-z.#-]+)$", alarm["AlarmDescription"])
        assert found, alarm["AlarmDescription"]
        named.add(found[1])
    assert named == runbooks()


def test_all_that_joins_a_backend_has_its_topic_and_its_logs(
    tmp_path: Path,
) -> None:
    """An alarm that nobody hears is none; and who keeps logs for a week means all of them."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    week = RetentionDays.ONE_WEEK
    topic, secret = sns.Topic(scope, "Topic"), secretsmanager.Secret(scope, "Secret")
    props = JobBackendProps(queues=["email"], alarm_topic=topic, log_retention=week)
    backend = JobBackend(scope, "Jobs", props)
    rules = [EventRule(source="shop", type="paid", job_type="order.confirm")]
    EventJobs(scope, "Events", EventJobsProps(backend=backend, rules=rules))
    key = ecs.Secret.from_secrets_manager(secret)
    relayed = OutboxRelayFunctionProps(
        backend=backend, database="sqlite://", password=key, code_dir=tmp_path
    )
    OutboxRelayFunction(scope, "Relay", relayed)
    delivered = DeliveryFunctionProps(
        backend=backend, queues=["email"], url="https://app.example.com", signing_secret=key
    )
    DeliveryFunction(scope, "Delivery", delivered)
    template = of_stack(scope)
    found = template.of("AWS::CloudWatch::Alarm")
    assert [each["AlarmDescription"] for each in found if not each.get("AlarmActions")] == []
    assert {each["RetentionInDays"] for each in template.of("AWS::Logs::LogGroup")} == {7}


def test_bindings_are_watched_where_there_are_some() -> None:
    """Once, with the topic of the others; a deployment without them pays for no alarm."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    queues = ["email", "sms"]
    props = JobBackendProps(queues=queues, alarm_topic=sns.Topic(scope, "Topic"))
    backend = JobBackend(scope, "Jobs", props)
    for queue in queues:
        backend.allow_targets({queue: {"queues": [queue], "types": []}})
    found = of_stack(scope).of("AWS::CloudWatch::Alarm")
    (alarm,) = [each for each in found if each["MetricName"] == SUSPENDED_METRIC]
    others = [each for each in found if each["MetricName"] != SUSPENDED_METRIC]
    assert (alarm["Namespace"], alarm["Threshold"]) == (METRICS, 1)
    assert [each["Name"] for each in alarm["Dimensions"]] == ["service"]
    assert alarm["AlarmActions"] == alarm["OKActions"] == others[0]["AlarmActions"]
    assert all(len(each["AlarmActions"]) == 1 for each in others)
    alarms = of_backend(queues=["email"]).of("AWS::CloudWatch::Alarm")
    assert SUSPENDED_METRIC not in {each["MetricName"] for each in alarms}


def test_what_the_issue_names_is_watched() -> None:
    """Old jobs and dead letters of all queues, sweep, stream, throttles, errors, concurrency."""
    alarms = of_backend(queues=["default", "email"], queue_alarms=["email"]).of(
        "AWS::CloudWatch::Alarm"
    )
    for metric in (AGE_METRIC, DEAD_LETTERED_METRIC):
        watched = [each for each in alarms if each["MetricName"] == metric]
        assert {each["Namespace"] for each in watched} == {METRICS}
        of_all, of_one = [
            {each["Name"]: each["Value"] for each in alarm["Dimensions"]} for alarm in watched
        ]
        assert set(of_all) == {"service"}
        assert of_one == {**of_all, "queue": "email"}
    names = {each["MetricName"] for each in alarms}
    assert names >= {
        "SweepLag",
        "SweepLeft",
        "BatchesLost",
        "UndeclaredQueues",
        "EventsSetAside",
        "EventsLag",
        "IteratorAge",
        "ApproximateNumberOfMessagesVisible",
        "Errors",
        "5xx",
        "WriteThrottleEvents",
        "ConcurrentExecutions",
        "Throttles",
    }
    assert not any("Metrics" in each for each in alarms)  # emulators know no metric math in alarms


def test_the_number_of_undeclared_queues_is_watched_where_there_are_some() -> None:
    """At four fifths of what the settings allow."""
    settings = {"OJS_MAX_UNDECLARED_QUEUES": "50"}
    for props, thresholds in (
        ({}, [800]),
        ({"settings": settings}, [40]),
        ({"allow_undeclared_queues": False}, []),
    ):
        alarms = of_backend(**props).of("AWS::CloudWatch::Alarm")
        watched = [each for each in alarms if each["MetricName"] == "UndeclaredQueues"]
        assert [each["Threshold"] for each in watched] == thresholds


def test_a_queue_without_metrics_of_its_own_has_no_alarm() -> None:
    """One that is not declared may be counted with others."""
    with pytest.raises(ValueError, match="mail"):
        of_backend(queues=["default"], queue_alarms=["mail"])


def test_the_estimate_of_costs_knows_the_alarms_of_the_stack() -> None:
    """However many queues there are; a job endpoint has one more."""
    for queues in (["default"], ["a", "b", "c"]):
        assert len(of_backend(queues=queues).of("AWS::CloudWatch::Alarm")) == ALARMS
    asked = of_backend(job_endpoint=True).of("AWS::CloudWatch::Alarm")
    endpoint, gateway = (
        next(line.amount for line in estimate(each) if line.what == "alarms")
        for each in (Workload(uses_gateway=False), Workload())
    )
    assert (endpoint, gateway) == (len(asked), ALARMS)


def test_a_topic_gets_every_alarm() -> None:
    """When it rings, and when it is over; without a topic nobody is."""
    scope = Stack(App(context=NO_BUNDLING), "Mine")
    JobBackend(scope, "Jobs", JobBackendProps(alarm_topic=sns.Topic(scope, "Topic")))
    for alarm in of_stack(scope).of("AWS::CloudWatch::Alarm"):
        (action,) = alarm["AlarmActions"]
        assert alarm["OKActions"] == [action]
    assert not any("AlarmActions" in each for each in of_backend().of("AWS::CloudWatch::Alarm"))


def test_the_estimate_keeps_deleted_documents_as_long_as_the_bucket() -> None:
    (bucket,) = [
        each for each in of_backend().of("AWS::S3::Bucket") if "LifecycleConfiguration" in each
    ]
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]
    assert rule["NoncurrentVersionExpiration"]["NoncurrentDays"] == BACKUP_DAYS


def test_the_dashboard_shows_jobs_of_every_queue_there_is() -> None:
    """By searches. Without being asked for there is none: it costs $3 a month."""
    (dashboard,) = of_backend(has_dashboard=True).of("AWS::CloudWatch::Dashboard")
    body = json.dumps(dashboard["DashboardBody"])
    for shown in ("ojs.job.enqueued", "ojs.job.duration", AGE_METRIC, "SEARCH(", "IteratorAge"):
        assert shown in body
    assert not of_backend().of("AWS::CloudWatch::Dashboard")


def test_the_dashboard_shows_every_function_of_the_backend() -> None:
    """The authorizer, which each request waits for, and the export, too."""
    whole = of_backend(export=ExportOptions(), has_dashboard=True, job_endpoint=True)
    (dashboard,) = whole.of("AWS::CloudWatch::Dashboard")
    body = json.dumps(dashboard["DashboardBody"])
    for function in whole.of("AWS::Lambda::Function"):
        if function["Handler"].startswith("functions."):
            assert whole.logical_id("AWS::Lambda::Function", function) in body, function["Handler"]
