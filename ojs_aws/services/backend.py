"""The services of one deployment, put together over any ports."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.config import Settings
from ojs_aws.ports import (
    Clock,
    EventLog,
    IdGenerator,
    JobStore,
    MessageQueue,
    QueueRegistry,
    WorkerRegistry,
)
from ojs_aws.services.ack import Ack
from ojs_aws.services.activate import Activate
from ojs_aws.services.cancel import Cancel
from ojs_aws.services.changing import Changing
from ojs_aws.services.dead_letter import DeadLetters
from ojs_aws.services.fail import Fail
from ojs_aws.services.fetch import Both, Fetch
from ojs_aws.services.heartbeat import Heartbeat
from ojs_aws.services.info import Info
from ojs_aws.services.push import Enqueuing, Push, QueueRules
from ojs_aws.services.queues import Queues
from ojs_aws.services.sweep import Sweep
from ojs_aws.services.waking import Waking


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything the services need from the world."""

    store: JobStore
    messages: MessageQueue
    queues: QueueRegistry
    workers: WorkerRegistry
    events: EventLog
    clock: Clock
    ids: IdGenerator
    chain: Enqueuing
    both: Both


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The services of one deployment, ready to be called."""

    settings: Settings
    ports: Ports
    push: Push
    fetch: Fetch
    ack: Ack
    fail: Fail
    heartbeat: Heartbeat
    cancel: Cancel
    activate: Activate
    info: Info
    dead_letters: DeadLetters
    queues: Queues
    sweep: Sweep

    @property
    def events(self) -> EventLog:
        """The log of lifecycle events."""
        return self.ports.events

    @property
    def clock(self) -> Clock:
        """Where the time comes from."""
        return self.ports.clock

    @property
    def ids(self) -> IdGenerator:
        """Where identifiers come from."""
        return self.ports.ids


def assemble_backend(settings: Settings, ports: Ports) -> Backend:
    """Put the services together over any ports."""
    store, clock = ports.store, ports.clock
    changing = Changing(store, clock)
    waking = Waking(ports.messages, ports.queues)
    timeout_ms = settings.default_timeout_s * 1000
    visibility_ms = settings.default_visibility_timeout_s * 1000
    return Backend(
        settings=settings,
        ports=ports,
        push=Push(
            store=store,
            waking=waking,
            clock=clock,
            ids=ports.ids,
            chain=ports.chain,
            rules=QueueRules(frozenset(settings.queues), settings.allow_undeclared_queues),
            max_envelope_bytes=settings.max_envelope_bytes,
            default_timeout_ms=timeout_ms,
        ),
        fetch=Fetch(
            store=store,
            messages=ports.messages,
            changing=changing,
            waking=waking,
            both=ports.both,
            default_timeout_ms=timeout_ms,
            default_visibility_timeout_ms=visibility_ms,
            max_count=settings.max_fetch_count,
            wait_ms=settings.fetch_wait_ms,
        ),
        ack=Ack(store, changing, waking, settings.max_result_bytes),
        fail=Fail(changing, waking, settings.redact_backtraces),
        heartbeat=Heartbeat(store, ports.workers, changing, waking, visibility_ms),
        cancel=Cancel(changing, waking),
        activate=Activate(changing, waking),
        info=Info(store, changing),
        dead_letters=DeadLetters(store, ports.queues, changing, waking),
        queues=Queues(ports.queues),
        sweep=Sweep(store, ports.messages, ports.queues, changing, waking),
    )
