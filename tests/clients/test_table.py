"""The table of clients: what drivers print becomes rows, and each failure has its reason."""

from __future__ import annotations

import re

import pytest

from tests.clients.__main__ import PAGE
from tests.clients.checkouts import CLIENTS
from tests.clients.defects import EXPLANATIONS
from tests.clients.results import SERVERS, BrokenDriverError, Outcome, read_outcomes
from tests.clients.table import BEGIN, END, rendered, replaced, unexplained

TITLES = {client.name: client.title for client in CLIENTS}


def test_drivers_print_a_line_for_each_call() -> None:
    """Other lines are their clients' own."""
    printed = ['{"call": "a", "ok": true}', "noise", '{"call": "b", "ok": false, "detail": "no"}']
    assert read_outcomes(printed) == [
        Outcome("a", is_ok=True),
        Outcome("b", is_ok=False, detail="no"),
    ]


@pytest.mark.parametrize("printed", [[], ["noise"], ['{"call": "a", "ok": true}'] * 2])
def test_a_driver_that_reports_nothing_or_twice_is_broken(printed: list[str]) -> None:
    """Otherwise no calls at all would count as all passed."""
    with pytest.raises(BrokenDriverError):
        read_outcomes(printed)


def test_a_failure_without_a_reason_is_named() -> None:
    """A known one is not, but only where it is known."""
    known = Outcome("doctor", is_ok=False, detail="401")
    found = unexplained({"cli": {"local": [known], "local-keys": [known]}})
    assert found == ["cli on local: doctor: 401"]


def test_the_table_counts_and_explains() -> None:
    """A row for each client, and one below for each call that fails."""
    outcomes = [Outcome("webhooks list", is_ok=False), Outcome("health", is_ok=True)]
    table = rendered({"cli": {"local": outcomes, "deployed": outcomes}}, TITLES)
    assert "| ojs-cli | 1 of 2 | not run | 1 of 2 | not run |" in table
    assert "| ojs-cli | `webhooks list` | everywhere | Not offered." in table
    assert replaced(f"before {BEGIN} old {END} after", table) == f"before {table} after"


def test_explanations_are_of_clients_that_there_are() -> None:
    """A reason for nobody would hide nothing, and mislead readers."""
    assert {each.client for each in EXPLANATIONS} <= TITLES.keys()
    keys = [(each.client, each.call) for each in EXPLANATIONS]
    assert len(set(keys)) == len(keys)


def test_a_defect_of_a_client_names_the_place_in_its_source() -> None:
    """Otherwise nobody could check that it is not ours."""
    unproven = [each.call for each in EXPLANATIONS if not each.is_ours and ":" not in each.source]
    assert unproven == []


def test_the_page_holds_every_client_on_every_server() -> None:
    """The table was written by a run of all, and none was left out since."""
    page = PAGE.read_text("utf-8")
    table = page[page.index(BEGIN) : page.index("What does not pass")]
    rows = {line.split(" | ")[0].strip("| "): line for line in table.splitlines()}
    for client in CLIENTS:
        assert client.title in rows, client.title
        counts = re.findall(r"\b\d+ of \d+\b", rows[client.title])
        assert len(counts) == len(SERVERS), rows[client.title]
    assert "Not explained" not in page
