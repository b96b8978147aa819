"""The documentation's site: `make docs` builds it, and takes every warning for an error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE.parent), str(_HERE)]

from ojs_aws import __version__  # noqa: E402 - of this checkout

project = "ojs-aws"
author = "the ojs-aws authors"
release = version = __version__
project_copyright = "the ojs-aws authors, Apache-2.0"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "_extensions.moved_pages",
    "_extensions.search_index",
    "_extensions.tables",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
templates_path = ["_templates"]

# The theme loads nothing from another host: system fonts, and no links to AI services.
html_theme = "shibuya"
html_theme_options = {
    "accent_color": "gray",
    "color_mode": "auto",
    "show_ai_links": False,
    "toctree_collapse": False,
    "toctree_maxdepth": 1,
    "nav_links": [
        {"title": "Guides", "url": "getting-started"},
        {"title": "Operate", "url": "deploy"},
        {"title": "Reference", "url": "reference/python"},
        {"title": "Costs", "url": "costs"},
        {"title": "Changes", "url": "upgrades"},
    ],
}
html_title = "ojs-aws"
html_favicon = "_static/logo-light.svg"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [
    "moved.js",
    "search-engine.js",
    "search-dialog.js",
    ("code.js", {"defer": "defer"}),
]
html_sidebars = {"**": ["sidebars/localtoc.html", "sidebars/edit-this-page.html"]}
html_additional_pages = {"search": "search.html"}
html_use_index = False
html_domain_indices = False
# Where a page is edited, such as `https://host/owner/ojs-aws/edit/main/docs/{}`.
html_context = {"source_edit_template": os.environ.get("OJS_DOCS_EDIT_URL")}
# Pages that are gone, and what replaces them. Sections that moved are in _static/moved.js.
moved_pages = {"reference/scope": "not-there#parts-of-the-specification"}
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
# Shown by its name: `type[...]` would refer to one of the members that are named `type`.
autodoc_type_aliases = {"OneOrMoreErrors": "OneOrMoreErrors"}
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True, "show-inheritance": False}
python_use_unqualified_type_names = True
nitpicky = False
