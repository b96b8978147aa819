"""The code map of docs/code-map.md names files that are there, and its recipes are short."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, cast

from ojs_aws.config import Settings
from ojs_aws.transport.http.resolver import build_resolver
from ojs_aws.transport.http.routes import Group
from ojs_aws.transport.tracing import Tracing
from tests.simulation.world import World

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "architecture.md").read_text("utf-8")
STORAGE: Final = (ROOT / "docs" / "job-storage.md").read_text("utf-8")
MAP: Final = (ROOT / "docs" / "code-map.md").read_text("utf-8")
RECIPES: Final = re.findall(r"^## (Add .+?)\n(.*?)(?=^##|\Z)", MAP, re.DOTALL | re.MULTILINE)
MOST_FILES: Final = 6


def test_every_file_that_the_page_names_is_there() -> None:
    """Paths with a folder; they start in the repository or in the package."""
    text = PAGE + STORAGE + MAP
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", text))
    assert "adapters/dynamodb/names.py" in named
    assert not {
        path
        for path in named
        if not (ROOT / path).exists() and not (ROOT / "ojs_aws" / path).exists()
    }


def test_a_recipe_has_at_most_six_steps() -> None:
    """A job attribute, an operation, a setting of a queue; each step is one file."""
    assert [title for title, _ in RECIPES] == [
        "Add a job attribute",
        "Add an operation",
        "Add a setting of a queue",
    ]
    for title, text in RECIPES:
        steps = re.findall(r"^(\d)\. ", text, re.MULTILINE)
        assert steps == [str(number + 1) for number in range(len(steps))], title
        assert len(steps) <= MOST_FILES, title


def test_the_steps_of_a_request_are_the_middleware_in_their_order() -> None:
    """All that there can be, from the outside in."""
    settings = Settings(metrics_by_operation=True, auth="none", client_rate_per_s=9)
    backend = World(settings=settings).backend
    resolver = build_resolver(backend, Group.PRODUCER, tracing=cast("Tracing", object()))
    routes = (*resolver._static_routes, *resolver._dynamic_routes)
    push = next(route for route in routes if route.func.__name__ == "push")
    around = [*resolver._router_middlewares, *push.middlewares]
    makers = [each.__qualname__.partition(".")[0] for each in around]
    section = re.search(r"^## A request\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert section is not None
    assert re.findall(r"^\d+\. `([a-z_]+)`", section[1], re.MULTILINE) == makers
