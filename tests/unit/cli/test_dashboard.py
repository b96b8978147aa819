"""The dashboard on this machine, in front of another server."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import pytest

from ojs_aws.cli.dashboard import region_of
from ojs_aws.cli.dashboard_server import DashboardServer, Upstream
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.client import SigV4
from ojs_aws.client.transports.credentials import ApiKey, Credentials
from tests.commands import run_command
from tests.load import HUNG_S

pytestmark = pytest.mark.thorough

FAR = "https://jobs.example.com"


@dataclass
class Far:
    """A server elsewhere, and what it was asked."""

    asked: list[httpx.Request] = field(default_factory=list)
    status: int = 200

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer, as an API does."""
        self.asked.append(request)
        headers = {"Retry-After": "7", "Set-Cookie": "a=b", "X-Request-Id": "req_1"}
        return httpx.Response(self.status, json={"items": []}, headers=headers)

    def upstream(self, credentials: Credentials | None, url: str = FAR) -> Upstream:
        """Return the way to it."""
        return Upstream(url, credentials, http_transport=httpx.MockTransport(self.answer))


@dataclass
class Near:
    """The dashboard on this machine."""

    server: DashboardServer

    def ask(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """Send a request as a browser does, with these headers."""
        port = int(self.server.url.rstrip("/").rpartition(":")[2])
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(method, path, body=body, headers=given)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def ask_raw(self, target: str) -> tuple[int, str]:
        """Send a request with a target that no browser sends."""
        port = int(self.server.url.rstrip("/").rpartition(":")[2])
        lines = (f"GET {target} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close", "", "")
        with socket.create_connection(("127.0.0.1", port), timeout=HUNG_S) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1"))
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.read().decode()


@pytest.fixture
def far() -> Far:
    """The other server."""
    return Far()


@contextmanager
def opened(upstream: Upstream, environment: str = "") -> Iterator[Near]:
    """Serve the dashboard on a free port."""
    server = DashboardServer(upstream, 0, environment)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield Near(server)
    finally:
        server.stop()
        thread.join()
        server.close()


@pytest.fixture
def near(far: Far) -> Iterator[Near]:
    """The dashboard, with a key for the other server."""
    with opened(far.upstream(ApiKey("the-key"))) as dashboard:
        yield dashboard


def test_the_page_is_served_and_names_the_real_server(near: Near) -> None:
    """So that the commands that it shows work without this server."""
    status, headers, text = near.ask("/", Accept="text/html")
    assert status == 200
    assert f'<meta name="ojs-server" content="{FAR}">' in text
    assert headers["cache-control"] == "no-store"
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "the-key" not in text
    assert "ojs-environment" not in text
    script = text.partition('src="')[2].partition('"')[0]
    assert near.ask(f"/{script}")[0] == 200
    assert near.ask("/none")[0] == 404


def test_requests_to_the_api_get_the_key(near: Near, far: Far) -> None:
    """Path, query and body are passed on as they are; the browser never sees the key."""
    body = '{"args":[1.50]}'
    path = "/ojs/v1/rate-limits/a%2Fb?limit=5&x=%20"
    status, headers, text = near.ask(
        path, "PUT", body, Content_Type="application/json", Cookie="c=d", Authorization="Bearer x"
    )
    assert (status, json.loads(text), headers["retry-after"]) == (200, {"items": []}, "7")
    assert "set-cookie" not in headers
    (request,) = far.asked
    assert str(request.url) == FAR + path
    assert (request.method, request.content.decode()) == ("PUT", body)
    assert request.headers["Authorization"] == "Bearer the-key"
    assert "Cookie" not in request.headers
    assert request.headers["Host"] == "jobs.example.com"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8081", "Origin": "http://evil.example:8081"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_sites_reach_nothing(
    near: Near, far: Far, method: str, headers: dict[str, str]
) -> None:
    """Neither by another name for this address nor by a request of another page."""
    status, _, text = near.ask("/ojs/v1/jobs", method, **headers)
    assert status == 403
    assert json.loads(text)["error"]["code"] == "permission_denied"
    assert far.asked == []


def test_the_own_page_is_known_by_both_names(near: Near, far: Far) -> None:
    """127.0.0.1 and localhost; each is its own origin."""
    port = near.server.url.rstrip("/").rpartition(":")[2]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        own = {"Host": host, "Origin": f"http://{host}", "Sec_Fetch_Site": "same-origin"}
        assert near.ask("/ojs/v1/jobs", "POST", "{}", **own)[0] == 200
    assert len(far.asked) == 2


@pytest.mark.parametrize("path", ["/ojs/../secret", "/ojs/v1/%2e%2e/%2e%2e/secret", "/metrics"])
def test_only_the_api_is_passed_on(near: Near, far: Far, path: str) -> None:
    """Nothing else that the other server may have."""
    assert near.ask(path)[0] in {400, 404}
    assert far.asked == []


@pytest.mark.parametrize(
    "target",
    [
        "x.evil.example:/ojs/v1/health",
        "x@evil.example/ojs/v1/health",
        ":1@evil.example/ojs/v1/health",
        "http://evil.example/ojs/v1/health",
        "https://evil.example/ojs/v1/health",
        "/\\evil.example/ojs/v1/health",
        "/ojs/v1/health?x=\x01",
        "/ojs/v1/health?x=\x7f",
        "/ojs/v1/health?x=\xe9",
        "/ojs/v1/health#x",
    ],
)
@pytest.mark.parametrize("url", [FAR, f"{FAR}:8443", f"{FAR}/stage"])
def test_the_key_goes_to_no_other_host(far: Far, target: str, url: str) -> None:
    """Whatever stands in the first line of the request."""
    with opened(far.upstream(ApiKey("the-key"), url)) as dashboard:
        status, text = dashboard.ask_raw(target)
    assert (status, json.loads(text)["error"]["code"]) == (400, "invalid_request")
    assert far.asked == []


