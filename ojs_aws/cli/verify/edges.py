"""Asserts what no emulator shows: the edges of AWS's services that the design relies on."""

from __future__ import annotations

import gzip
import json
import secrets
from dataclasses import replace
from functools import partial
from typing import Final

from ojs_aws.adapters.evidence import Metric
from ojs_aws.cli.deployment.doctor import Verdict
from ojs_aws.cli.verify.scales import LAMBDA_QUEUE
from ojs_aws.cli.verify.site import (
    CREATED,
    OK,
    WORKER,
    Assertion,
    NotSoError,
    Site,
    SkippedError,
    asserts,
    demand,
)
from ojs_aws.domain.access import Scope
from ojs_aws.pricing import NEW_TABLE_PARTITIONS

STRANGE_PATHS: Final = ("jobs/a%2Fb", "jobs/%20%C3%A9", "jobs/no%20id", "nowhere")
SECOND: Final = 2
LARGE_BYTES: Final = 1_000_000
"""Bytes of a large argument: four such jobs are a body of nearly 6 MB in base64."""
TOO_LARGE_BYTES: Final = 7_000_000
TOO_LARGE: Final = 413
DOCUMENT_CHARACTERS: Final = 40_000
"""Characters of a random argument that is kept in S3."""
DEAD_AFTER_MS: Final = 2_000
SWITCHED_S: Final = 120.0
"""How long Lambda may take to switch a trigger, and to fire a cron job for the first time."""
CACHE_S: Final = 300
"""How long a gateway may go on to accept a revoked key (OJS_AUTH_CACHE_S)."""
LATE_S: Final = 5
"""Seconds of a minute in which a cron job of every second may not have fired."""
_REFUSED: Final = frozenset({401, 403})

EDGES: Final = list[Assertion]()
edge = partial(asserts, EDGES, "edges")


@edge(
    "strange requests", "encoded paths and packed bodies reach the functions unchanged at both URLs"
)
def answers_strange_requests(site: Site) -> str:
    """Send encoded paths and a compressed body to both URLs."""
    for door in site.doors:
        for path in STRANGE_PATHS:
            answer = door.ask("GET", path)
            seen = f"{path} at the {door.name}: {answer}"
            demand(answer.status in {400, 404} and answer.code, seen)
            for header in ("ojs-version", "x-request-id"):
                demand(answer.headers.get(header), f"no {header} of {path} at the {door.name}")
        job = {"type": "verify.job", "args": ["é"], "options": {"queue": site.queue("packed")}}
        packed = gzip.compress(json.dumps(job).encode())
        answer = door.ask("POST", "jobs", packed, {"Content-Encoding": "gzip"})
        demand(answer.status == CREATED, f"a packed body at the {door.name}: {answer}")
        demand(answer.json["job"]["args"] == job["args"], f"it came out as {answer}")
    return f"{len(STRANGE_PATHS)} paths and a packed body at {len(site.doors)} URLs"


@edge("large bodies", "4 MB are taken and 7 MB refused with 413 at both URLs")
def takes_large_bodies(site: Site) -> str:
    """Send a body of 4 MB, and one that is larger than Lambda takes."""
    for door in site.doors:
        queue = site.queue(f"large-{site.doors.index(door)}")
        jobs = [
            {"type": "verify.job", "args": ["x" * LARGE_BYTES], "options": {"queue": queue}}
            for _ in range(4)
        ]
        answer = door.ask("POST", "jobs/batch", {"jobs": jobs})
        demand(answer.status == CREATED, f"4 MB at the {door.name}: {answer}")
        answer = door.ask("POST", "jobs", {"type": "verify.job", "args": ["x" * TOO_LARGE_BYTES]})
        demand(answer.status == TOO_LARGE, f"7 MB at the {door.name}: {answer}")
    return "4 MB are taken, 7 MB are refused with 413"


