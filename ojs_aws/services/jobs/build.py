"""Builds the job to store from an envelope: checked, completed, with its queue's settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import VALIDATE, Job
from ojs_aws.domain.errors import InvalidPolicyError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.job_policies import CheckedAttributes
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.validation import Envelope, read_envelope
from ojs_aws.domain.json_text import AssembledText, RawJson, assemble, decode
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.runtime import Clock, IdGenerator
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.rules import QueueRules

if TYPE_CHECKING:
    from ojs_aws.domain.queues.config import QueueConfig
    from ojs_aws.services.queues.push_settings import PushSettings, PushSettingsCache
    from ojs_aws.services.schemas.validation import SchemaValidation
    from ojs_aws.services.tenants.enqueue_limits import TenantSettingsCache


_CHECKED: Final = tuple(field.name for field in fields(CheckedAttributes))
_checked_values: Final = attrgetter(*_CHECKED)
_IN_DOCUMENT: Final = frozenset({"args", "meta", "priority"})
"""Members of a stored job that can be changed, and that its document has."""

ADDED_BYTES: Final = 65_536
"""Bytes that middleware and what is read in another form may add to what a client sent."""


def check_envelope_size(size: int, max_bytes: int, *, room: int = 0) -> None:
    """Refuse an envelope that is too large (ojs-payload-limits, section 4.1).

    :param size: in bytes, of what the client sent.
    :param room: bytes beyond the limit that are not the client's.
    :raises PayloadTooLargeError: the details name size and limit.
    """
    if size > max_bytes + room:
        raise PayloadTooLargeError(
            f"The envelope has {size} bytes; at most {max_bytes} are accepted.",
            details={
                "field": "envelope",
                "actual_bytes": size,
                "size_bytes": size,
                "max_bytes": max_bytes,
            },
        )


@dataclass(frozen=True, slots=True)
class CheckedJob:
    """Holds a job with its envelope, which was read from it and found valid."""

    job: Job
    envelope: Envelope
    edition: int | None

    def holds_for(self, job: Job) -> bool:
        """Return True if a job is this one, and nobody can have changed it since."""
        return job is self.job and self.edition is not None and job.edition == self.edition


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBuilder:
    """Builds jobs from envelopes; stores nothing.

    :ivar schemas: what checks jobs that name a schema; asked for with the first of them.
    :ivar settings: how queues take jobs.
    :ivar tenants: what was set for tenants; asked for with the first job that needs it.
    :ivar is_internal: whether its jobs were accepted before, as a workflow's steps are: no queue
        refuses them.
    :ivar needs_tenant: whether jobs without a tenant are refused.
    :ivar lines: how many lines each wide queue may have jobs in.
    """

    clock: Clock
    ids: IdGenerator
    rules: QueueRules
    max_envelope_bytes: int
    default_timeout_ms: int
    schemas: Callable[[], SchemaValidation]
    settings: PushSettingsCache
    tenants: Callable[[], TenantSettingsCache]
    is_internal: bool = False
    needs_tenant: bool = False
    lines: Mapping[str, int] = field(default_factory=dict)

    def for_many(self) -> JobBuilder:
        """Return a copy for one request with many jobs, which reads each queue's settings once."""
        settings = self.settings.for_one_request()
        if settings is self.settings:
            return self
        tenants = cache(lambda: self.tenants().for_one_request())
        return replace(self, settings=settings, tenants=tenants)

    def complete(self, job: Job, now: Instant) -> CheckedJob:
        """Validate an envelope, and give it an id if it has none.

        :raises InvalidRequestError: a constraint of the envelope is broken, or the arguments do
            not follow the schema that the job names.
        """
        if not job.id:
            if "id" in job:
                read_envelope(job, now)
            job.id = self.ids.job_id()
        envelope = read_envelope(job, now)
        self._check_args(job)
        return CheckedJob(job, envelope, job.edition)

    def _check_args(self, job: Job) -> None:
        """Check the arguments of a job that names a schema; others cost nothing.

        Before the middleware, which may encrypt them, and after it, since it may change them.
        """
        if job.get("schema") is not None or job.mentions("meta", VALIDATE):
            self.schemas().check(job)

    def record(self, job: Job, now: Instant, checked: CheckedJob | None = None) -> JobRecord:
        """Return the job to store for a completed envelope.

        :param checked: what :meth:`complete` returned. What no middleware changed since is not
            validated again.
        :raises OjsError: it or its queue refuses it.
        """
        if checked is not None and checked.holds_for(job):
            envelope = checked.envelope
        else:
            envelope = read_envelope(job, now)
            self._check_args(job)
        if self.needs_tenant and not envelope.tenant:
            raise _without_tenant()
        (self.rules.check if self.is_internal else self.rules.admit)(envelope.queue)
        document = AssembledText.of(envelope.document)
        size = len(document.encode()) + len((envelope.retry_document or "").encode())
        check_envelope_size(size, self.max_envelope_bytes, room=ADDED_BYTES)
        if self.is_internal:
            settings = self.settings.of(envelope.queue)
        else:
            settings = self.settings.admitting(envelope.queue, envelope.type)
            if settings.has_tenants and envelope.tenant:
                self.tenants().admit(envelope.tenant)
        state = lifecycle.initial_state(
            envelope.scheduled_at, is_pending=envelope.is_pending, now=now
        )
        config = settings.config
        envelope = _with_defaults(envelope, config)
        if envelope.fairness is not None or config.fair_by is not None:
            envelope = self._with_share(job, envelope, settings)
        return self._new(envelope, document, state, now, _unique_key(job, envelope), config)

    def changed(
        self, job: Job, before: JobRecord, names: Collection[str], now: Instant
    ) -> JobRecord:
        """Return a stored job with other members in its envelope, checked as a new job's is.

        :param job: the envelope with these members.
        :param before: the job as it is stored, with its document filled in.
        :param names: the members that differ.
        :raises OjsError: it or its queue refuses it.
        """
        envelope = self._changed_envelope(job, before, names, now)
        is_document_same = _IN_DOCUMENT.isdisjoint(names)
        return replace(
            before,
            tenant=envelope.tenant,
            queue=envelope.queue,
            shard=before.shard if envelope.queue == before.queue else 0,  # others may lack its line
            fairness=envelope.fairness,
            limit=envelope.limit,
            priority=envelope.priority,
            retry=envelope.retry,
            retry_document=envelope.retry_document,
            is_retry_queues=before.is_retry_queues and "retry" not in names,
            document=before.document if is_document_same else assemble(envelope.document),
        )

    def _changed_envelope(
        self, job: Job, before: JobRecord, names: Collection[str], now: Instant
    ) -> Envelope:
        """Return the envelope of a stored job with other members, and whose share it uses then."""
        envelope = read_envelope(job, now)
        self.rules.admit(envelope.queue)
        if "args" in names:
            self._check_args(job)
        if envelope.queue != before.queue:
            settings = self.settings.admitting(envelope.queue, envelope.type)
        elif "meta" in names:
            settings = self.settings.of(envelope.queue)
        else:
            return replace(envelope, fairness=before.fairness)
        if envelope.fairness is None and settings.config.fair_by is None:
            return envelope
        return self._with_share(job, envelope, settings)

    def _with_share(self, job: Job, envelope: Envelope, settings: PushSettings) -> Envelope:
        """Return an envelope that says whose share of its queue the job uses."""
        from ojs_aws.domain.fairness import share_of  # few queues are fair

        own, by, tenant = envelope.fairness, settings.config.fair_by or "", envelope.tenant
        is_weighed = settings.has_tenants and bool(tenant) and (own is None or own.weight is None)
        weight = self.tenants().of(tenant).fairness_weight if is_weighed else None
        share = share_of(job, own, by, tenant, weight)
        if settings.costs is not None:
            from ojs_aws.domain.fairness import UNKNOWN_COST

            share = replace(share, cost=settings.costs.get(envelope.type, UNKNOWN_COST))
        return replace(envelope, fairness=share)

    def _shard(self, envelope: Envelope, shards: int) -> int:
        """Return the line of a new job: by its sequence if it is part of one, else by its id."""
        from ojs_aws.domain.jobs.ready_keys import shard_of  # few queues are wide

        place = envelope.sequence
        name = envelope.id if place is None else f"{envelope.tenant}/{place.key}"
        return shard_of(name, min(shards, self.lines.get(envelope.queue, 1)))

    def _new(
        self,
        envelope: Envelope,
        document: RawJson,
        state: JobState,
        now: Instant,
        unique_key: str,
        config: QueueConfig,
    ) -> JobRecord:
        return JobRecord(
            **dict(zip(_CHECKED, _checked_values(envelope), strict=True)),
            state=state,
            attempt=0,
            version=1,
            order=self.clock.order(),
            document=document,
            timeout_ms=envelope.timeout_ms or self.default_timeout_ms,
            created_at=now,
            enqueued_at=now if state is JobState.AVAILABLE else None,
            unique_key=unique_key,
            kept=config.retention,
            shard=0 if config.shards == 1 else self._shard(envelope, config.shards),
        )


