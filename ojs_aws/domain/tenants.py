"""Says whose a job is: tenants, their ids, and how a request's tenant gets into its jobs.

The tenant of a job is ``meta.tenant_id`` (ojs-multi-tenancy, section 5). A job without one belongs
to the default tenant, which nothing is written for.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from ojs_aws.domain.attributes import field_error, invalid
from ojs_aws.domain.envelope import TENANT_ID, Job, names_tenant
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import Member, RawJson, encode

TENANT_PATTERN: Final = "[a-zA-Z0-9][a-zA-Z0-9._:-]*"
MAX_TENANT_LENGTH: Final = 128
OTHER_TENANTS: Final = "_other"
"""Names tenants that are counted together (section 15.4); no tenant can be called so."""

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
