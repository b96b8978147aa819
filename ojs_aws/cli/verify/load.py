"""Opens what a run needs: services, URLs and keys; and sends the load of the run."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from ojs_aws.cli.deployment.doctor import CHECKS, PROBES, Finding, found_by_checks
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import Session, connect
from ojs_aws.cli.verify.deployments import Deployments
from ojs_aws.cli.verify.scales import LAMBDA_QUEUE, POLLED_QUEUE, SCALES, Loaded, Phase, Scale, Sent
from ojs_aws.cli.verify.site import CREATED, MEDIA_TYPE, OK, Door, Keys, Site, demand
from ojs_aws.client.timer import UuidV7
from ojs_aws.domain.access import Scope

if TYPE_CHECKING:
    import httpx

    from ojs_aws.adapters.stacks import Stacks
    from ojs_aws.cli.deployment.deploy_choices import Wanted


PAUSE_S: Final = 0.5
"""How long a worker waits after a poll that found nothing."""
TRIES: Final = 3
"""How often a push is sent that gets no answer, or one that is worth a repetition."""
VISIBILITY_MS: Final = 5_000
IDLE_S: Final = 20.0
"""When a worker that finds nothing takes the queue for empty: retries are back by then."""
KILLED_EACH: Final = 25
"""Of so many polled jobs one is claimed by a worker that vanishes."""
DRAIN_S: Final = 180.0
"""How long jobs may take to end after the last push."""
PAGE: Final = 1000
AHEAD_S: Final = 60.0
"""By how much the clock of this machine may be ahead of the deployment's."""
ENDED: Final = frozenset({"job.completed", "job.discarded", "job.cancelled"})


def run_load(site: Site) -> Loaded:
    """Carry out all phases, wait until all jobs have ended, and read their events.

    :raises NotSoError: the events cannot be read.
    """
    site.sleep(site.scale.settle_s)
    names = [*site.of_kind("Lambda::Function").values()]
    loaded = Loaded(
        phases=site.scale.phases,
        since=site.clock(),
        functions={name: site.evidence.settings(name)["MemorySize"] for name in names},
        log_groups=[*site.of_kind("Logs::LogGroup").values()],
    )
    asyncio.run(_work(loaded, site.gateway, site.scale))
    streamed = [each for each in site.doctor(site.gateway) if each.check == "stream"]
    loaded.lag = streamed[0].text if streamed else "no event came"
    site.sleep(site.scale.settle_s)
    loaded.until = site.clock()

    def all_ended() -> bool:
        loaded.events = _events(site.gateway, loaded)
        return all(_has_ended(loaded.events.get(job_id, ())) for job_id in loaded.sent)

    end = site.clock() + DRAIN_S
    while not all_ended() and site.clock() < end:
        site.sleep(2)
    return loaded


async def _work(loaded: Loaded, door: Door, scale: Scale) -> None:
    """Push all phases, while workers poll, until the polled jobs are acknowledged."""
    import httpx

    headers = {"Authorization": f"Bearer {door.key}", "Content-Type": MEDIA_TYPE}
    limits = httpx.Limits(max_connections=scale.at_once + scale.workers)
    free = asyncio.Semaphore(scale.at_once)
    base = f"{door.url.rstrip('/')}/ojs/v1/"
    async with httpx.AsyncClient(base_url=base, headers=headers, timeout=30, limits=limits) as http:
        pushed = asyncio.Event()
        working = [
            asyncio.create_task(_poll(loaded, http, at, pushed)) for at in range(scale.workers)
        ]
        for number, phase in enumerate(loaded.phases):
            await _push_all(_Pusher(loaded, http, free, number), phase)
        pushed.set()
        await asyncio.gather(*working)


@dataclass(frozen=True, slots=True)
class _Pusher:
    """Pushes the jobs of a phase; so many wait for their answers at the same time."""

    loaded: Loaded
    http: httpx.AsyncClient
    free: asyncio.Semaphore
    phase: int

    async def push(self, queue: str) -> None:
        """Push a job under an id of its own, so that the push can be repeated, as clients do."""
        job_id = UuidV7().job_id()
        job = {
            "id": job_id,
            "type": "demo.sleep",  # it logs nothing: only what the backend logs is compared
            "args": [0],
            "meta": {"padding": "x" * 300},
            "options": {"queue": queue},
        }
        problem = ""
        for _ in range(TRIES):
            async with self.free:
                begun = time.monotonic()
                problem = await self._send(job)
            if not problem:
                took = (time.monotonic() - begun) * 1000
                self.loaded.sent[job_id] = Sent(self.phase, queue, took)
                return
        self.loaded.refused.append(problem)

    async def _send(self, job: Mapping[str, Any]) -> str:
        """Return why a push was not taken; empty, if it was."""
        import httpx

        try:
            answer = await self.http.post("jobs", json=job)
        except httpx.HTTPError as failed:
            return repr(failed)
        is_taken = answer.status_code in {OK, CREATED}
        return "" if is_taken else f"{answer.status_code} {answer.text[:100]}"


async def _push_all(pusher: _Pusher, phase: Phase) -> None:
    begun = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for at in range(phase.jobs):
            late = begun + at / phase.rate - time.monotonic()
            if late > 0:
                await asyncio.sleep(late)
            is_polled = int((at + 1) * phase.polled) > int(at * phase.polled)
            group.create_task(pusher.push(POLLED_QUEUE if is_polled else LAMBDA_QUEUE))