@edge(
    "first use",
    "a queue that nobody declared is made at its first use",
    needs=(
        "sqs:ListQueues",
        "dynamodb:ListTables",
        "s3:ListAllMyBuckets",
        "logs:DescribeLogGroups",
    ),
)
def makes_queues(site: Site) -> str:
    """Use a queue that the template does not declare."""
    queue = site.queue("first-use")
    job = site.gateway.push(queue)
    found = site.eventually(lambda: site.gateway.fetch(queue), 30.0, "its job is fetched")
    demand([each["id"] for each in found] == [job["id"]], f"another job was fetched: {found}")
    made = [name for kind, name in site.evidence.left("-", site.outputs["QueuePrefix"])]
    demand(any("first-use" in name for name in made), f"no such SQS queue among {len(made)}")
    return "its SQS queue was made"


@edge(
    "pause by tag",
    "a pause switches the trigger of a Lambda worker off, and a resume on",
    needs=("lambda:ListEventSourceMappings",),
)
def pauses_triggers(site: Site) -> str:
    """Pause the Lambda worker's queue, and resume it."""
    for action, states in (("pause", {"Disabled", "Disabling"}), ("resume", {"Enabled"})):
        answer = site.gateway.ask("POST", f"queues/{LAMBDA_QUEUE}/{action}")
        demand(answer.status == OK, f"{action}: {answer}")

        def is_switched(states: set[str] = states) -> bool:
            return set(site.evidence.triggers(site.function(WORKER))) <= states

        site.eventually(is_switched, SWITCHED_S, f"the trigger is {' or '.join(sorted(states))}")
    return "its trigger was switched off and on"


@edge("each second", "Lambda does not stop a cron job of every second as a loop")
def fires_each_second(site: Site) -> str:
    """Let a cron job of every second run: a chain of invocations that Lambda must not stop."""
    name = queue = site.queue("each-second")
    template = {"type": "verify.job", "args": [], "options": {"queue": queue}}
    entry = {"name": name, "expression": "@every 1s", "job_template": template}
    answer = site.gateway.ask("POST", "cron", entry)
    demand(answer.status == CREATED, f"a cron job was answered with {answer}")

    def fired() -> int:
        listed = site.gateway.ask("GET", f"admin/jobs?queue={queue}&limit=200")
        demand(listed.status == OK, f"the list of jobs was answered with {listed}")
        return len(listed.json["jobs"])

    site.eventually(fired, SWITCHED_S, "it fires for the first time")
    site.sleep(site.scale.cron_s)
    count = fired()
    site.gateway.ask("DELETE", f"cron/{name}")
    most = site.scale.cron_s + LATE_S
    least = site.scale.cron_s - LATE_S if site.scale.is_judged else 2
    seen = f"it fired {count} times in {site.scale.cron_s} s"
    demand(least <= count <= most, seen)
    return seen


