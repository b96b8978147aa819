"""Pages of other sites, which ask by way of a user's browser."""

from __future__ import annotations

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.transport.http.negotiation import check_host
from ojs_aws.transport.http.routes import ROUTES
from tests.api import Api
from tests.simulation.world import World

ORIGIN = "https://jobs.example.com"
JOB = {"type": "demo.echo", "args": [1]}
HOST = {"Host": "api.example.com"}

FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://api.example.com"},
    {"Sec-Fetch-Site": "unheard-of"},
    {"Origin": "https://evil.example"},
    {"Origin": "https://jobs.example.com.evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
]
OWN = [
    {},
    {"Sec-Fetch-Mode": "cors"},  # the fetch of Node, where there is no page
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example"},
    {"Origin": "https://api.example.com"},
    {"Origin": "http://api.example.com"},
    {"Origin": ORIGIN},
    {"Sec-Fetch-Site": "cross-site", "Origin": ORIGIN},
]


@pytest.fixture(scope="module")
def opened() -> Api:
    """The functions of an open deployment, which a page of another origin may use."""
    return Api(World(settings=Settings(cors_origins=(ORIGIN,))).backend)


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_page_of_another_site_changes_nothing(opened: Api, headers: dict[str, str]) -> None:
    """It neither pushes nor pauses nor purges; what it reads, its browser keeps from it."""
    before = opened.get("/queues").text
    for method, path, body in (
        ("POST", "/jobs", JOB),
        ("POST", "/queues/default/pause", None),
        ("POST", "/queues/default/purge", {"states": ["available"], "confirm": True}),
        ("PUT", "/rate-limits/k", {"max": 1}),
        ("DELETE", "/jobs/01912345-6789-7abc-8def-0123456789ab", None),
    ):
        reply = opened.send(method, f"/ojs/v1{path}", body, headers={**HOST, **headers})
        assert (reply.status, reply.error["code"]) == (403, "permission_denied"), path
        assert "cors_origins" in reply.error["hint"]
    assert opened.get("/queues", headers={**HOST, **headers}).text == before


@pytest.mark.parametrize("headers", OWN, ids=str)
def test_programs_and_own_pages_are_not_concerned(opened: Api, headers: dict[str, str]) -> None:
    """The own page under any name of a proxy, configured origins, and whatever is no browser."""
    pushed = opened.post("/jobs", JOB, headers={**HOST, **headers})
    assert pushed.status == 201
    resumed = opened.send("POST", "/ojs/v1/queues/default/resume", headers={**HOST, **headers})
    assert resumed.status == 200


def test_every_operation_that_changes_something_looks_at_the_page() -> None:
    """Whatever its path is."""
    api = Api(World().backend)
    for route in ROUTES:
        if route.method == "GET":
            continue
        path = route.path.replace("<job_id>", "01912345-6789-7abc-8def-0123456789ab")
        path = path.replace("<", "").replace(">", "")
        reply = api.send(route.method, path, headers={"Sec-Fetch-Site": "cross-site"})
        assert reply.status == 403, route.operation


@pytest.mark.parametrize(("auth", "status"), [("gateway", 403), ("api-key", 401), ("iam", 401)])
def test_what_a_browser_never_sends_by_itself_protects(auth: str, status: int) -> None:
    """Keys and signatures; an authorizer of one's own may accept cookies or addresses."""
    api = Api(World(settings=Settings(auth=auth)).backend)
    assert api.post("/jobs", JOB, headers={"Sec-Fetch-Site": "cross-site"}).status == status


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "same-origin"}, {"Origin": ORIGIN}, {"Sec-Fetch-Site": "none"}]
)
def test_a_browsers_body_without_content_type_is_no_json(
    opened: Api, headers: dict[str, str]
) -> None:
    """Only a body without a type, or of a plain one, goes to another site without being asked."""
    plain = {"Content-Type": "", **headers}
    reply = opened.post("/jobs", '{"type":"demo.echo","args":[1]}', headers=plain)
    assert (reply.status, reply.error["details"]["field"]) == (400, "Content-Type")
    assert opened.post("/queues/default/resume", headers=headers).status == 200


def test_a_programs_body_without_content_type_is_json(opened: Api) -> None:
    """As curl sends it where its own type is taken away."""
    body = '{"type":"demo.echo","args":[1]}'
    assert opened.post("/jobs", body, headers={"Content-Type": ""}).status == 201


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost", True),
        ("LocalHost:8080", True),
        ("127.0.0.1:1", True),
        ("[::1]:8080", True),
        ("evil.example", False),
        ("evil.example:8080", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("[::1].evil.example", False),
        ("evil.example:8080:localhost", False),
        ("192.168.1.7", False),
        ("", False),
    ],
)
def test_a_server_answers_under_its_own_names_only(host: str, is_own: bool) -> None:
    """So no page gives the server a name of its own site, by DNS."""
    names = ("127.0.0.1", "localhost", "[::1]")
    if is_own:
        check_host({"host": host}, names)
        return
    with pytest.raises(PermissionDeniedError, match="this server"):
        check_host({"host": host}, names)


@pytest.mark.parametrize(
    ("host", "is_own"),
    [("192.168.1.7:8080", True), ("[fe80::1]:8080", True), ("1.evil.example", False)],
)
def test_an_address_is_nobodys_name(host: str, is_own: bool) -> None:
    """A server that listens on all addresses answers under each of them."""
    if is_own:
        check_host({"host": host}, (), has_any_address=True)
        return
    with pytest.raises(PermissionDeniedError):
        check_host({"host": host}, (), has_any_address=True)
