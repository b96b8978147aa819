"""Judges the answers to a case's steps: references between steps, and every kind of assertion."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.cli.verify.conformance.matchers import (
    Json,
    UnreachableError,
    as_text,
    lookup,
    matches,
    matches_alternative,
    matches_status,
    search,
)

_EXCERPT: Final = 300
_REFERENCE: Final = re.compile(
    r"(?:\{\{|\$\.)steps\.([\w-]+)\.response\.body(?:\.([^}]+))?(?:\}\})?"
)
_TEMPLATE: Final = re.compile(r"\{\{steps\.[\w-]+\.response\.body\.[^}]+\}\}")


@dataclass(frozen=True)
class CaseAnswer:
    """Holds what the server answered to a step; ``problem`` says why there is none."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    body: dict[str, Json] | None = None
    elapsed_ms: float = 0.0
    problem: str = ""


Answers = dict[str, CaseAnswer]


# ------------------------------------------------------------------------------ references
def resolve(reference: str, answers: Answers) -> Json:
    """Return what ``{{steps.X.response.body.PATH}}`` points to; None when there is none."""
    found = _REFERENCE.fullmatch(reference)
    answer = answers.get(found[1]) if found else None
    if found is None or answer is None or answer.body is None:
        return None
    try:
        return lookup(found[2] or "", answer.body)
    except UnreachableError:
        return None


def fill_references(text: str, answers: Answers) -> str:
    """Return the text with references to answers replaced; those that lead nowhere stay."""

    def value_of(found: re.Match[str]) -> str:
        value = resolve(found[0], answers)
        if value is None:
            return found[0]
        return json.dumps(value) if isinstance(value, (dict, list)) else as_text(value)

    return _TEMPLATE.sub(value_of, text)


# ------------------------------------------------------------------------------ assertions
def check(assertions: Mapping[str, Json], answer: CaseAnswer) -> list[str]:
    """Return a line for every assertion of a step that the answer does not meet."""
    if answer.problem:
        return [answer.problem]
    return [
        *_check_status(assertions, answer),
        *_check_headers(assertions.get("headers"), answer),
        *_check_body(assertions.get("body"), answer),
        *_check_absent(assertions.get("body_absent"), answer),
        *_check_timing(assertions.get("timing_ms"), answer),
        *(
            f"the body does not contain {part!r}"
            for part in _items(assertions.get("body_contains"))
            if not isinstance(part, str) or part not in answer.text
        ),
    ]


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _check_status(assertions: Mapping[str, Json], answer: CaseAnswer) -> Iterator[str]:
    wanted = assertions.get("status")
    if wanted is not None and not matches_status(wanted, answer.status):
        yield f"status is {answer.status}, not {json.dumps(wanted)}"
    allowed = _items(assertions.get("status_in"))
    if allowed and answer.status not in allowed:
        yield f"status is {answer.status}, not one of {json.dumps(allowed)}"


def _check_headers(wanted: Json, answer: CaseAnswer) -> Iterator[str]:
    for name, matcher in wanted.items() if isinstance(wanted, dict) else ():
        got = answer.headers.get(name.lower(), "")
        if isinstance(matcher, dict):
            pattern, text = matcher.get("$match"), matcher.get("$eq", got)
            met = text == got and (pattern is None or search(pattern, got))
            met = met and ("$exists" not in matcher or bool(got) is matcher["$exists"])
        else:
            met = got == (matcher or "")
        if not met:
            yield f"header {name} is {got!r}, not {json.dumps(matcher)}"


def _check_body(wanted: Json, answer: CaseAnswer) -> Iterator[str]:
    if not isinstance(wanted, dict) or not wanted:
        return
    options = wanted.get("$or")
    if isinstance(options, list) and not any(
        matches_alternative(option, answer.body or {}, answer.text) for option in options
    ):
        yield f"no alternative of $or holds: {json.dumps(options)}"
    paths = {path: matcher for path, matcher in wanted.items() if _is_path(path)}
    if paths and answer.body is None:
        yield "the answer holds no JSON object"
        return
    for path, matcher in paths.items():
        yield from _check_path(path, matcher, answer.body)


def _is_path(name: str) -> bool:
    return name.startswith("$.") or not name.startswith("$")


def _check_path(path: str, matcher: Json, body: Json) -> Iterator[str]:
    try:
        value = lookup(path, body)
    except UnreachableError:
        if matcher != "absent":
            yield f"{path} cannot be reached (asserted {json.dumps(matcher)})"
        return
    if not matches(matcher, value):
        yield f"{path} is {json.dumps(value)[:_EXCERPT]}, not {json.dumps(matcher)}"


def _check_absent(paths: Json, answer: CaseAnswer) -> Iterator[str]:
    for path in _items(paths):
        try:
            value = lookup(str(path), answer.body or {})
        except UnreachableError:
            continue
        if value is not None:
            yield f"{path} is {json.dumps(value)[:_EXCERPT]}, but should be absent"


def _check_timing(wanted: Json, answer: CaseAnswer) -> Iterator[str]:
    limits = wanted if isinstance(wanted, dict) else {}
    less, more = limits.get("less_than"), limits.get("greater_than")
    if isinstance(less, (int, float)) and answer.elapsed_ms >= less:
        yield f"it took {answer.elapsed_ms:.0f} ms, not less than {less}"
    if isinstance(more, (int, float)) and answer.elapsed_ms <= more:
        yield f"it took {answer.elapsed_ms:.0f} ms, not more than {more}"
    about = limits.get("approximate")
    if isinstance(about, (int, float)) and abs(answer.elapsed_ms - about) > max(about / 2, 100):
        yield f"it took {answer.elapsed_ms:.0f} ms, not about {about}"


def check_across(assertions: Mapping[str, Json], answers: Answers) -> list[str]:
    """Return the unmet comparisons of an ASSERT step: ``equality`` and ``exclusive_claim``."""
    findings = []
    equality = assertions.get("equality")
    for left, right in equality.items() if isinstance(equality, dict) else ():
        one, other = resolve(left, answers), resolve(str(right), answers)
        if one is None or one != other:
            findings.append(f"{left} is {json.dumps(one)}, but {right} is {json.dumps(other)}")
    claim = assertions.get("exclusive_claim")
    if isinstance(claim, dict):
        findings += _check_claim(claim, answers)
    return findings


def _check_claim(claim: Mapping[str, Json], answers: Answers) -> Iterator[str]:
    job_id = resolve(str(claim.get("job_id")), answers)
    fetched = [_items(resolve(str(text), answers)) for text in _items(claim.get("fetches"))]
    holders = sum(
        any(isinstance(job, dict) and job.get("id") == job_id for job in jobs) for jobs in fetched
    )
    if claim.get("exactly_one_has_job") is True and (job_id is None or holders != 1):
        yield f"{holders} of {len(fetched)} fetches hold job {job_id}, not exactly one"
    empty = sum(not jobs for jobs in fetched)
    if claim.get("exactly_one_empty") is True and empty != 1:
        yield f"{empty} of {len(fetched)} fetches are empty, not exactly one"
