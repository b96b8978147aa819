"""Describe filters of jobs, and what the backend answers about jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict

from ojs_aws.client.areas.dead_letters import BulkOutcome
from ojs_aws.domain.errors import JsonValue


class JobFilter(TypedDict, total=False):
    """Which jobs are meant: those that match all that is said.

    ``type`` is a job type, or the beginning of one and ``*``. They were created ``since`` an
    instant or later, and before ``until``: aware datetimes. ``tag`` is one of their tags, and
    ``error`` a part of the latest error's type and message, in any case.
    """

    queue: str
    states: Iterable[str]
    type: str
    since: datetime | None
    until: datetime | None
    tag: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """A job as it is shown in a list.

    :ivar described: everything that the backend says of it.
    """

    id: str
    type: str
    queue: str
    state: str
    attempt: int
    created_at: str
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Holds a page of jobs.

    :ivar cursor: where the next page starts; empty on the last one. A page may be short, or
        empty, and yet have one.
    :ivar total: how many match.
    :ivar is_exact: whether exactly so many do.
    :ivar total_is: ``exact``, an ``estimate``, or ``at_least``: a lower bound.
    :ivar examined: how many jobs were looked at for it.
    """

    jobs: Sequence[JobEntry]
    cursor: str
    total: int
    is_exact: bool
    examined: int = 0
    total_is: str = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBulkResult:
    """Holds the outcome of one request of a bulk change, or of its dry run.

    :ivar matched: jobs that it met.
    :ivar succeeded: ids of those that were changed; of a dry run, those that would be.
    :ivar failed: the outcomes of the others.
    :ivar cursor: where to go on; empty when no more jobs match.
    :ivar as_of: of a dry run: the instant whose states it counted (RFC 3339).
    :ivar examined: jobs that it looked at.
    """

    matched: int
    succeeded: Sequence[str]
    failed: Sequence[BulkOutcome]
    cursor: str = ""
    as_of: str = ""
    examined: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReason:
    """Describes one cause for which a job does not run now.

    :ivar code: names it for programs, such as ``queue_paused``.
    :ivar message: one or two sentences for people.
    :ivar until: when it ends by itself (RFC 3339); empty where nobody knows.
    :ivar hint: a command that shows more or helps; empty for none.
    :ivar described: everything that the backend says of it; ``data`` has the numbers.
    """

    code: str
    message: str
    until: str = ""
    hint: str = ""
    described: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDiagnosis:
    """Says why a job does not run now.

    :ivar state: the job's state as of now.
    :ivar reasons: the most important one first.
    :ivar checked: what the backend looked at.
    """

    state: str
    reasons: Sequence[JobReason]
    checked: Sequence[str]
