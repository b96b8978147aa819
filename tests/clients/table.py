"""The table of docs/clients.md: how many calls pass on each server, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tests.clients.defects import Explanation, explanation_of
from tests.clients.results import SERVERS, Outcome

BEGIN: Final = "<!-- The table comes from `python -m tests.clients`. -->"
END: Final = "<!-- End of the table. -->"

Results = Mapping[str, Mapping[str, Sequence[Outcome]]]
"""By client, then by server."""


def unexplained(results: Results) -> list[str]:
    """Return the failures that nobody explained, a line for each."""
    return [
        f"{client} on {server}: {outcome.call}: {outcome.detail}"
        for client, by_server in results.items()
        for server, outcomes in by_server.items()
        for outcome in outcomes
        if not outcome.is_ok and explanation_of(client, outcome.call, server) is None
    ]


def rendered(results: Results, titles: Mapping[str, str]) -> str:
    """Return the table and the explanations below it, as Markdown."""
    lines = [BEGIN, ""]
    lines += [
        "| client | " + " | ".join(SERVERS.values()) + " |",
        "|---" * (len(SERVERS) + 1) + "|",
    ]
    for client, by_server in results.items():
        cells = [_cell(by_server.get(server)) for server in SERVERS]
        lines.append(f"| {titles[client]} | " + " | ".join(cells) + " |")
    lines += ["", "What does not pass:", "", "| client | call | where | why |", "|---|---|---|---|"]
    for client, by_server in results.items():
        for call, (servers, why) in _failures(client, by_server).items():
            where = "everywhere" if len(servers) == len(by_server) else ", ".join(servers)
            lines.append(f"| {titles[client]} | `{call}` | {where} | {_reason(why)} |")
    return "\n".join([*lines, "", END])


def _reason(why: Explanation | None) -> str:
    if why is None:
        return "Not explained."
    if why.is_ours:
        return f"Not offered. {why.reason}"
    return f"The client's own. {why.reason} (`{why.source}`)"


def _cell(outcomes: Sequence[Outcome] | None) -> str:
    if outcomes is None:
        return "not run"
    return f"{sum(outcome.is_ok for outcome in outcomes)} of {len(outcomes)}"


def _failures(
    client: str, by_server: Mapping[str, Sequence[Outcome]]
) -> dict[str, tuple[list[str], Explanation | None]]:
    """Return the calls that fail, each with the servers on which it does and the reason."""
    found: dict[str, tuple[list[str], Explanation | None]] = {}
    for server, outcomes in by_server.items():
        for outcome in outcomes:
            if not outcome.is_ok:
                why = explanation_of(client, outcome.call, server)
                found.setdefault(outcome.call, ([], why))[0].append(SERVERS[server])
    return found


def replaced(page: str, table: str) -> str:
    """Return a page with the table in the place of the one before.

    :raises ValueError: the page has no place for it.
    """
    start, end = page.index(BEGIN), page.index(END)
    return page[:start] + table + page[end + len(END) :]
