"""Every example of docs/middleware.md and docs/middleware/ runs as it is printed.

Each block has a namespace and a working directory of its own. HTTP requests reach a backend in
memory, whatever their URL.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.unit.client.doubles import FakeServer

DOCS: Final = Path(__file__).parents[2] / "docs"
LISTS: Final = {DOCS / "middleware" / f"{name}.md" for name in ("conformance", "proof", "built-in")}
"""Two lists of tests and one of pages, which have no examples."""
PAGES: Final = [DOCS / "middleware.md", *sorted({*(DOCS / "middleware").glob("*.md")} - LISTS)]
_FENCE: Final = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _blocks() -> list[object]:
    """Each block of each page, named by page and line, padded so that tracebacks show that line."""
    found: list[object] = []
    for page in PAGES:
        text = page.read_text()
        for block in _FENCE.finditer(text):
            line = text.count("\n", 0, block.start(1))
            padded = "\n" * line + block[1]
            found.append(pytest.param(page, padded, id=f"{page.name}:{line + 1}"))
    return found


@pytest.mark.parametrize(("page", "block"), _blocks())
def test_an_example_runs(
    page: Path, block: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As somebody who copies it into a file would run it."""
    server = FakeServer()

    async def handle(_: object, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return server.handle(request)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, str(page), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own docs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_an_example(page: Path) -> None:
    """Each page is about something to copy."""
    assert _FENCE.search(page.read_text())