def test_a_target_with_two_slashes_names_no_host(near: Near, far: Far) -> None:
    """Python's server reads them as one, and nothing depends on that."""
    host = {"host": "localhost:8081"}
    assert near.server.answer("GET", "//evil.example/ojs/v1/health", host, b"").status == 400
    assert far.asked == []


def test_a_path_before_the_api_is_kept(far: Far) -> None:
    """The stage of an API Gateway, or the path of a proxy."""
    with opened(far.upstream(ApiKey("the-key"), f"{FAR}/stage/ojs/v1")) as dashboard:
        assert dashboard.ask("/ojs/v1/rate-limits/a%2Fb?x=%20&y=a+b")[0] == 200
    assert [str(each.url) for each in far.asked] == [
        f"{FAR}/stage/ojs/v1/rate-limits/a%2Fb?x=%20&y=a+b"
    ]


def test_the_page_gets_the_name_of_the_environment(far: Far) -> None:
    """As `--environment` says: this machine shows the page, and another one is meant."""
    with opened(far.upstream(ApiKey("the-key")), "staging") as dashboard:
        assert '<meta name="ojs-environment" content="staging">' in dashboard.ask("/")[2]


def test_without_a_key_the_page_asks_for_one_and_sends_it(far: Far) -> None:
    """A 401 reaches the page; what is pasted there is passed on."""
    far.status = 401
    with opened(far.upstream(None)) as dashboard:
        assert dashboard.ask("/ojs/v1/queues")[0] == 401
        dashboard.ask("/ojs/v1/queues", Authorization="Bearer pasted")
    assert [each.headers.get("Authorization") for each in far.asked] == [None, "Bearer pasted"]


def test_a_pasted_key_goes_over_plain_http_to_this_machine_only(far: Far) -> None:
    """As a configured one does."""
    with opened(far.upstream(None, "http://jobs.example.com")) as dashboard:
        status, _, text = dashboard.ask("/ojs/v1/queues", Authorization="Bearer pasted")
    assert (status, far.asked) == (400, [])
    assert "use https" in text


def test_requests_are_signed_for_iam(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the credentials of this machine, each by itself."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with opened(far.upstream(SigV4("eu-west-1"))) as dashboard:
        assert (
            dashboard.ask("/ojs/v1/jobs", "POST", "{}", Content_Type="application/json")[0] == 200
        )
    (request,) = far.asked
    signature = request.headers["Authorization"]
    assert "AKIAEXAMPLE" in signature
    assert "/eu-west-1/execute-api/aws4_request" in signature
    assert "SignedHeaders=content-type;host" in signature


def test_a_server_that_does_not_answer_is_a_502(far: Far) -> None:
    """In words that the page shows."""

    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    upstream = Upstream(FAR, None, http_transport=httpx.MockTransport(fail))
    with opened(upstream) as dashboard:
        status, _, text = dashboard.ask("/ojs/v1/queues")
    assert status == 502
    assert json.loads(text)["error"]["message"] == f"No answer from {FAR}: refused."


# ------------------------------------------------------------------------------- the command


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the browser was asked to open; nothing is served for long."""
    addresses: list[str] = []

    def note(url: str) -> bool:
        addresses.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", note)
    monkeypatch.setattr(DashboardServer, "serve", lambda _: None)
    monkeypatch.delenv("OJS_API_KEY", raising=False)
    monkeypatch.delenv("OJS_URL", raising=False)
    return addresses


def test_the_command_opens_the_browser_unless_asked_not_to(served: list[str]) -> None:
    """And prints the address."""
    shown = run_command("dashboard", "--url", FAR, "--port", "0")
    assert shown.exit_code == 0, shown.output
    assert f"Dashboard of {FAR}: {served[0]}" in shown.output
    run_command("dashboard", "--url", FAR, "--port", "0", "--no-open")
    assert len(served) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--url", "jobs.example.com"], "is no URL of an OJS server"),
        (["--url", "https://jobs.example.com:port"], "is no URL of an OJS server"),
        (["--url", "http://jobs.example.com", "--api-key", "k"], "use https"),
        (["--url", FAR, "--api-key", "k", "--iam"], "not both"),
        (["--url", FAR, "--region", "eu-west-1"], "are for --iam"),
    ],
    ids=["url", "port", "http", "both", "region"],
)
def test_what_cannot_work_is_refused_at_once(
    served: list[str], options: list[str], says: str
) -> None:
    """With a sentence, before anything is served."""
    ran = run_command("dashboard", "--port", "0", *options)
    assert ran.exit_code == ExitCode.USAGE
    assert says in ran.stderr
    assert served == []


def test_a_port_in_use_is_named(served: list[str], near: Near) -> None:
    """With the way out."""
    port = near.server.url.rstrip("/").rpartition(":")[2]
    ran = run_command("dashboard", "--url", FAR, "--port", port)
    assert ran.exit_code == ExitCode.FAILED
    assert f"Port {port} cannot be used" in ran.stderr
    assert served == []


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://abc.execute-api.eu-west-1.amazonaws.com", "eu-west-1"),
        ("https://abc.execute-api.cn-north-1.amazonaws.com.cn/ojs/v1", "cn-north-1"),
        (FAR, ""),
    ],
)
def test_the_region_is_that_of_the_address(url: str, region: str) -> None:
    """A domain of one's own names none: the environment's region is used."""
    assert region_of(url) == region
