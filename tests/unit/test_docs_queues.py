"""The pages about queues say what is so, and their examples run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.config import variable_of
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.queues.setting_rows import RETENTION
from ojs_aws.domain.queues.setting_rows import SETTINGS as ROWS
from tests.simulation.world import World

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ("queues.md", "bounded-queues.md", "queues-pause.md", "reference/queue-settings.md")
TEXT = "\n".join((DOCS / name).read_text("utf-8") for name in PAGES)
SETTINGS = (DOCS / "reference" / "queue-settings.md").read_text("utf-8")

KINDS: dict[type, str] = {str: "duration", list: "array", dict: "object"}


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the page."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)  # noqa: S102 - our own page
    with SyncClient(client=Client(transport=InProcessTransport(World().backend))) as client:
        names["maintain"](client)
        names["show"](client)
        assert capsys.readouterr().out == "default active 0\nemail active 0\n"
        names["settle"](client)
        assert capsys.readouterr().out == "600 4\n"


def settings_table() -> str:
    """Return the settings of a queue as a Markdown table."""
    lines = ["| setting | values | default | meaning |", "|---|---|---|---|"]
    for row in ROWS.values():
        if not row.doc:
            continue
        values = KINDS.get(row.kind) or f"{row.least} to {row.most:,}"
        deployed = [*RETENTION.values()] if row.name == "retention" else [row.deployed]
        shown = [variable_of(each) for each in dict.fromkeys(deployed) if each]
        if row.default not in (None, ...):
            shown = [encode(row.default)]
        default = ", ".join(f"`{each}`" for each in shown) or "none"
        lines.append(f"| `{row.name}` | {values} | {default} | {row.doc} |")
    return "\n".join(lines)


def test_the_table_of_settings_is_the_rows_of_the_settings() -> None:
    """Each setting with its values, its default and its meaning."""
    found = re.search(r"^(\| setting \|.*?)\n\n", SETTINGS, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert found[1] == settings_table().replace("](", "](../")
