"""Changes cron jobs: named members replace the registered ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.json_text import ANY_DEPTH, Member, RawJson, assemble, parse_object
from ojs_aws.services.cron.service import Registration
from ojs_aws.transport.http.jobs.envelope import read_job

_OWN: Final = ("cron", "expression", "timezone", "overlap_policy", "enabled", "description")
_JOB: Final = ("type", "args", "meta", "options")
_ALLOWED: Final = frozenset({*_OWN, *_JOB, "job_template"})
_MADE: Final = frozenset({"id", "specversion"})
"""Members of an envelope that are new for each run."""

_NO_JOB: Final[Mapping[str, Member]] = {}


def changed_registration(
    entry: CronEntry, members: Mapping[str, Member], max_depth: int
) -> Registration:
    """Return the registration of a cron job after a change.

    :raises InvalidRequestError: naming a member that cannot be changed, or nothing is named.
    """
    others: list[JsonValue] = [*sorted(members.keys() - _ALLOWED)]
    if others or not members:
        raise InvalidRequestError(
            f"A cron job has no '{str(others[0])[:80]}' that can be changed."
            if others
            else "The body names nothing to change.",
            details={
                "field": str(others[0])[:80] if others else "enabled",
                "allowed": [*sorted(_ALLOWED)],
            },
            hint="To change anything else, register the cron job again under its name.",
        )
    defined = entry.definition

    def given(name: str, kept: JsonValue) -> JsonValue:
        return members[name].value if name in members else kept

    job = _job_members(members, max_depth)
    overlap = given("overlap_policy", str(defined.overlap))
    return Registration(
        name=entry.name,
        expression=given("cron", given("expression", defined.expression)),
        timezone=given("timezone", defined.timezone),
        overlap="cancel_previous" if overlap == "cancel" else overlap,
        is_enabled=given("enabled", defined.is_enabled),
        description=given("description", defined.description),
        document=_document(defined.document, job, max_depth),
        job=_envelope(defined.envelope, job, max_depth),
    )


def _job_members(members: Mapping[str, Member], max_depth: int) -> Mapping[str, Member]:
    template = members.get("job_template")
    if template is None or template.value is None:
        return {name: members[name] for name in _JOB if name in members}
    if not isinstance(template.value, dict):
        raise invalid("job_template", "an object", template.value)
    return parse_object(template.raw, max_depth=max_depth)


def _document(kept: RawJson, job: Mapping[str, Member], max_depth: int) -> RawJson:
    """Return the job after a change: options one by one, other members as a whole."""
    shown = {name: member.raw for name, member in parse_object(kept, max_depth=ANY_DEPTH).items()}
    before = parse_object(shown.get("options", RawJson("{}")), max_depth=ANY_DEPTH)
    for name in _JOB:
        if name in job and name != "options":
            shown[name] = job[name].raw
    if isinstance(job.get("options", Member(RawJson("{}"), {})).value, dict) and "options" in job:
        options = {**before, **parse_object(job["options"].raw, max_depth=max_depth)}
        shown["options"] = assemble({name: member.raw for name, member in options.items()})
    return assemble(shown)


def _envelope(kept: RawJson, job: Mapping[str, Member], max_depth: int) -> Job:
    """Return the envelope of the runs; both are canonical, so that names agree."""
    before = parse_object(kept, max_depth=ANY_DEPTH)
    after = parse_object(RawJson(read_job(job, max_depth).to_json()), max_depth=ANY_DEPTH)
    merged = {**before, **{name: each for name, each in after.items() if name not in _MADE}}
    return Job.from_members({name: member.raw for name, member in merged.items()})
