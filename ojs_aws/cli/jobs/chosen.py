"""Says which jobs a command is for, and whether many of them may be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.terminal.options import DryRun, Yes, moment
from ojs_aws.cli.terminal.session import Session, misuse
from ojs_aws.cli.terminal.tables import counted

if TYPE_CHECKING:
    from ojs_aws.client.areas.entries import JobFilter
    from ojs_aws.domain.errors import JsonValue

Queue = Annotated[str, typer.Option("--queue", "-q", help="Only jobs of this queue.")]
Type = Annotated[
    str, typer.Option("--type", "-t", help="Only this job type, or all with a prefix: 'mail.*'.")
]
Since = Annotated[
    str, typer.Option(help="Created since an RFC 3339 time, or in the last 2h, 30m, P1D.")
]
Until = Annotated[str, typer.Option(help="Created before this time; the same forms.")]
Ids = Annotated[list[str] | None, typer.Argument(help="Ids of jobs; leave out to use a filter.")]


@dataclass(frozen=True, slots=True)
class ChosenJobs:
    """Selects the jobs that a command is for."""

    queue: Queue = ""
    state: Annotated[
        list[str] | None, typer.Option("--state", "-s", help="Only jobs in this state; repeatable.")
    ] = None
    type: Type = ""
    since: Since = ""
    until: Until = ""
    tag: Annotated[str, typer.Option(help="Only jobs that have this tag.")] = ""
    error: Annotated[
        str, typer.Option(help="Only jobs whose latest error has this text (ignoring case).")
    ] = ""

    @property
    def chosen(self) -> JobFilter:
        """Return the filter as the client's methods take it; empty if no option was given."""
        states = [_state(each) for each in self.state or []]
        named: JobFilter = {"queue": self.queue, "states": states, "type": self.type}
        named |= {"since": moment(self.since), "until": moment(self.until)}
        named |= {"tag": self.tag, "error": self.error}
        return named if any(named.values()) else {}


_OTHER_NAMES: Final = {"failed": "discarded", "dead": "discarded", "queued": "available"}
"""What other systems name the states."""


def _state(name: str) -> str:
    """Return a state that a person named.

    :raises typer.BadParameter: there is no such state.
    """
    from difflib import get_close_matches

    from ojs_aws.domain.job import JobState

    states = [str(state) for state in JobState]
    if name in states:
        return name
    near = _OTHER_NAMES.get(name) or next(iter(get_close_matches(name, states, n=1)), "")
    meant = f" Did you mean {near!r}?" if near else ""
    raise typer.BadParameter(f"no state {name!r}: there are {', '.join(states)}.{meant}")


@dataclass(frozen=True, slots=True)
class Consent:
    """Says whether many jobs may be changed."""

    dry_run: DryRun = False
    yes: Yes = False

    def check_named(self, session: Session, ids: list[str] | None) -> None:
        """Refuse a dry run of named jobs, which would be changed one by one.

        :raises typer.Exit: USAGE.
        """
        if ids and self.dry_run:
            hint = "Leave out --dry-run, or name a filter instead of ids."
            raise misuse(session.out, "A dry run counts the jobs of a filter, not ids.", hint)

    def agrees(self, session: Session, action: str, total: int, what: str) -> bool:
        """Return whether so many are to be changed, after asking; say so if nothing is changed.

        :param what: what they are called, in the singular.
        :raises typer.Exit: nobody can be asked, or the answer is no.
        """
        if self.dry_run or not total:
            would: dict[str, JsonValue] = {"dry_run": self.dry_run, "matched": total}
            text = f"{counted(total, what)} match{'es' * (total == 1)}; nothing was changed."
            session.out.said(text, {"action": action, **would})
            return False
        session.confirm(f"{action.capitalize()} {counted(total, what)}?", is_sure=self.yes)
        return True
