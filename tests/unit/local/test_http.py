"""What the local server refuses before it asks a function: other sites, and broken requests."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.local import LocalOptions
from ojs_aws.local.http import MAX_BODY_BYTES, Application, front_of, listen
from tests.load import HUNG_S

ORIGIN = "https://jobs.example.com"
JOBS = "/ojs/v1/jobs"
SETTINGS = Settings(cors_origins=(ORIGIN,))


@dataclass
class Front:
    """A server that listens, before a function that answers everything."""

    port: int = 0
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    resets: list[None] = field(default_factory=list)

    def handle(self, event: dict[str, Any], _: object) -> dict[str, Any]:
        """Note a request, and answer it."""
        http = event["requestContext"]["http"]
        self.asked.append((http["method"], event["rawPath"], len(event.get("body", ""))))
        return {"statusCode": 200, "headers": {}, "body": "{}"}

    def ask(self, lines: str, body: bytes = b"", host: str = "") -> tuple[int, str]:
        """Send a request by its first lines; its status and body."""
        given = host or f"127.0.0.1:{self.port}"
        head = f"{lines}\r\nHost: {given}\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=HUNG_S) as connection:
            connection.sendall(head.encode() + body)
            connection.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.read().decode()

    def push(self, headers: Mapping[str, str], path: str = JOBS, host: str = "") -> tuple[int, str]:
        """Send a body with these headers."""
        lines = [f"POST {path} HTTP/1.1", "Content-Length: 2"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return self.ask("\r\n".join(lines), b"{}", host)


@contextmanager
def listening(options: LocalOptions, settings: Settings = SETTINGS) -> Iterator[Front]:
    """Listen with these options."""
    front = Front()
    application = Application(
        {"all": front.handle},
        lambda *_: "all",
        reset=lambda: front.resets.append(None),
        authorizer=(lambda *_: {"context": {}}) if options.has_auth else None,
    )
    server = listen(options, front_of(application, options, settings))
    front.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield front
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    """An open server, which a page of another origin may use."""
    with listening(LocalOptions(port=0, host_names=("ojs", "Host.Docker.Internal"))) as front:
        yield front


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", [JOBS, "/ojs/v1/queues/default/purge", "/ojs/v1/test/reset"])
def test_pages_of_other_sites_reach_no_function(
    front: Front, path: str, headers: dict[str, str]
) -> None:
    """They neither push jobs, which the developer's workers would run, nor clear anything."""
    front.asked.clear()
    status, text = front.push(headers, path)
    assert (status, json.loads(text)["error"]["code"]) == (403, "permission_denied")
    assert json.loads(text)["error"]["request_id"].startswith("req_")
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    assert front.ask("\r\n".join(lines))[0] == 403
    assert front.asked == front.resets == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "cross-site", "Origin": ORIGIN},
        {"Sec-Fetch-Mode": "cors"},
    ],
    ids=str,
)
def test_programs_and_named_pages_reach_functions(front: Front, headers: dict[str, str]) -> None:
    """As they did."""
    front.asked.clear()
    assert front.push(headers)[0] == 200
    assert [(method, path) for method, path, _ in front.asked] == [("POST", JOBS)]


def test_links_of_other_sites_lead_to_the_dashboard(front: Front) -> None:
    """Its files are no secret."""
    lines = "GET / HTTP/1.1\r\nAccept: text/html\r\nSec-Fetch-Site: cross-site"
    status, text = front.ask(lines)
    assert (status, "<title>" in text) == (200, True)


@pytest.mark.parametrize("host", ["localhost:{}", "127.0.0.1:{}", "[::1]:{}", "localhost", "OJS:1"])
def test_the_servers_own_names_are_known(front: Front, host: str) -> None:
    """The port may be another one, which leads here."""
    assert front.push({}, host=host.format(front.port))[0] == 200
    assert front.push({}, host="host.docker.internal:8080")[0] == 200


@pytest.mark.parametrize("host", ["evil.example:{}", "192.168.1.7:{}", "localhost.evil.example"])
@pytest.mark.parametrize("path", [JOBS, "/", "/ojs/v1/events/stream"])
def test_a_name_that_dns_leads_here_is_refused(front: Front, host: str, path: str) -> None:
    """Its pages would be of this server's origin, and could read everything."""
    front.asked.clear()
    host = host.format(front.port)
    own = f"Sec-Fetch-Site: same-origin\r\nAccept: text/html\r\nOrigin: http://{host}"
    status, text = front.ask(f"GET {path} HTTP/1.1\r\n{own}", host=host)
    assert (status, json.loads(text)["error"]["code"]) == (403, "permission_denied")
    assert "--host-name" in json.loads(text)["error"]["hint"]
    absolute = front.ask(f"GET http://evil.example{path} HTTP/1.1")
    assert absolute[0] == 403
    assert front.asked == []


def test_a_server_on_all_addresses_answers_at_each_of_them() -> None:
    """And still under no foreign name."""
    with listening(LocalOptions(host="0.0.0.0", port=0)) as front:  # noqa: S104
        assert front.push({}, host="192.168.1.7:8080")[0] == 200
        assert front.push({}, host="evil.example:8080")[0] == 403


def test_with_keys_any_page_may_ask_and_no_foreign_name() -> None:
    """No browser sends a key by itself."""
    with listening(LocalOptions(port=0, has_auth=True)) as front:
        assert front.push({"Origin": "https://evil.example"})[0] == 200
        assert front.push({}, host="evil.example")[0] == 403


@pytest.mark.parametrize("length", ["abc", "-5", "+2", "2.0", "2, 2", "0x2", "²", "9" * 30])
def test_a_length_that_is_no_number_is_refused_as_json(front: Front, length: str) -> None:
    """Where it was a page of HTML, or a wait for more."""
    status, text = front.ask(f"POST {JOBS} HTTP/1.1\r\nContent-Length: {length}", b"{}")
    error = json.loads(text)["error"]
    assert (status, error["code"], error["details"]["field"]) == (
        400,
        "invalid_request",
        "Content-Length",
    )


def test_a_body_in_chunks_is_read(front: Front) -> None:
    """As API Gateway reads it."""
    front.asked.clear()
    lines = f"POST {JOBS} HTTP/1.1\r\nTransfer-Encoding: chunked"
    assert front.ask(lines, b"3\r\n{} \r\n1\r\n \r\n0\r\n\r\n")[0] == 200
    assert front.asked == [("POST", JOBS, 8)]  # four bytes in base64
    status, text = front.ask(lines, b"zz\r\n{}\r\n0\r\n\r\n")
    assert (status, json.loads(text)["error"]["code"]) == (400, "invalid_request")


def test_a_body_that_is_too_long_reaches_the_function_shortened(front: Front) -> None:
    """Which refuses it."""
    front.asked.clear()
    lines = f"POST {JOBS} HTTP/1.1\r\nContent-Length: {MAX_BODY_BYTES + 100}"
    assert front.ask(lines, b" " * (MAX_BODY_BYTES + 100))[0] == 200
    ((_, _, length),) = front.asked
    assert length == -(-(MAX_BODY_BYTES + 1) // 3) * 4
