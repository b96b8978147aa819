"""Says whose a job is: tenants, their settings, and how a request's tenant gets into its jobs.

The tenant of a job is ``meta.tenant_id`` (ojs-multi-tenancy, section 5). A job without one belongs
to the default tenant, which nothing is written for.

The settings (section 8) are kept with the override of the tenant's bucket. So a claim that asks the
bucket finds them with the read that every limit costs, and a suspended tenant is one whose bucket
lets no job begin.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import field_error, invalid
from ojs_aws.domain.envelope import TENANT_ID, Job, names_tenant
from ojs_aws.domain.errors import InvalidPolicyError, JsonValue
from ojs_aws.domain.job_policies import Window
from ojs_aws.domain.json_text import Member, RawJson, decode, encode
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.limits.policies import LARGEST, MAX_PERIOD_MS, TENANT
from ojs_aws.domain.timestamps import Instant, format_duration, parse_duration

TENANT_PATTERN: Final = "[a-zA-Z0-9][a-zA-Z0-9._:-]*"
MAX_TENANT_LENGTH: Final = 128
OTHER_TENANTS: Final = "_other"
"""Names tenants that are counted together (section 15.4); no tenant can be called so."""

CONCURRENCY: Final = "max_concurrency"
RATE: Final = "max_enqueue_rate"
DEPTH: Final = "max_queue_depth"
SCHEDULED: Final = "max_scheduled"
WEIGHT: Final = "fairness_weight"
LIMITS: Final = (CONCURRENCY, RATE, DEPTH, SCHEDULED, WEIGHT)
"""The limits of a tenant, as section 8.1 names them."""

CREATED: Final = "tenant.created"
SUSPENDED: Final = "tenant.suspended"
RESUMED: Final = "tenant.resumed"
CHANGES: Final = "changes"
"""The member of an operation's target that lists the tenant's events that it caused."""

_COUNT: Final = f"a whole number from 0 to {LARGEST}, or null"
_WINDOW: Final = 'an object such as {"limit": 1000, "period": "PT1M"}, or null'
_TENANT: Final = re.compile(TENANT_PATTERN, re.ASCII)
_FORM: Final = (
    "a letter or digit, then letters, digits, dots, underscores, colons and hyphens; "
    f"at most {MAX_TENANT_LENGTH} characters"
)


def check_tenant(value: JsonValue, field: str) -> str:
    """Return the id of a tenant.

    :param field: where it stood, for the error.
    :raises InvalidRequestError: it has another form (section 5.2), or is too long.
    """
    is_short = isinstance(value, str) and len(value) <= MAX_TENANT_LENGTH
    if isinstance(value, str) and is_short and _TENANT.fullmatch(value):
        return value
    raise invalid(field, _FORM, value)


def tenant_of(job: Job) -> str:
    """Return the tenant that an envelope names, or an empty text.

    :raises InvalidRequestError: it names one in another form.
    """
    if not names_tenant(job):
        return ""
    return check_tenant(_meta(job)[TENANT_ID], f"meta.{TENANT_ID}")


def _meta(job: Job) -> dict[str, JsonValue]:
    """Return the metadata to look at; nobody may change them."""
    meta = job.view(("meta",)).get("meta", {})
    return meta if isinstance(meta, dict) else {}


def put_tenant(job: Job, tenant: str, place: str = "") -> None:
    """Put the tenant of a request into a job that names none; all other bytes stay as they are.

    :param place: where the job stood in the body: empty, or ending in a dot.
    :raises InvalidRequestError: it names another tenant (section 5.3).
    """
    named = tenant_of(job)
    if named == tenant:
        return
    if named:
        field = f"{place}meta.{TENANT_ID}"
        message = f"The '{field}' attribute names another tenant than the request."
        raise field_error(field, message, "Leave it out, or send the job for its own tenant.")
    if "meta" in job and job.json_type("meta") != "object":
        return  # PUSH refuses it
    meta = _meta(job)
    raw = job.text("meta").rstrip() if "meta" in job else "{}"
    comma = "," if meta else ""
    text = f"{raw[:-1].rstrip()}{comma}{encode(TENANT_ID)}:{encode(tenant)}}}"
    job.put_member("meta", Member(RawJson(text), {**meta, TENANT_ID: tenant}))


def key_of_tenant(tenant: str, key: str) -> str:
    """Return a uniqueness key as it applies within one tenant; empty for no key."""
    return hashlib.sha256(f"tenant:{tenant}:{key}".encode()).hexdigest() if key else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSettings:
    """Holds what an operator set for a tenant.

    :ivar max_concurrency: most jobs that run at the same time, in all queues; None for any number.
    :ivar max_enqueue_rate: most jobs that are enqueued in a period.
    :ivar max_queue_depth: most jobs that are available or scheduled, in all queues.
    :ivar max_scheduled: most jobs that are scheduled.
    :ivar fairness_weight: of its jobs in fair queues; None for 1.
    :ivar is_suspended: it enqueues no jobs, and none of its jobs begins.
    """

    max_concurrency: int | None = None
    max_enqueue_rate: Window | None = None
    max_queue_depth: int | None = None
    max_scheduled: int | None = None
    fairness_weight: float | None = None
    is_suspended: bool = False

    @property
    def limits_starts(self) -> bool:
        """Return True if a job of the tenant may have to wait before it begins."""
        return self.is_suspended or self.max_concurrency is not None

    @property
    def limits_depth(self) -> bool:
        """Return True if the jobs of the tenant that wait are bounded."""
        return self.max_queue_depth is not None or self.max_scheduled is not None

    def limits(self) -> dict[str, JsonValue]:
        """Return the limits as the specification writes them."""
        rate = self.max_enqueue_rate
        values: dict[str, JsonValue] = {
            CONCURRENCY: self.max_concurrency,
            RATE: None if rate is None else window_text(rate),
            DEPTH: self.max_queue_depth,
            SCHEDULED: self.max_scheduled,
            WEIGHT: self.fairness_weight,
        }
        return {name: value for name, value in values.items() if value is not None}

    def over(self, of_all: TenantSettings) -> TenantSettings:
        """Return the settings with the limits of all tenants where this one has none of its own."""
        missing = {name: getattr(of_all, name) for name in LIMITS if getattr(self, name) is None}
        return replace(self, **missing)

    def text(self) -> str:
        """Return the override of the tenant's bucket; empty where nothing is set."""
        if self == UNLIMITED:
            return ""
        most = 0 if self.is_suspended else self.max_concurrency
        bound: dict[str, JsonValue] = {} if most is None else {"concurrency": most}
        own: JsonValue = {"limits": self.limits(), "suspended": self.is_suspended}
        return encode({**bound, TENANT: own})

    def with_limits(self, value: JsonValue) -> TenantSettings:
        """Return the settings with the limits that an operator names; null lifts one.

        :raises InvalidRequestError: they are no object, or one of them is malformed.
        :raises InvalidPolicyError: one cannot be followed, or there is no limit of this name.
        """
        if not isinstance(value, dict):
            raise field_error("limits", "The 'limits' attribute must be an object.")
        unknown = sorted(value.keys() - {*LIMITS})
        if unknown:
            known = ", ".join(LIMITS)
            raise _impossible(unknown[0], f"left out: a tenant has the limits {known}")
        return TenantSettings(
            max_concurrency=_count(value, CONCURRENCY, self.max_concurrency),
            max_enqueue_rate=_window(value, self.max_enqueue_rate),
            max_queue_depth=_count(value, DEPTH, self.max_queue_depth),
            max_scheduled=_count(value, SCHEDULED, self.max_scheduled),
            fairness_weight=_weight(value, self.fairness_weight),
            is_suspended=self.is_suspended,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRefusals:
    """Holds what events report of the jobs that a tenant may not enqueue.

    :ivar limit: the last limit that one met, with what was counted, and its maximum.
    :ivar count: jobs that were refused so far.
    """

    tenant: str
    at: Instant
    limit: str
    current: int
    maximum: int
    count: int


UNLIMITED: Final = TenantSettings()
"""The settings of a tenant for which nothing was set."""


def changes_of(before: TenantSettings, after: TenantSettings) -> list[JsonValue]:
    """Return the types of the events that a change of settings is."""
    made: list[JsonValue] = []
    if before == UNLIMITED and after != UNLIMITED:
        made.append(CREATED)
    if before.is_suspended != after.is_suspended:
        made.append(SUSPENDED if after.is_suspended else RESUMED)
    return made


def settings_in(bucket: Bucket | None) -> TenantSettings:
    """Return the settings that a tenant's bucket keeps."""
    stored = decode(bucket.override) if bucket is not None and bucket.override else {}
    own = stored.get(TENANT) if isinstance(stored, dict) else None
    if not isinstance(own, Mapping):
        return UNLIMITED
    return replace(UNLIMITED.with_limits(own["limits"]), is_suspended=own["suspended"] is True)


def limits_of_all(text: str) -> TenantSettings:
    """Return the limits that a deployment sets for each tenant: a JSON object, or nothing.

    :raises InvalidRequestError: it is malformed.
    :raises InvalidPolicyError: a limit cannot be followed, or is a weight: one that is the same for
        all changes nothing.
    """
    found = UNLIMITED.with_limits(decode(text)) if text else UNLIMITED
    if found.fairness_weight is not None:
        raise _impossible(WEIGHT, "left out: a weight that all tenants have changes nothing")
    return found


def window_text(window: Window) -> dict[str, JsonValue]:
    """Return a rate as the specification writes it."""
    return {"limit": window.limit, "period": format_duration(window.period_ms)}


def _count(given: Mapping[str, JsonValue], name: str, before: int | None) -> int | None:
    """Return a limit that is a number: the one that is named, else the one before."""
    if name not in given:
        return before
    value = given[name]
    return None if value is None else _number(value, name, least=0)


def _weight(given: Mapping[str, JsonValue], before: float | None) -> float | None:
    """Return the weight that is named, else the one before."""
    if WEIGHT not in given:
        return before
    from ojs_aws.domain.fairness import check_weight  # few tenants have one

    value = given[WEIGHT]
    return None if value is None else check_weight(value, WEIGHT)


def _number(value: JsonValue, name: str, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise field_error(name, f"The limit '{name}' must be {_COUNT}.", expected=_COUNT)
    if not least <= value <= LARGEST:
        raise _impossible(name, f"a whole number from {least} to {LARGEST}, or null")
    return value


def _window(given: Mapping[str, JsonValue], before: Window | None) -> Window | None:
    """Return the rate that is named, else the one before."""
    if RATE not in given:
        return before
    value = given[RATE]
    if value is None:
        return None
    if not isinstance(value, dict):
        raise field_error(RATE, f"The limit '{RATE}' must be {_WINDOW}.", expected=_WINDOW)
    period_ms = parse_duration(value.get("period"), f"{RATE}.period")
    if not 0 < period_ms <= MAX_PERIOD_MS:
        raise _impossible(f"{RATE}.period", "more than zero, at most 31 days")
    return Window(_number(value.get("limit"), f"{RATE}.limit", least=1), period_ms)


def _impossible(field: str, expected: str) -> InvalidPolicyError:
    return InvalidPolicyError(
        f"The limit '{field}' must be {expected}.", details={"field": field, "expected": expected}
    )
