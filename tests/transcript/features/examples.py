"""The complete examples of the core and middleware specifications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.transcript.steps import Feature, post

FILE: Final = (
    Path(__file__).parents[2] / "unit" / "transport" / "http" / "examples" / "specification.json"
)
EXAMPLES: Final[list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
PATHS: Final = {"job": "/jobs"}

FEATURES: Final = [
    Feature(
        name="examples",
        by_alias=False,
        steps=[
            post(f"{number}: {each['section']}", PATHS[each["kind"]], each["request"])
            for number, each in enumerate(EXAMPLES, 1)
            if each["kind"] in PATHS
        ],
    )
]
