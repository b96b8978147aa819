"""Deliveries go to the host that was meant, over TLS, and signing keys may change meanwhile.

The names of tests about a requirement begin with its section of ojs-serverless.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.worker.delivery.answers import DeliveryError
from ojs_aws.worker.delivery.endpoint import HttpDelivery

x509: Any = pytest.importorskip("cryptography.x509")
JOB = "01a21c99-0000-7000-8000-000000000001"
DAY = timedelta(days=1)


def name(text: str) -> object:
    """Return a name of a certificate."""
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


@dataclass
class Authority:
    """A certificate authority of one test, in files of a folder."""

    folder: Path
    title: str

    def __post_init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self.key = ec.generate_private_key(ec.SECP256R1())
        basic = x509.BasicConstraints(ca=True, path_length=None)
        self.file = self._written(self._built(self.title, self.key, basic), "ca")

    def certificate(self, host: str, *, days: int = 1) -> tuple[Path, Path]:
        """Return the files of a certificate for a host, and of its key."""
        from cryptography.hazmat.primitives import serialization as forms
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        chain = self._written(self._built(host, key, names, days), host)
        private = self.folder / f"{self.title}-{host}.key"
        private.write_bytes(
            key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
        )
        return chain, private

    def _built(self, subject: str, key: Any, extension: Any, days: int = 1) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.serialization import Encoding

        until = datetime.now(UTC) + days * DAY
        builder = x509.CertificateBuilder(
            issuer_name=name(self.title),
            subject_name=name(subject),
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=until - 2 * DAY,
            not_valid_after=until,
        ).add_extension(extension, critical=False)
        signed: bytes = builder.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM)
        return signed

    def _written(self, pem: bytes, what: str) -> Path:
        path = self.folder / f"{self.title}-{what}.pem"
        path.write_bytes(pem)
        return path


@dataclass
class Endpoint:
    """A web server over TLS.

    :ivar keys: of the worker; ``rotates_to`` takes their place while a request is under way.
    """

    url: str = ""
    keys: list[str] = field(default_factory=lambda: ["old"])
    rotates_to: list[str] = field(default_factory=list)
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def deliver(self) -> object:
        """Deliver a job to it."""
        delivery = HttpDelivery(self.url, signing_keys=lambda: self.keys, timeout_s=10)
        return delivery(JobContext(Job("email.send", ["ada"], id=JOB)))


Serve = Callable[[tuple[Path, Path]], Endpoint]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts an endpoint with a certificate."""
    started: list[ThreadingHTTPServer] = []

    def start(files: tuple[Path, Path]) -> Endpoint:
        state = Endpoint()

        class Web(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                state.received.append((dict(self.headers), body))
                state.keys = state.rotates_to or state.keys
                answer = json.dumps({"status": "completed", "result": "sent"}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """Say nothing of a client that does not trust it."""

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        server = Server(("127.0.0.1", 0), Web)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        started.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        state.url = f"https://localhost:{server.server_port}/jobs"
        return state

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The one authority that this machine trusts."""
    authority = Authority(tmp_path, "trusted")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


def refused(endpoint: Endpoint) -> DeliveryError:
    """The error of a delivery that sends nothing."""
    with pytest.raises(DeliveryError) as caught:
        endpoint.deliver()
    assert endpoint.received == []
    return caught.value


def test_7_1_a_host_with_its_certificate_gets_the_job(serve: Serve, trusted: Authority) -> None:
    """By an authority that this machine trusts."""
    endpoint = serve(trusted.certificate("localhost"))
    assert endpoint.deliver() == "sent"
    assert len(endpoint.received) == 1


def test_7_1_a_certificate_of_another_host_is_a_delivery_error(
    serve: Serve, trusted: Authority
) -> None:
    """Somebody else answers: no byte of the job is sent, and the job's policy decides."""
    error = refused(serve(trusted.certificate("other.example")))
    assert error.type == "NoAnswer"
    assert "SSLError" in str(error)
    assert error.details["error_class"] == "delivery_error"
    assert error.details["error_type"] == "network_error"


def test_7_1_an_unknown_authority_is_a_delivery_error(
    serve: Serve, trusted: Authority, tmp_path: Path
) -> None:
    """Anybody may sign for any host."""
    unknown = Authority(tmp_path, "unknown")
    assert "SSLError" in str(refused(serve(unknown.certificate("localhost"))))


def test_7_1_a_certificate_that_has_ended_is_a_delivery_error(
    serve: Serve, trusted: Authority
) -> None:
    """Since a day."""
    assert "SSLError" in str(refused(serve(trusted.certificate("localhost", days=-1))))


def signed_by(request: tuple[dict[str, str], bytes]) -> list[str]:
    """The keys that signed a request, of those that the test uses."""
    headers, body = request
    text = headers["X-OJS-Timestamp"].encode() + b"." + body
    macs = {
        "sha256=" + hmac.new(key.encode(), text, hashlib.sha256).hexdigest(): key
        for key in ("old", "new")
    }
    return [macs[each] for each in headers["X-OJS-Signature"].split(",")]


def test_10_1_a_key_may_be_rotated_while_a_job_is_under_way(
    serve: Serve, trusted: Authority
) -> None:
    """Its answer counts, and each request is signed by the keys of its own moment."""
    endpoint = serve(trusted.certificate("localhost"))
    for keys in (["old", "new"], ["new", "old"], ["new"]):
        endpoint.rotates_to = keys
        assert endpoint.deliver() == "sent"
    assert endpoint.deliver() == "sent"
    assert [signed_by(each) for each in endpoint.received] == [
        ["old"],
        ["old", "new"],
        ["new", "old"],
        ["new"],
    ]
