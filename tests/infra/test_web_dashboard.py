"""The page for operators at a deployed API: files for everybody, and no rights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ojs_aws.cdk import Access, ApiKeys, Iam, Jwt, OpenAccess
from ojs_aws.cdk.bundle import Target, build, page_bundle
from ojs_aws.cdk.endpoints import PAGE_PATHS
from ojs_aws.dashboard.files import STATIC
from ojs_aws.dashboard.page_function import ENVIRONMENT
from tests.infra.conftest import Synthesised
from tests.infra.templates import of_backend, of_context

HANDLER = "dashboard.page_function.handler"
ACCESS = (ApiKeys(), Jwt(issuer="https://id.example", audience=["ojs"]), Iam(), OpenAccess())


def page_routes(template: Synthesised) -> list[dict[str, Any]]:
    """The routes that lead to the page's function."""
    function = template.logical_id("AWS::Lambda::Function", template.function(HANDLER))
    (integration,) = [
        name
        for name, resource in template.document["Resources"].items()
        if resource["Type"] == "AWS::ApiGatewayV2::Integration"
        and function in str(resource["Properties"]["IntegrationUri"])
    ]
    return [each for each in template.of("AWS::ApiGatewayV2::Route") if integration in str(each)]


@pytest.mark.parametrize("access", ACCESS, ids=lambda access: type(access).__name__)
def test_the_page_asks_nobody_for_credentials(access: Access) -> None:
    """Whatever the API asks for. A browser has none when it opens an address."""
    routes = page_routes(of_backend(access=access, has_web_dashboard=True))
    keys = {f"{method} {path}" for method in ("GET", "HEAD") for path in PAGE_PATHS}
    assert {each["RouteKey"] for each in routes} == keys
    assert {each["AuthorizationType"] for each in routes} == {"NONE"}
    assert not [each for each in routes if "AuthorizerId" in each]


def test_every_file_of_the_page_has_a_route() -> None:
    """What is compressed is served under the name of the file itself."""
    names = {path.relative_to(STATIC) for path in STATIC.rglob("*") if path.is_file()}
    names = {name for name in names if name.suffix != ".gz"}
    folders = {Path(path).parent.relative_to("/") for path in PAGE_PATHS}
    assert {name.parent for name in names} == folders
    assert {str(name) for name in names if name.parent == Path()} == {"index.html", "LICENSES.txt"}


def test_the_function_of_the_page_may_only_write_its_log() -> None:
    """It knows no setting of the backend either: not even the name of the table."""
    template = of_backend(has_web_dashboard=True)
    assert all(action.startswith("logs:") for action in template.actions(HANDLER))
    function = template.function(HANDLER)
    assert [name for name in function["Environment"]["Variables"] if name.startswith("OJS")] == []


@pytest.mark.parametrize("is_by_context", [False, True])
def test_the_page_gets_the_name_of_the_environment(*, is_by_context: bool) -> None:
    """From the construct's options, or from the context of this repository's app."""
    template = (
        of_context(web_dashboard="true", environment="staging")
        if is_by_context
        else of_backend(has_web_dashboard=True, web_dashboard_environment="staging")
    )
    assert template.function(HANDLER)["Environment"]["Variables"][ENVIRONMENT] == "staging"


def test_a_backend_has_no_page_unless_it_is_asked_for() -> None:
    """A public route is a choice of whoever deploys."""
    handlers = {each["Handler"] for each in of_backend().of("AWS::Lambda::Function")}
    assert HANDLER not in handlers
    outputs = of_context(web_dashboard="true").document["Outputs"]
    assert outputs["DashboardUrl"]["Value"] == outputs["ApiUrl"]["Value"]
    assert "DashboardUrl" not in of_context().document["Outputs"]


def test_the_bundle_of_the_page_is_the_page_alone(tmp_path: Path) -> None:
    """It runs on Python's own library, and the functions of the API do not carry the page."""
    folder = build(page_bundle(Target.host()), tmp_path)
    assert [each.name for each in folder.iterdir()] == ["dashboard"]
    assert not (folder / "dashboard" / "web").exists()
    code = (
        "from dashboard.page_function import handler;"
        "page = handler({'routeKey': 'GET /', 'headers': {'Accept': 'text/html'}}, None);"
        "print(page['statusCode'], page['headers']['Content-Type'])"
    )
    own = f"import sys; sys.path.insert(0, '.'); {code}"
    command = [sys.executable, "-I", "-S", "-c", own]  # without this checkout's packages, too
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == "200 text/html; charset=utf-8\n"
