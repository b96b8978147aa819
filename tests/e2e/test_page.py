"""The page for operators as it is deployed: served to everybody, and its API asks for a key."""

from __future__ import annotations

import re

import httpx
import pytest

from infra.deployment import Deployment
from ojs_aws.dashboard.files import STATIC
from tests.load import HUNG_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_a_browser_gets_the_page_and_its_files(deployment: Deployment, api_key: str) -> None:
    """Without a key; the API below the same address answers with one."""
    with httpx.Client(base_url=f"{deployment.api_url}/", timeout=HUNG_S) as http:
        page = http.get("", headers={"Accept": "text/html"})
        assert page.status_code == 200, page.text
        assert page.text == (STATIC / "index.html").read_text()
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
        files = re.findall(r'(?:src|href)="(assets/[^"]+)"', page.text)
        assert len(files) == 3
        for name in files:
            answer = http.get(name)
            assert answer.content == (STATIC / name).read_bytes()
            assert "immutable" in answer.headers["Cache-Control"]
        assert http.get("", headers={"Accept": "application/json"}).status_code == 404
        assert http.get("ojs/v1/admin/overview").status_code == 401
        signed = {"Authorization": f"Bearer {api_key}"}
        assert http.get("ojs/v1/admin/overview", headers=signed).status_code == 200