@edge(
    "missing document",
    "a job whose document is gone from S3 says so, and that a retry does not help",
    needs=("s3:ListBucket", "s3:DeleteObject"),
)
def misses_documents(site: Site) -> str:
    """Delete the document of a job from S3, and read the job."""
    text = secrets.token_hex(DOCUMENT_CHARACTERS // 2)
    job = site.gateway.push(site.queue("document"), args=[text])
    lost = site.evidence.lose_documents(site.outputs["BucketName"], job["id"])
    demand(lost, "its document is not in the bucket")
    answer = site.gateway.ask("GET", f"jobs/{job['id']}")
    error = answer.json.get("error", {})
    says = "missing" in str(error.get("message")) and error.get("retryable") is False
    demand(says, f"a job without its document was answered with {answer}")
    return str(error["message"])


@edge(
    "plain HTTP",
    "nothing answers without TLS",
    needs=("sqs:GetQueueAttributes", "s3:ListBucket"),
    not_emulated="the emulator serves plain HTTP",
)
def refuses_plain_http(site: Site) -> str:
    """Ask the URLs, SQS and S3 without TLS."""
    import httpx

    queue = site.outputs["QueueUrlPrefix"] + site.outputs["QueuePrefix"] + LAMBDA_QUEUE
    taken = site.evidence.takes_plain_http(queue, site.outputs["BucketName"])
    demand(not taken, f"answered over plain HTTP: {', '.join(taken)}")
    for door in site.doors:
        plain = replace(door, url=door.url.replace("https://", "http://"), key="")
        try:
            answer = plain.ask("GET", "health")
        except httpx.HTTPError:
            continue
        demand(answer.status != OK, f"the {door.name} answers over plain HTTP")
    return "refused by SQS, S3 and both URLs"


@edge("killed worker", "the job of a worker that vanished comes back as its second attempt")
def returns_killed_jobs(site: Site) -> str:
    """Claim a job and never report it, as a killed worker does."""
    queue = site.queue("killed")
    job = site.gateway.push(queue)
    site.gateway.fetch(queue, "killed", visibility_timeout_ms=DEAD_AFTER_MS)
    again = site.eventually(
        lambda: site.gateway.fetch(queue, "other"), 60.0, "another worker gets its job"
    )
    demand(again[0]["id"] == job["id"], f"another job came: {again}")
    demand(again[0]["attempt"] == SECOND, f"this is attempt {again[0]['attempt']}")
    return "another worker got its job as the second attempt"


@edge(
    "failed tick",
    "a tick that fails is not repeated, and the next one does its work",
    needs=(
        "lambda:GetFunctionEventInvokeConfig",
        "lambda:InvokeFunction",
        "cloudwatch:GetMetricStatistics",
    ),
    not_emulated="the emulator counts no failed invocations",
)
def survives_a_failed_tick(site: Site) -> str:
    """Let one tick fail: Lambda must not repeat it, and the next one must do its work."""
    tick = site.function("Tick")
    tries = site.evidence.tries_again(tick)
    demand(tries == 0, f"Lambda repeats a failed tick {tries} times")
    begun = site.clock() - 60
    errors = Metric(namespace="AWS/Lambda", name="Errors", dimensions={"FunctionName": tick})
    site.evidence.fail_once(tick)

    def failed() -> float:
        return site.evidence.total(errors, begun, site.clock() + 60)

    site.eventually(failed, site.scale.metrics_s, "CloudWatch counts the failed tick")
    site.sleep(site.scale.settle_s)
    demand(failed() == 1, f"{failed():.0f} invocations failed, not one")
    swept = [each for each in site.doctor(site.gateway) if each.check == "sweep"]
    demand(swept and swept[0].verdict is Verdict.OK, f"the sweep after it: {swept}")
    return swept[0].text


@edge(
    "revoked key",
    f"a revoked key is refused after {CACHE_S} s at the latest",
    needs=("dynamodb:PutItem", "dynamodb:GetItem"),
)
def revokes_keys(site: Site) -> str:
    """Revoke a key that the gateway knows, and note when it was accepted for the last time."""
    keys = site.keys(site.outputs["TableName"])
    key_id, text = keys.create(f"revoked {site.id}", [Scope.READ_ONLY])
    door = replace(site.gateway, key=text)
    demand(door.ask("GET", "queues").status == OK, "a new key is refused")
    keys.revoke(key_id)
    revoked_at = last = site.clock()
    while (status := door.ask("GET", "queues").status) not in _REFUSED:
        demand(status == OK, f"a revoked key was answered with {status}")
        last = site.clock()
        if last - revoked_at > site.scale.revoked_s:
            break
        site.sleep(LATE_S)
    else:
        return f"accepted for the last time {last - revoked_at:.0f} s after it was revoked"
    if site.scale.revoked_s < CACHE_S:
        raise SkippedError(f"the gateway's cache of {CACHE_S} s is longer than this scale waits")
    raise NotSoError(f"it is still accepted after {last - revoked_at:.0f} s")


@edge(
    "shards",
    f"a new table's stream has {NEW_TABLE_PARTITIONS} shards, as the calculator assumes",
    needs=("dynamodb:DescribeTable", "dynamodb:DescribeStream"),
    not_emulated="the emulator's streams have one shard",
)
def has_shards(site: Site) -> str:
    """Count the shards of the table's stream, which the calculator takes for granted."""
    shards = site.evidence.shards(site.outputs["TableName"])
    demand(shards == NEW_TABLE_PARTITIONS, f"{shards} shards, not {NEW_TABLE_PARTITIONS}")
    return f"{shards} shards"
