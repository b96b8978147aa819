"""The requests of docs/schemas.md do what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from ojs_aws.middleware.builtin.validation.pattern_cost import MAX_LENGTH
from ojs_aws.services.schemas.validation import MAX_STEPS
from tests.api import Api
from tests.simulation.world import World

PAGE: Final = Path(__file__).parents[2] / "docs" / "schemas.md"


def test_the_requests_are_answered_as_the_page_says() -> None:
    """A registration, and a job that is refused."""
    api = Api(World().backend)
    schema, job = re.findall(r"-d '(.*?)'\n", PAGE.read_text(), re.DOTALL)
    assert api.post("/schemas", json.loads(schema)).status == 201
    refused = api.post("/jobs", json.loads(job))
    assert (refused.status, refused.json["error"]["code"]) == (422, "schema_validation")
    (error,) = refused.json["error"]["details"]["validation_errors"]
    assert {"pointer", "message", "schema_path"} <= error.keys()


def test_the_limits_are_those_of_the_code() -> None:
    """As they are printed."""
    text = PAGE.read_text()
    assert f"{MAX_LENGTH:,} characters" in text
    assert f"{MAX_STEPS:,} steps" in text
