"""Declares what the mappings from changes to events get and return."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant


@dataclass(frozen=True, slots=True)
class Commit:
    """Holds what a stream record says about the write itself.

    :ivar at: when it was committed, to about a second.
    :ivar number: the record's sequence number; the same whenever the record is read.
    :ivar is_expiry: DynamoDB removed the item because its time to live was over.
    """

    at: Instant
    number: str = ""
    is_expiry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeEvent:
    """Holds an event that has no id yet; see :class:`~ojs_aws.domain.events.Event`."""

    kind: str
    time: Instant
    subject: str
    data: RawJson
    queue: str = ""
    job_type: str = ""
