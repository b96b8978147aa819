"""Write what the search reads: the sections of all pages, with the group of each page."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

GUIDES: Final = "Guides"
DECISIONS: Final = "Decisions"
_OWN_NAME: Final = ("Operate", "Reference", "Design and proof")
"""Captions of the sidebar that are groups of results, too; pages below all others are guides."""

Section = tuple[int, str, str, str]
"""The number of its page, its heading, its anchor, its text."""


def groups(env: BuildEnvironment, root: str) -> dict[str, str]:
    """Return the group of results of each page, by the sidebar's captions."""
    found: dict[str, str] = {}

    def add(page: str, group: str) -> None:
        if page not in found:
            found[page] = DECISIONS if page.startswith("decisions/") else group
            for child in env.toctree_includes.get(page, ()):
                add(child, group)

    for tree in env.get_doctree(root).findall(addnodes.toctree):
        caption = tree.get("caption") or GUIDES
        for _, page in tree["entries"]:
            add(page, caption if caption in _OWN_NAME else GUIDES)
    return found


def sections(page: int, tree: nodes.document) -> Iterator[Section]:
    """Return each section and each described name of a page, without the sections inside it."""
    for section in tree.findall(nodes.section):
        heading = section.next_node(nodes.title)
        parts = [part for part in section if not isinstance(part, nodes.section | nodes.title)]
        text = " ".join(_plain(part) for part in parts if not _describes(part))
        first = section.parent is tree
        yield page, heading.astext() if heading else "", "" if first else section["ids"][0], text
    for entry in tree.findall(addnodes.desc):
        signature = entry.next_node(addnodes.desc_signature)
        if signature is None or not signature.get("ids"):
            continue
        content = entry.next_node(addnodes.desc_content)
        words = [_plain(part) for part in content or () if not isinstance(part, addnodes.desc)]
        name = signature.get("fullname") or signature.astext()
        yield page, name, signature["ids"][0], " ".join(words)


def _describes(part: nodes.Node) -> bool:
    return isinstance(part, addnodes.desc | addnodes.toctree | nodes.comment | nodes.raw)


def _plain(node: nodes.Node) -> str:
    """Return a node's words, with a space between paragraphs and cells."""
    texts = [text.astext() for text in node.findall(nodes.Text)] if node.children else []
    return re.sub(r"\s+", " ", " ".join(texts)).strip()


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the index beside the site's other files."""
    if error is not None:
        return
    root = app.config.root_doc
    kinds = groups(app.env, root)
    words = tomllib.loads((Path(app.srcdir) / "search-words.toml").read_text("utf-8"))
    pages: list[tuple[str, str, str, str]] = []
    found: list[Section] = []
    for name in sorted(app.env.found_docs - {root}):
        title = app.env.titles[name].astext()
        pages.append((name, title, kinds.get(name, GUIDES), words.pop(name, "")))
        found += sections(len(pages) - 1, app.env.get_doctree(name))
    for name in words:
        logging.getLogger(__name__).warning("search-words.toml names no page: %s", name)
    text = json.dumps(
        {"pages": pages, "sections": found}, ensure_ascii=False, separators=(",", ":")
    )
    target = Path(app.outdir) / "_static" / "search-index.js"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"globalThis.ojsSearchIndex={text};\n", "utf-8")


def no_other_search(app: Sphinx) -> None:
    """Leave out the search of Sphinx, which wants every word and has an index of its own."""
    if hasattr(app.builder, "search"):
        app.builder.search = False


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the index at the end of a build."""
    app.connect("builder-inited", no_other_search)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
