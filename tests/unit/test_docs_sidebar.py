"""The sidebar of the site is short, and every page can be reached from it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[2] / "docs"
TREE: Final = re.compile(r"```\{toctree\}\n((?::[^\n]*\n)*)\n(.*?)```", re.DOTALL)
CODE: Final = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LIST: Final = re.compile(r"<!-- removals -->.*?<!-- /removals -->", re.DOTALL)
"""What a run of the mutation tool writes."""
MOST_GROUPS: Final = 7
MOST_ENTRIES: Final = 9
MOST_WORDS: Final = 1500
"""Of a page that is read from its beginning, without blocks of code."""
LOOKED_UP: Final = {"cli", "upgrades", "glossary"}
"""Pages of the reference outside of its folder."""


def trees(page: str) -> list[tuple[str, list[str]]]:
    """Return the options and the pages of each toctree of a page, with whole names."""
    folder = Path(page).parent
    text = (DOCS / f"{page}.md").read_text("utf-8")
    found = []
    for options, lines in TREE.findall(text):
        names = [str(folder / line) for line in lines.split() if "*" not in line]
        for pattern in (line for line in lines.split() if "*" in line):
            paths = sorted((DOCS / folder).glob(f"{pattern}.md"))
            names += [path.relative_to(DOCS).with_suffix("").as_posix() for path in paths]
        found.append((options, names))
    return found


def test_the_sidebar_has_few_groups_of_few_entries() -> None:
    groups = trees("index")
    assert len(groups) <= MOST_GROUPS
    assert all(":caption:" in options for options, _ in groups)
    assert all(0 < len(names) <= MOST_ENTRIES for _, names in groups)


def test_proofs_decisions_and_single_middleware_have_no_entry() -> None:
    entries = {name for _, names in trees("index") for name in names}
    assert entries.isdisjoint({"simulation", "faults", "mutation", "testing-requirements"})
    assert not [name for name in entries if name.startswith("decisions/")]
    assert [name for name in entries if name.startswith("middleware/")] == ["middleware/built-in"]


def test_every_page_is_in_the_tree_once() -> None:
    reached = ["index"]
    for page in reached:
        reached += [name for _, names in trees(page) for name in names]
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(reached) == sorted(pages)


def test_no_page_is_long_but_of_reference_and_decisions() -> None:
    """Nobody reads those from their beginning."""
    long = {}
    for path in DOCS.rglob("*.md"):
        name = path.relative_to(DOCS).with_suffix("").as_posix()
        text = LIST.sub("", CODE.sub("", path.read_text("utf-8")))
        words = sum(1 for word in text.split() if re.search(r"\w", word))
        is_looked_up = name in LOOKED_UP or name.startswith(("reference/", "decisions/"))
        if words > MOST_WORDS and not is_looked_up:
            long[name] = words
    assert not long


def test_words_of_the_search_belong_to_pages() -> None:
    words = tomllib.loads((DOCS / "search-words.toml").read_text("utf-8"))
    assert not [page for page in words if not (DOCS / f"{page}.md").is_file()]


def test_sections_that_moved_are_where_old_links_lead() -> None:
    """And no longer where they were."""
    moved = re.findall(
        r'"([\w.#-]+)": "([\w.#-]+)"', (DOCS / "_static/moved.js").read_text("utf-8")
    )
    assert moved
    for old, new in moved:
        assert not _has(old)
        assert _has(new)


def _has(address: str) -> bool:
    """Return whether a page has the heading that an address names."""
    page, _, heading = address.partition("#")
    text = (DOCS / page).with_suffix(".md").read_text("utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
    return not heading or heading in anchors
