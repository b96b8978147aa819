"""Leave a page at each old address that leads to the new one."""

from __future__ import annotations

import html
import posixpath
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>This page has moved</title>
<meta http-equiv="refresh" content="0; url={url}">
<link rel="canonical" href="{url}">
<p>This page has moved <a href="{url}">here</a>.</p>
</html>
"""


def write(app: Sphinx, error: Exception | None) -> None:
    """Write a page for each of ``moved_pages``.

    :raises ValueError: the old page is still there, or the new one is not.
    """
    if error is not None or app.builder.format != "html":
        return
    for old, new in app.config.moved_pages.items():
        if old in app.env.found_docs or new.partition("#")[0] not in app.env.found_docs:
            raise ValueError(f"moved_pages: {old!r} must be gone, and {new!r} a page.")
        page, mark, section = new.partition("#")
        url = posixpath.relpath(f"{page}.html", posixpath.dirname(old) or ".") + mark + section
        target = Path(app.outdir) / f"{old}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_PAGE.format(url=html.escape(url)), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages at the end of a build."""
    app.add_config_value("moved_pages", {}, "html", types=(dict,))
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
