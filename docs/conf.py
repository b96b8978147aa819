"""The documentation's site: `make docs` builds it, and takes every warning for an error."""

from __future__ import annotations

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
    "sphinxcontrib.mermaid",
    "_extensions.tables",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = "ojs-aws"
html_copy_source = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
# Shown by its name: `type[...]` would refer to one of the members that are named `type`.
autodoc_type_aliases = {"OneOrMoreErrors": "OneOrMoreErrors"}
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True, "show-inheritance": False}
python_use_unqualified_type_names = True
nitpicky = False
