"""A restore, rehearsed on deployments: docs/operations-restore.md, step by step.

Jobs in every state are in the table of the first deployment; ``ojs-aws restore table`` makes a copy
of it, and a second deployment uses that one. It has queues of its own, which are empty, as if SQS
had lost everything, and every option that the first one lacks: an own KMS key, warm starts, alarms
by mail, and the export, which is read in the end.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import pytest

from infra.deployment import Deployment, deploy, destroy
from infra.emulator import Emulator
from ojs_aws.topology import DEAD_LETTERED_METRIC, METRICS, QUEUE_DIMENSION
from tests.e2e.steps import (
    cli,
    eventually,
    fetch,
    incompressible,
    job_of,
    log_lines,
    push,
    refusals,
    sending,
)
from tests.load import HUNG_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

STACK = "OjsRehearsal"
QUEUE = "backup"
LARGE = incompressible(700_000)
FAILURE = {"type": "Broken", "message": "it broke"}
ONCE = {"keys": ["type", "queue"], "period": "PT1H"}
STAY = {"completed", "cancelled"}
"""Jobs that are over, and stay so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What was in the table.

    :ivar jobs: ids by what the job is like.
    :ivar workflow: a chain of two steps, none of them done.
    """

    jobs: Mapping[str, str]
    workflow: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The deployment that uses the restored table, and what the steps on the way reported.

    :ivar sent: the report of ``ojs-aws restore messages``.
    """

    deployment: Deployment
    http: httpx.Client
    lost: Lost
    key: str
    sent: Mapping[str, Any]


def name(kind: str) -> str:
    """The queue of a kind of job: each has one, so that who fetches knows what it gets."""
    return f"{QUEUE}-{kind}"


def filled(http: httpx.Client) -> Lost:
    """Put jobs in every state into the first deployment's table."""
    jobs: dict[str, str] = {}

    def pushed(kind: str, **members: Any) -> None:
        jobs[kind] = push(http, name(kind), **members)["id"]

    def taken(kind: str, **more: object) -> dict[str, Any]:
        body = {"queues": [name(kind)], "worker_id": "lost", **more}
        (job,) = http.post("workers/fetch", json=body).raise_for_status().json()["jobs"]
        assert job["id"] == jobs[kind]
        return {"job_id": job["id"], "worker_id": "lost"}

    pushed("available", args=[2**70, "☃"], priority=7)
    pushed("in-an-item", args=[incompressible(20_000)])
    pushed("in-s3", args=[LARGE])
    pushed("paused")
    http.post(f"queues/{name('paused')}/pause").raise_for_status()
    pushed("pending", options={"pending": True})
    pushed("due", options={"scheduled_at": "+PT10S"})
    pushed("later", options={"scheduled_at": "+PT14M"})
    pushed("unique", options={"unique": ONCE})
    pushed("limited", options={"rate_limit": {"key": name("limit"), "concurrency": 1}})
    taken("limited", heartbeat_interval_ms=5000)
    pushed("active")
    taken("active", heartbeat_interval_ms=5000)
    pushed("retryable", retry={"initial_interval": "PT10S", "jitter": False})
    pushed("dead", retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    for kind in ("retryable", "dead"):
        nack = taken(kind) | {"error": FAILURE}
        http.post("workers/nack", json=nack).raise_for_status()
    pushed("completed")
    http.post("workers/ack", json=taken("completed") | {"result": {"n": 1}}).raise_for_status()
    pushed("cancelled")
    http.delete(f"jobs/{jobs['cancelled']}").raise_for_status()
    steps = [{"type": "e2e.step", "args": [n], "queue": name("steps")} for n in range(2)]
    chain = http.post("workflows", json={"type": "chain", "name": "two", "steps": steps})
    cron = {"name": "backup", "cron": "0 3 1 1 *", "type": "e2e.job", "args": []}
    http.post("cron", json=cron).raise_for_status()
    jobs["lambda"] = push(
        http, "demo", type="demo.echo", args=["x"], options={"scheduled_at": "+PT5S"}
    )["id"]
    return Lost(jobs=jobs, workflow=chain.raise_for_status().json()["id"])


def options(emulator: Emulator) -> dict[str, str]:
    """What can be said to the app and the first deployment does not say.

    Snapshots need functions of Python 3.12, and the emulator has the Python of this machine.
    """
    key = boto3.client("kms", **emulator.client_settings()).create_key()["KeyMetadata"]["Arn"]
    version = tuple(int(part) for part in emulator.target().python.split("."))
    return {
        "encryption_key": key,
        "start": "snapstart" if version >= (3, 12) else "1",
        "alarm_email": "ops@example.com",
        "export_days": "30",
        "export_documents": "true",
    }


def copy_documents(emulator: Emulator, source: str, target: str) -> None:
    """What a second deployment lacks; one that is given the restored table has its own bucket."""
    s3 = boto3.client("s3", **emulator.client_settings())
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=source):
        for each in page.get("Contents", []):
            s3.copy({"Bucket": source, "Key": each["Key"]}, target, each["Key"])