async def _poll(
    loaded: Loaded, http: httpx.AsyncClient, number: int, pushed: asyncio.Event
) -> None:
    """Work like an HTTP worker; of some jobs the worker vanishes, and takes another name."""
    import httpx

    name, claims, found_at = f"worker-{number}", 0, time.monotonic()
    while True:
        if pushed.is_set():
            is_done = loaded.of(POLLED_QUEUE).keys() <= loaded.acknowledged
            if is_done or time.monotonic() > found_at + IDLE_S:
                return
        body: dict[str, Any] = {"queues": [POLLED_QUEUE], "worker_id": name}
        try:
            answer = await http.post(
                "workers/fetch", json={**body, "visibility_timeout_ms": VISIBILITY_MS}
            )
            jobs = answer.json()["jobs"] if answer.status_code == OK else []
            if not jobs:
                loaded.empty_polls += 1
                await asyncio.sleep(PAUSE_S)
            for job in jobs:
                claims, found_at = claims + 1, time.monotonic()
                if claims % KILLED_EACH == 1 and job["attempt"] == 1:
                    loaded.killed.add(job["id"])
                    name = f"worker-{number}-{claims}"
                    continue
                ack = {"job_id": job["id"], "worker_id": name, "result": None}
                if (await http.post("workers/ack", json=ack)).status_code == OK:
                    loaded.acknowledged.add(job["id"])
        except httpx.HTTPError:
            await asyncio.sleep(PAUSE_S)  # as a worker does that gets no answer


def _has_ended(events: Sequence[tuple[str, float]]) -> bool:
    return any(kind in ENDED for kind, _ in events)


def _events(door: Door, loaded: Loaded) -> dict[str, list[tuple[str, float]]]:
    """Return the events of all jobs; a repeated event counts once."""
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    seen: set[str] = set()
    for event in _pages(door, loaded.since):
        if event["id"] not in seen and event["subject"] in loaded.sent:
            seen.add(event["id"])
            at = datetime.fromisoformat(event["time"]).timestamp() * 1000
            found[event["subject"]].append((event["type"], at))
    return found


def _pages(door: Door, since: float) -> Iterator[dict[str, Any]]:
    start = datetime.fromtimestamp(since - AHEAD_S).astimezone().isoformat()
    query = {"queues": f"{LAMBDA_QUEUE},{POLLED_QUEUE}", "since": start, "limit": str(PAGE)}
    while True:
        answer = door.ask("GET", f"events?{urlencode(query)}")
        demand(answer.status == OK, f"the events were answered with {answer}")
        yield from answer.json["events"]
        if not answer.json.get("has_more"):
            return
        query = {**query, "cursor": answer.json["cursor"]}
        query.pop("since", None)


def deployments_of(
    run: str, stacks: Stacks, wanted: Wanted, endpoint_url: str | None
) -> Deployments:
    """Return what deploys and removes a run."""
    from ojs_aws.bootstrap import data_removal_of, evidence_of

    return Deployments(
        run=run,
        stacks=stacks,
        evidence=evidence_of(endpoint_url, stacks.region),
        removal=data_removal_of(endpoint_url, stacks.region),
        wanted=wanted,
    )


def site_of(run: str, scale: str, deployments: Deployments, endpoint_url: str | None) -> Site:
    """Return the site of a run that deploys nothing yet."""
    return Site(
        id=run,
        scale=SCALES[scale],
        is_emulated=endpoint_url is not None,
        evidence=deployments.evidence,
        deployments=deployments,
        open_door=doors_of(endpoint_url, deployments.stacks.region),
        keys=lambda table: keys_of(table, endpoint_url, deployments.stacks.region),
        doctor=look_after,
        load=run_load,
        sleep=time.sleep,
        clock=time.time,
    )


def doors_of(endpoint_url: str | None, region: str) -> Callable[[str, str, str | None], Door]:
    """Return what opens a door: by the URL that was deployed, or by the emulator's own."""
    import httpx

    from ojs_aws.client.transports.credentials import BotocoreSigner

    http = httpx.Client(timeout=60, trust_env=True)

    def open_door(name: str, url: str, key: str | None) -> Door:
        sign = BotocoreSigner(region, None) if key is None else None
        return Door(name, reached(url, endpoint_url), http, key or "", sign)

    return open_door


def reached(url: str, endpoint_url: str | None) -> str:
    """Return where a deployed URL is reached: an emulator has it below its own."""
    if endpoint_url is None:
        return url.rstrip("/")
    name, _, rest = url.partition("//")[2].partition(".")
    if rest.startswith("lambda-url"):
        return f"{endpoint_url}/_aws/lambda-url/{name}"
    return f"{endpoint_url}/_aws/execute-api/{name}/$default"


def keys_of(table: str, endpoint_url: str | None, region: str) -> Keys:
    """Return what makes and revokes the keys of a table."""
    from ojs_aws.bootstrap import aws_clients, build_key_issuer
    from ojs_aws.config import Settings

    issuer = build_key_issuer(Settings(table=table), aws_clients(endpoint_url, region).dynamodb)

    def create(name: str, scopes: Sequence[str]) -> tuple[str, str]:
        issued = issuer.create(name, [Scope(each) for each in scopes])
        return issued.key.id, issued.text

    def revoke(key_id: str) -> None:
        issuer.revoke(key_id)

    return Keys(create, revoke)


def look_after(door: Door) -> Sequence[Finding]:
    """Run the checks of ``ojs-aws doctor --probe`` with a door's URL and key."""

    async def look() -> list[Finding]:
        client = connect(door.url, door.key)
        try:
            session = Session(client, Output(as_json=True), door.url, connect)
            return await found_by_checks(session, [*CHECKS, *PROBES])
        finally:
            await client.close()

    return asyncio.run(look())
