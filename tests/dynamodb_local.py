"""Runs Amazon's DynamoDB Local under the tests: `pytest --dynamodb-local`.

It checks expressions, key conditions, sizes and transactions as the service does. Only DynamoDB
and its streams go there; SQS, S3 and EventBridge stay on moto. Each process of pytest starts a
server of its own, so that parallel tests share no tables.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import botocore.session
import pytest
from botocore.exceptions import BotoCoreError
from moto.core.models import MockAWS

FOLDER: Final = Path(__file__).resolve().parent.parent / ".dynamodb-local"
ENDPOINTS: Final = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS")
"""The variables by which AWS's SDKs find one service elsewhere."""

START_LIMIT_S: Final = 300.0
STOP_LIMIT_S: Final = 15.0

_SERVER: Final = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
_EXPECTED: Final = frozenset(
    {
        "ConditionalCheckFailedException",
        "TransactionCanceledException",
        "ResourceInUseException",  # a second process creates the table
        "ResourceNotFoundException",  # a test takes the table away
        "TrimmedDataAccessException",
    }
)
_CANCELLED_BY: Final = frozenset({"None", "ConditionalCheckFailed", "TransactionConflict"})
"""Errors that the code provokes on purpose. Any other one says that a request was wrong."""


def is_installed() -> bool:
    """Return whether Java is here and `make dynamodb-local` has been run."""
    return shutil.which("java") is not None and (FOLDER / "lib").is_dir()


def is_in_use() -> bool:
    """Return whether this process's DynamoDB clients go to DynamoDB Local."""
    return ENDPOINTS[0] in os.environ


@contextmanager
def running() -> Iterator[str]:
    """Start a server in memory on a free port, and yield its URL.

    :raises RuntimeError: it ends at once or does not answer within ``START_LIMIT_S``.
    """
    port = _free_port()
    libraries = FOLDER / "lib"
    java = ["java", f"-Djava.library.path={libraries}", "-cp", f"{libraries}/*"]
    process = subprocess.Popen(
        [*java, _SERVER, "-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_listening(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass(frozen=True, slots=True)
class Server:
    """The server of this process.

    :ivar client: a client of its own.
    :ivar refused: errors of the tests' clients that no code provokes on purpose.
    """

    client: Any
    refused: list[str] = field(default_factory=list)

    def drop_tables(self) -> None:
        """Delete all tables."""
        for name in self.client.list_tables()["TableNames"]:
            table = self.client.describe_table(TableName=name)["Table"]
            if table.get("DeletionProtectionEnabled"):
                self.client.update_table(TableName=name, DeletionProtectionEnabled=False)
            self.client.delete_table(TableName=name)


@contextmanager
def used(url: str) -> Iterator[Server]:
    """Send this process's DynamoDB calls to a server, and note what it refuses.

    As a fresh moto has no tables, the server's are deleted when one starts.
    """
    create_client = botocore.session.Session.create_client
    own: dict[str, Any] = {
        "region_name": "us-east-1",
        "aws_access_key_id": "own",
        "aws_secret_access_key": "own",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in ENDPOINTS:
            patch.setenv(name, url)
        patch.setenv("NO_PROXY", "127.0.0.1")
        server = Server(create_client(botocore.session.Session(), "dynamodb", **own))

        def create_watched(
            self: botocore.session.Session, service_name: str, *a: Any, **k: Any
        ) -> Any:
            client = create_client(self, service_name, *a, **k)
            if service_name == "dynamodb" and client.meta.endpoint_url == url:
                client.meta.events.register("after-call.dynamodb", _noting(server.refused))
            return client

        start = MockAWS.start

        def start_empty(self: MockAWS, reset: bool = True) -> None:
            start(self, reset)
            if MockAWS._nested_count == 1:
                server.drop_tables()

        patch.setattr(botocore.session.Session, "create_client", create_watched)
        patch.setattr(MockAWS, "start", start_empty)
        yield server


def _noting(errors: list[str]) -> Any:
    def note(http_response: Any, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if not http_response.headers:  # an answer that the test injects
            return
        error = parsed.get("Error", {})
        reasons = [reason.get("Code") for reason in parsed.get("CancellationReasons", [])]
        if (error and error.get("Code") not in _EXPECTED) or not _CANCELLED_BY.issuperset(reasons):
            errors.append(f"{model.name}: {error.get('Code')}: {error.get('Message')}")

    return note


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    give_up_at = time.monotonic() + START_LIMIT_S
    while time.monotonic() < give_up_at:
        if process.poll() is not None:
            raise RuntimeError(f"DynamoDB Local ended at once, with code {process.returncode}")
        with suppress(OSError, BotoCoreError):
            socket.create_connection(("127.0.0.1", port), timeout=2).close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"DynamoDB Local did not answer within {START_LIMIT_S:.0f} s")