@pytest.fixture(scope="module")
def rehearsal(
    emulator: Emulator, deployment: Deployment, http: httpx.Client, api_key: str
) -> Iterator[Rehearsal]:
    """Restore the first deployment's table under another name, and deploy again with it."""
    lost = filled(http)
    table = deployment.outputs["TableName"]
    restored = cli(emulator, deployment, api_key, "restore", "table", table, "ojs-restored")
    context = {
        "auth": "api-key",
        "prefix": "rehearsal",
        "restored_table": restored["table"],
        "restored_stream": restored["stream_arn"],
    }
    again = deploy(emulator, print, context | options(emulator), STACK)
    print(f"seconds: {dict(again.seconds)}")
    copy_documents(emulator, deployment.outputs["BucketName"], again.outputs["BucketName"])
    asked = ("restore", "messages")
    counted = cli(emulator, again, api_key, *asked, "--dry-run")
    sent = cli(emulator, again, api_key, *asked)
    assert {**counted, "dry_run": False} == sent
    with sending(again, api_key) as client:
        yield Rehearsal(deployment=again, http=client, lost=lost, key=api_key, sent=sent)
    destroy(emulator, STACK)


def test_restored_jobs_get_their_messages(emulator: Emulator, rehearsal: Rehearsal) -> None:
    """The queues were empty: each job that may run has a message, and the later one a late one."""
    assert {name(kind) for kind in ("available", "later", "in-s3")} <= set(rehearsal.sent["queues"])
    assert rehearsal.sent["paused"] == 1
    assert rehearsal.sent["workflows"] >= 1
    sqs = boto3.client("sqs", **emulator.client_settings())

    def messages(kind: str) -> tuple[int, int]:
        url = f"{rehearsal.deployment.outputs['QueueUrlPrefix']}rehearsal__{name(kind)}"
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        visible = int(found["ApproximateNumberOfMessages"])
        return visible, int(found["ApproximateNumberOfMessagesDelayed"])

    assert messages("available") == (1, 0)
    assert messages("later") == (0, 1)


def test_every_job_of_the_lost_table_completes(emulator: Emulator, rehearsal: Rehearsal) -> None:
    """Whatever it was in; what was over stays so, and what is due later waits."""
    http, jobs = rehearsal.http, rehearsal.lost.jobs
    for kind in STAY:
        assert job_of(http, jobs[kind])["state"] == kind
    assert job_of(http, jobs["completed"])["result"] == {"n": 1}
    assert job_of(http, jobs["in-s3"])["args"] == [LARGE]
    assert http.get("cron/backup").status_code == 200
    again = {"type": "e2e.job", "args": [], "options": {"queue": name("unique"), "unique": ONCE}}
    assert http.post("jobs", json=again).status_code == 409

    cli(emulator, rehearsal.deployment, rehearsal.key, "queues", "resume", name("paused"))
    http.post(f"jobs/{jobs['pending']}/activate").raise_for_status()
    http.post(f"dead-letter/{jobs['dead']}/retry").raise_for_status()
    waiting = set(jobs) - STAY - {"later", "lambda"}
    give_up_at = time.monotonic() + HUNG_S
    steps = 0
    while waiting or steps < 2:
        assert time.monotonic() < give_up_at, f"still not completed: {waiting}, {steps} steps"
        for job in _fetched(http, [*map(name, sorted(waiting)), name("steps")]):
            ack = {"job_id": job["id"], "worker_id": "w"}
            http.post("workers/ack", json=ack).raise_for_status()
            steps += job["queue"] == name("steps")
            waiting -= {kind for kind in waiting if jobs[kind] == job["id"]}
        time.sleep(0.2)
    ended = set(jobs) - {"cancelled", "later"}
    eventually(
        lambda: all(job_of(http, jobs[kind])["state"] == "completed" for kind in ended),
        "every job completed, the Lambda worker's included",
    )
    assert job_of(http, jobs["later"])["state"] == "scheduled"
    assert job_of(http, jobs["active"])["attempt"] == 2
    flow = f"workflows/{rehearsal.lost.workflow}"
    eventually(lambda: http.get(flow).json()["state"] == "completed", "the workflow completed")