def _without_tenant() -> InvalidPolicyError:
    """Return the error of a job without a tenant, where it needs one (ojs-multi-tenancy, 5.1)."""
    return InvalidPolicyError(
        "This deployment takes no jobs without a tenant.",
        details={"field": "meta.tenant_id", "expected": "the tenant of the job"},
        hint="Send X-OJS-Tenant, or name the tenant in 'meta.tenant_id'.",
    )


def _with_defaults(envelope: Envelope, config: QueueConfig) -> Envelope:
    """Return an envelope with its queue's settings for what it leaves out."""
    if envelope.retry_document is None and config.default_retry is not None:
        envelope = replace(
            envelope,
            retry=parse_retry_policy(decode(config.default_retry)),
            retry_document=config.default_retry,
            is_retry_queues=True,
        )
    timeout_ms = envelope.timeout_ms or config.default_timeout_ms
    is_own = timeout_ms == envelope.timeout_ms
    return envelope if is_own else replace(envelope, timeout_ms=timeout_ms)


def _unique_key(job: Job, envelope: Envelope) -> str:
    """Return the uniqueness key, apart for each tenant; empty for a job without a unique policy."""
    if job.get("unique") is None:
        return ""
    from ojs_aws.domain.unique.keys import parse_unique_policy, unique_key

    key = unique_key(job, parse_unique_policy(job.get("unique")))
    if not envelope.tenant:
        return key
    from ojs_aws.domain.tenants import key_of_tenant

    return key_of_tenant(envelope.tenant, key)
