"""Requests made from the OpenAPI document, to the deployed API: with a key, and without.

One for each operation; ``tests/functions`` sends thousands to the same code. Here they pass
through the gateway, with the rights that the functions have.
"""

from __future__ import annotations

import pytest

from infra.deployment import Deployment
from infra.emulator import Emulator
from tests.e2e.steps import log_lines
from tests.functions.fuzzing import documented, route_of, suggested
from tests.load import HUNG_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


SERVER_ERROR = 500


def test_no_request_fails_the_deployed_api_and_none_passes_without_a_key(
    deployment: Deployment, emulator: Emulator, api_key: str
) -> None:
    """No 5xx with an administrator's key; without one 401 but for what is public."""
    found: list[str] = []
    for label, operation in documented().items():
        is_public = route_of(label).is_public
        for case in suggested(operation, most=1):
            shown = f"{label} {case.path_parameters} {case.query} {case.body!r:.300}"
            refused = case.call(base_url=deployment.api_url, timeout=HUNG_S).status_code
            if (refused == 401) is is_public:
                found.append(f"{refused} without a key: {shown}")
            case.headers["Authorization"] = f"Bearer {api_key}"
            answer = case.call(base_url=deployment.api_url, timeout=HUNG_S)
            if answer.status_code >= SERVER_ERROR or answer.status_code in {401, 403}:
                found.append(f"{answer.status_code} with a key: {shown} -> {answer.text[:300]}")
    assert not found, "\n".join(found)
    failed = [line for line in log_lines(emulator) if "AccessDenied" in line]
    assert not failed, failed[:3]
