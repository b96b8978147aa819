"""docs/events.md and docs/reference/events.md say what is so."""

from __future__ import annotations

import re
from pathlib import Path

from ojs_aws.domain.events import REQUIRED_DATA
from ojs_aws.transport.http.routes import ROUTES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "events.md").read_text()
TYPES = (ROOT / "docs" / "reference" / "events.md").read_text()


def test_every_published_type_is_in_the_table_with_its_data() -> None:
    """In the order of the code, with what ojs-events, section 4, requires."""
    found = re.search(r"<!-- types -->\n(.*?)<!-- /types -->", TYPES, re.DOTALL)
    assert found is not None
    rows = [line.split(" | ") for line in found[1].splitlines()[2:]]
    shown = {row[0].strip("|` "): tuple(re.findall(r"`(\w+)`", row[-1])) for row in rows}
    assert shown == REQUIRED_DATA


def test_every_parameter_is_explained() -> None:
    """Those of the route, no more and no less."""
    (route,) = [route for route in ROUTES if route.operation == "list_events"]
    section = TEXT.partition("## Reading the log over HTTP")[2].partition("\n## ")[0]
    explained: set[str] = set()
    for line in section.splitlines():
        if line.startswith("| `"):
            explained |= set(re.findall(r"`(\w+)`", line.split(" | ")[0]))
    assert explained == {name.replace("event_", "") for name in route.query}


def test_every_parameter_of_a_stream_is_explained() -> None:
    """Of the three routes together."""
    routes = [route for route in ROUTES if route.media_type == "text/event-stream"]
    section = TEXT.partition("## Following events in a browser")[2].partition("\n## ")[0]
    explained: set[str] = set()
    for line in section.splitlines():
        if line.startswith("| `"):
            explained |= set(re.findall(r"`(\w+)`", line.split(" | ")[0]))
    assert explained == {name for route in routes for name in route.query}
