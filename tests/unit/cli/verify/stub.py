"""A deployment that works, each part of which can be broken.

Its services are in memory, behind two URLs, and its AWS answers what a healthy one answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from ojs_aws.adapters.evidence import Evidence, Metric
from ojs_aws.adapters.stacks import Change
from ojs_aws.cli.deployment.doctor import Finding, Verdict
from ojs_aws.cli.verify.assertions import doors
from ojs_aws.cli.verify.bill import expected
from ojs_aws.cli.verify.deployments import Deployed, Deployments
from ojs_aws.cli.verify.scales import FULL, LAMBDA_QUEUE, POLLED_QUEUE, Loaded, Phase, Sent
from ojs_aws.cli.verify.site import WORKER, Door, Keys, Site
from ojs_aws.cli.verify.wiring_assertions import ROLES, rights_of
from ojs_aws.topology import LAG_METRIC, LEFT_METRIC, METRICS
from tests.simulation.account import BUCKET
from tests.simulation.world import World
from tests.unit.client.doubles import ApiServer

Respond = Callable[[httpx.Request, httpx.Response], httpx.Response]
ALARMS = {
    "Late": Metric(namespace=METRICS, name=LAG_METRIC, dimensions={"service": "Tick-1"}),
    "Left": Metric(namespace=METRICS, name=LEFT_METRIC, dimensions={"service": "Tick-1"}),
}
RESOURCES = {
    **{
        f"{'' if part == WORKER else 'Backend'}{part}12345678": (
            "AWS::Lambda::Function",
            f"{part}-1",
        )
        for part in ROLES
    },
    **{name: ("AWS::CloudWatch::Alarm", name) for name in ALARMS},
    "Api": ("AWS::ApiGatewayV2::Api", "api"),
}
BILLED = {
    "ConsumedWriteCapacityUnits": "write unit",
    "ConsumedReadCapacityUnits": "read unit",
    "NumberOfMessagesSent": "SQS request",
    "Invocations": "Lambda request",
    "Duration": "Lambda GB-second",
    "Count": "HTTP API request",
    "IncomingBytes": "log GB",
}
FIRST_OF = {"TableName": "table", "QueueName": "ojs__demo", "FunctionName": "Producer-1"}
SCALE_OF = {"Duration": 1000.0, "IncomingBytes": 1e9}


class StubEvidence(Evidence):
    """An AWS that says what a deployment is like that works."""

    stub: Stub

    def __init__(self, stub: Stub) -> None:
        object.__setattr__(self, "stub", stub)

    def drifted(self, stack: str) -> list[str]:
        return self.stub.drift

    def watched(self, alarms: Sequence[str]) -> list[Metric]:
        return [replace(ALARMS[name], watched_by=name) for name in alarms]

    def is_published(self, metric: Metric) -> bool:
        return metric.name in self.stub.published

    def total(self, metric: Metric, since: float, until: float) -> float:
        """The units that the calculator expects, at the first place where they are counted."""
        if metric.name == "Errors":
            return float(self.stub.failures)
        unit = BILLED.get(metric.name)
        if unit is None or "GlobalSecondaryIndexName" in metric.dimensions:
            return 0.0
        if any(metric.dimensions.get(name, each) != each for name, each in FIRST_OF.items()):
            return 0.0
        units = expected(self.stub.loaded)[unit] * SCALE_OF.get(metric.name, 1.0)
        return units * self.stub.billed.get(unit, 1.0)

    def role(self, function: str) -> str:
        return function.removesuffix("-1")

    def settings(self, function: str) -> Mapping[str, Any]:
        return {"MemorySize": 1024}

    def allowed(
        self, role: str, actions: Sequence[str], resource: str, partition: str = ""
    ) -> frozenset[str]:
        rights = rights_of(self.stub.site, ROLES[role])
        [right] = [it for it in rights if (it.resource, it.partition) == (resource, partition)]
        return (right.actions | self.stub.excess) & frozenset(actions)

    def table_arn(self, table: str) -> str:
        return f"arn:aws:dynamodb:eu-west-1:123456789012:table/{table}"

    def shards(self, table: str) -> int:
        return self.stub.shards

    def lose_documents(self, bucket: str, job_id: str) -> int:
        s3 = self.stub.world.aws.s3
        listed = s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())
        keys = [each["Key"] for each in listed if job_id in each["Key"]]
        for key in keys:
            s3.delete_object(Bucket=BUCKET, Key=key)
        return len(keys)

    def triggers(self, function: str) -> list[str]:
        answer = self.stub.site.gateway.ask("GET", f"queues/{LAMBDA_QUEUE}")
        is_paused = answer.json["queue"]["status"] == "paused"
        return ["Disabled" if is_paused and self.stub.switches else "Enabled"]

    def tries_again(self, function: str) -> int:
        return self.stub.tries

    def fail_once(self, function: str) -> None:
        self.stub.failures += 1 + self.stub.tries

    def takes_plain_http(self, queue_url: str, bucket: str) -> list[str]:
        return self.stub.plain

    def left(self, stack: str, prefix: str) -> Iterator[tuple[str, str]]:
        if self.stub.makes_queues:
            yield from (("queue", name) for name in self.stub.world.aws.queues.queues)


class StubDeployments(Deployments):
    """Deployments that end as they should."""

    stub: Stub

    def __init__(self, stub: Stub) -> None:
        object.__setattr__(self, "stub", stub)

    @property
    def stack(self) -> str:
        return "OjsVerify-1"

    def deploy(self, parameters: Mapping[str, str], queues: Sequence[str] = ()) -> Deployed:
        stub = self.stub
        return Deployed(status=stub.status, changes=stub.changes, problem=stub.problem)

    def outputs(self) -> Mapping[str, str]:
        return {
            "TableName": "table",
            "BucketName": BUCKET,
            "QueuePrefix": "ojs__",
            "QueueUrlPrefix": "https://sqs/1/",
            "ApiUrl": "https://gateway",
            "JobEndpointUrl": "https://endpoint",
        }

    def resources(self) -> dict[str, tuple[str, str]]:
        return RESOURCES


def loaded_of(waits_ms: Sequence[int] = (50, 60)) -> Loaded:
    """What a load did in which all went well: a job of each queue, one of a vanished worker."""
    phase = Phase(rate=2, seconds=1, polled=0.5)
    loaded = Loaded(phases=[phase], since=1_760_000_000.0, until=1_760_000_030.0, lag="1 s")
    loaded.functions, loaded.log_groups = {"Producer-1": 1024}, ["log"]
    lives = {
        "a": ("job.enqueued", "job.started", "job.completed"),
        "b": ("job.enqueued", "job.started", "job.failed", "job.enqueued", "job.started",
              "job.completed"),
        "c": ("job.enqueued", "job.started", "job.completed"),
    }  # fmt: skip
    for at, job_id in enumerate(lives):
        loaded.sent[job_id] = Sent(0, LAMBDA_QUEUE if at == 0 else POLLED_QUEUE, 40.0)
    wait = waits_ms[0]
    loaded.events = {
        job_id: [(kind, 1000.0 + wait * at) for at, kind in enumerate(kinds)]
        for job_id, kinds in lives.items()
    }
    loaded.killed.add("b")
    return loaded


@dataclass
class Stub:
    """What of the deployment can be broken.

    :ivar respond: changes answers of the two URLs.
    :ivar works: whether a Lambda worker runs the jobs of its queue.
    :ivar fires: how many seconds a cron job of every second fires.
    """

    world: World = field(default_factory=World)
    respond: Respond = lambda _, answer: answer
    drift: list[str] = field(default_factory=list)
    published: set[str] = field(default_factory=lambda: {LAG_METRIC})
    billed: dict[str, float] = field(default_factory=dict)
    excess: frozenset[str] = frozenset()
    shards: int = 4
    switches: bool = True
    tries: int = 0
    failures: int = 0
    plain: list[str] = field(default_factory=list)
    makes_queues: bool = True
    works: bool = True
    fires: int = 1000
    cache_s: float = 60.0
    status: str = "CREATE_COMPLETE"
    changes: list[Change] = field(default_factory=list)
    problem: str = ""
    findings: list[Finding] = field(
        default_factory=lambda: [
            Finding("sweep", Verdict.OK, "a minute ago"),
            Finding("stream", Verdict.OK, "published a change after 1.0 s"),
        ]
    )
    loaded: Loaded = field(default_factory=loaded_of)
    revoked: dict[str, float] = field(default_factory=dict)
    is_pushed: bool = False

    def __post_init__(self) -> None:
        """Put the site together."""
        self.server = ApiServer(self.world)
        self.site = Site(
            id="1",
            scale=replace(FULL, every_case=20, judged_phase=0, workers=1),
            is_emulated=False,
            evidence=StubEvidence(self),
            deployments=StubDeployments(self),
            open_door=self._door,
            keys=lambda _: Keys(lambda name, _: (name, name), self._revoke),
            doctor=lambda _: self.findings,
            load=lambda _: self.loaded,
            sleep=self._sleep,
            clock=lambda: self.world.clock.at / 1000,
        )

    def deployed(self) -> Site:
        """The site after the assertions before."""
        self.site.outputs = self.site.deployments.outputs()
        self.site.resources = self.site.deployments.resources()
        self.site.doors = doors(self.site, "key")
        self.site.loaded = self.loaded
        return self.site

    def _door(self, name: str, url: str, key: str | None) -> Door:
        transport = httpx.MockTransport(self._handle)
        sign = None if key else lambda *_: {"Authorization": "signed"}
        return Door(name, url, httpx.Client(transport=transport), key or "", sign)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        if request.url.scheme == "http":
            raise httpx.ConnectError("refused")
        self.is_pushed |= request.url.path.endswith("/jobs")
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        revoked_at = self.revoked.get(key)
        if revoked_at is not None and self.site.clock() > revoked_at + self.cache_s:
            return httpx.Response(401)
        return self.respond(request, self.server.handle(request))

    def _revoke(self, key_id: str) -> None:
        self.revoked[key_id] = self.site.clock()

    def _sleep(self, seconds: float) -> None:
        """Let time pass, second by second, and what happens meanwhile."""
        left = seconds
        while left > 0:
            self.world.clock.advance(s=min(left, 1.0))
            left -= 1.0
            for name in self.world.ringing():
                self.fires -= 1
                if self.fires >= 0:
                    self.world.backend.cron.scheduler.fire(name)
            if self.works and self.is_pushed:
                self.is_pushed = False
                for job in self.site.gateway.fetch(LAMBDA_QUEUE, "lambda"):
                    ack = {"job_id": job["id"], "worker_id": "lambda"}
                    self.site.gateway.ask("POST", "workers/ack", ack)


def answering(
    host: str, path: str, status: int, body: Mapping[str, object] | None = None
) -> Respond:
    """Break the answers of a URL to requests of a path."""

    def respond(request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if request.url.host == host and path in request.url.path:
            return httpx.Response(status, text=json.dumps(body or {}))
        return answer

    return respond