def _fetched(http: httpx.Client, queues: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for first in range(0, len(queues), 5):
        body = {"queues": queues[first : first + 5], "worker_id": "w", "count": 10}
        answer = http.post("workers/fetch", json=body).raise_for_status()
        found += answer.json()["jobs"]
    return found


def test_what_was_completed_is_in_the_export(emulator: Emulator, rehearsal: Rehearsal) -> None:
    """A compressed file for each day and queue, a line for each job, with what it was about."""
    s3 = boto3.client("s3", **emulator.client_settings())
    bucket = rehearsal.deployment.outputs["ExportBucketName"]
    kind = "in-an-item"
    job = job_of(rehearsal.http, rehearsal.lost.jobs[kind])
    prefix = f"jobs/date={job['completed_at'][:10]}/queue={name(kind)}/"

    def files() -> list[str]:
        found = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
        return [each["Key"] for each in found]

    (key,) = eventually(files, "a file of the job's day and queue")
    assert key.endswith(".jsonl.gz")
    text = gzip.decompress(s3.get_object(Bucket=bucket, Key=key)["Body"].read()).decode()
    (line,) = text.splitlines()
    row = json.loads(line)
    assert (row["id"], row["state"], row["queue"]) == (
        job["id"],
        "completed",
        name(kind),
    )
    assert row["args"] == [incompressible(20_000)]
    assert row["ended_at"] == job["completed_at"]


def test_an_alarm_reaches_its_subscriber(emulator: Emulator, rehearsal: Rehearsal) -> None:
    """A dead letter in a declared queue rings, and what is sent names the runbook to read.

    The emulator makes no metrics of log lines: the test hands it the one that is in the log.
    """
    settings = emulator.client_settings()
    sns, sqs = boto3.client("sns", **settings), boto3.client("sqs", **settings)
    (mail,) = [
        each
        for each in sns.list_subscriptions()["Subscriptions"]
        if (each["Protocol"], each["Endpoint"]) == ("email", "ops@example.com")
    ]
    heard = sqs.create_queue(QueueName="heard")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=heard, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    allowed = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn,
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    sqs.set_queue_attributes(QueueUrl=heard, Attributes={"Policy": policy})
    sns.subscribe(TopicArn=mail["TopicArn"], Protocol="sqs", Endpoint=arn)

    http = rehearsal.http
    job = push(http, "default", retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    assert fetch(http, "default")["id"] == job["id"]
    nack = {"job_id": job["id"], "worker_id": "e2e", "error": FAILURE}
    http.post("workers/nack", json=nack).raise_for_status()
    metric = eventually(lambda: metric_in(log_lines(emulator)), "the metric in the log")
    cloudwatch = boto3.client("cloudwatch", **settings)
    cloudwatch.put_metric_data(Namespace=METRICS, MetricData=[metric])

    text = "Jobs became dead letters. Runbook: docs/operations.md#dead-letters"

    def has_rung() -> bool:
        found = sqs.receive_message(QueueUrl=heard, MaxNumberOfMessages=10).get("Messages", [])
        alarms = [json.loads(json.loads(each["Body"])["Message"]) for each in found]
        return ("ALARM", text) in {
            (each["NewStateValue"], each["AlarmDescription"]) for each in alarms
        }

    eventually(has_rung, "the topic's message about the alarm")


def metric_in(lines: list[str]) -> Any:
    """A dead letter, of whatever queue, as a metric, which CloudWatch makes of such a line."""
    for line in lines:
        if DEAD_LETTERED_METRIC not in line or STACK not in line:
            continue
        logged = json.loads(line)
        (described,) = logged["_aws"]["CloudWatchMetrics"]
        (names,) = described["Dimensions"]
        if DEAD_LETTERED_METRIC in logged and QUEUE_DIMENSION not in logged:
            return {
                "MetricName": DEAD_LETTERED_METRIC,
                "Dimensions": [{"Name": each, "Value": logged[each]} for each in names],
                "Value": 1,
            }
    return None


def test_each_function_of_the_api_is_called_by_its_warm_alias(
    emulator: Emulator, rehearsal: Rehearsal
) -> None:
    """The four of the API and the authorizer; all answers above came by it."""
    functions = boto3.client("lambda", **emulator.client_settings())
    names = [each["FunctionName"] for each in functions.list_functions()["Functions"]]
    warm = [
        alias["Name"]
        for each in names
        if each.startswith(STACK)
        for alias in functions.list_aliases(FunctionName=each)["Aliases"]
    ]
    assert warm == ["live"] * 5
    assert rehearsal.deployment.outputs["QueuePrefix"] == "rehearsal__"


def test_no_function_was_refused_anything_with_these_options(
    emulator: Emulator, rehearsal: Rehearsal
) -> None:
    """The roles suffice for the restored table, the export and the alias that starts warm."""
    assert rehearsal.deployment.outputs["TableName"] == "ojs-restored"
    assert not refusals(emulator)
