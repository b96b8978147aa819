"""Names who made a change, as items keep it and events show it.

An item keeps it as a text beside a number that changes with each change of its kind (a version, a
revision, an instant). So nobody is named for a change that somebody else made, or an older version.

Later changes leave it as it is, since a claim knows nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import JsonValue

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord

ANONYMOUS: Final = "anonymous"
"""Who makes a change where access is open."""
MAX_LENGTH: Final = 256
"""Characters of an id, and of a name, that are kept with a change."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Names who makes a change.

    :ivar id: of the credential.
    :ivar name: what people call it.
    """

    id: str
    name: str = ""

    @property
    def text(self) -> str:
        """Return it as it is stored: without a name that the id says already."""
        return self.id if self.name == _name_in(self.id) else f"{self.id}\t{self.name}"

    @property
    def members(self) -> dict[str, JsonValue]:
        """Return it as events show it."""
        return {"id": self.id, "name": self.name}

    def __str__(self) -> str:
        """Return what people call it."""
        return self.name or self.id


def actor_of(actor_id: str, name: str) -> Actor:
    """Return the actor of a credential; an empty id is anybody's, where access is open."""
    if not actor_id:
        return Actor(ANONYMOUS, ANONYMOUS)
    return Actor(actor_id[:MAX_LENGTH], name[:MAX_LENGTH])


def stored_actor(actor: Actor | None, number: int) -> str:
    """Return who made a change, as it is stored; empty for the backend itself.

    :param number: of the change.
    """
    return "" if actor is None else f"{number} {actor.text}"


def read_actor(text: str, number: int | None = None) -> Actor | None:
    """Return who made a change; None where nobody knows.

    :param text: what was stored.
    :param number: of the change; None for whichever it was.
    """
    about, _, whose = text.partition(" ")
    if not whose or (number is not None and about != str(number)):
        return None
    actor_id, mark, name = whose.partition("\t")
    return Actor(actor_id, name if mark else _name_in(actor_id))


def change_number(text: str) -> int | None:
    """Return the number of the change that an actor was stored with; None where nobody knows."""
    about = text.partition(" ")[0]
    return int(about) if about.isdecimal() else None


def by_whom(text: str, number: int | None = None) -> dict[str, JsonValue]:
    """Return the member ``by`` of an event's data; nothing where nobody knows."""
    actor = read_actor(text, number)
    return {} if actor is None else {"by": actor.members}


def _name_in(actor_id: str) -> str:
    return actor_id.partition(":")[2] or actor_id


def by_hand(job: JobRecord, actor: Actor | None) -> JobRecord:
    """Return a job as somebody has just made it; as it is for the backend itself."""
    return job if actor is None else replace(job, changed_by=stored_actor(actor, job.version))
