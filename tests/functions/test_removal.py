"""The removal function: what CloudFormation asks of it, and what it answers in any case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from ojs_aws.adapters import removal as pages
from ojs_aws.adapters.removal import QueuesOfFirstUse, RemovableBuckets
from ojs_aws.domain.envelope import Job
from ojs_aws.services.backend import Backend
from ojs_aws.services.upkeep.removal import Removal
from ojs_aws.topology import REMOVAL_TAG, REMOVED_WITH_STACK, sqs_queue_name
from ojs_aws.transport.events.removal import MARGIN_MS, build_removal, put_answer
from tests.aws import EmbeddedAws
from tests.load import HUNG_S

pytestmark = pytest.mark.moto

LARGE = "".join(hashlib.sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(600))
REQUEST = {
    "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/Jobs/1",
    "RequestId": "r",
    "LogicalResourceId": "BackendRemovalDocuments",
    "ResponseURL": "https://answers",
}


@dataclass
class Context:
    """An invocation with some time left."""

    left_ms: int = MARGIN_MS + 1

    def get_remaining_time_in_millis(self) -> int:
        """Until Lambda ends it."""
        return self.left_ms


@dataclass
class CloudFormation:
    """Asks the function over an AWS, and keeps the answers."""

    aws: EmbeddedAws
    answers: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, kind: str, context: object = None, **about: str) -> dict[str, Any]:
        """Send an event, and return the answer to it; the values of properties are text."""
        clients, settings = self.aws.clients, self.aws.settings
        queues = QueuesOfFirstUse(clients.sqs, settings.queue_prefix)
        removal = Removal(RemovableBuckets(clients.s3()), queues.delete)
        properties = {"Bucket": settings.bucket, "WithQueues": "true", **about}
        more = {} if kind == "Create" else {"PhysicalResourceId": "as it was"}
        event = {**REQUEST, "RequestType": kind, "ResourceProperties": properties, **more}
        build_removal(removal, self._keep)(event, context or Context())
        (answer,) = self.answers
        self.answers.clear()
        return answer

    def _keep(self, url: str, body: bytes) -> None:
        assert url == REQUEST["ResponseURL"]
        assert len(body) < 4096
        self.answers.append(json.loads(body))

    def objects(self) -> int:
        """How many documents there are."""
        found = self.aws.clients.s3().list_objects_v2(Bucket=self.aws.settings.bucket)
        return int(found["KeyCount"])

    def queues(self) -> set[str]:
        """The names of the queues."""
        urls = self.aws.clients.sqs.list_queues()["QueueUrls"]
        return {url.rsplit("/", 1)[-1] for url in urls}


@pytest.fixture
def used(aws: EmbeddedAws, backend: Backend) -> CloudFormation:
    """A deployment that was used, and whose bucket goes with its stack."""
    for queue in ("default", "first-use", "another"):
        for _ in range(2):
            backend.jobs.push(Job("demo.echo", [LARGE], queue=queue))
    aws.clients.s3().put_bucket_tagging(
        Bucket=aws.settings.bucket,
        Tagging={"TagSet": [{"Key": REMOVAL_TAG, "Value": REMOVED_WITH_STACK}]},
    )
    found = CloudFormation(aws)
    assert found.objects() == 6
    assert len(found.queues()) == len(CREATED) + 2
    return found


CREATED = {sqs_queue_name("ojs", "default"), "ojs-UNREADABLE", "ojs-CRON"}


def test_a_stack_that_was_used_can_be_deleted(used: CloudFormation) -> None:
    """Documents and queues of first use go; those of the template are the stack's own affair."""
    answer = used.ask("Delete")
    assert answer == {
        "Status": "SUCCESS",
        "Reason": "",
        "PhysicalResourceId": "as it was",
        **{name: REQUEST[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    assert used.objects() == 0
    assert used.queues() == CREATED
    assert used.ask("Delete") == answer


def test_queues_stay_where_only_a_bucket_is_meant(used: CloudFormation) -> None:
    """As with the bucket of the export."""
    queues = used.queues()
    assert used.ask("Delete", WithQueues="false")["Status"] == "SUCCESS"
    assert (used.objects(), used.queues()) == (0, queues)


def test_a_stack_that_shall_keep_its_data_loses_none(used: CloudFormation) -> None:
    """The update takes the tag away; then CloudFormation deletes what the template lacks."""
    queues = used.queues()
    used.aws.clients.s3().delete_bucket_tagging(Bucket=used.aws.settings.bucket)
    assert used.ask("Delete")["Status"] == "SUCCESS"
    assert (used.objects(), used.queues()) == (6, queues)


@pytest.mark.parametrize(("kind", "physical"), [("Create", None), ("Update", "as it was")])
def test_nothing_is_done_before_the_deletion(
    used: CloudFormation, kind: str, physical: str | None
) -> None:
    """The answer names the resource as it is called already."""
    with used.aws.calls.counted() as calls:
        answer = used.ask(kind)
    assert not calls
    assert answer["Status"] == "SUCCESS"
    assert answer["PhysicalResourceId"] == (physical or REQUEST["LogicalResourceId"])


def test_an_invocation_ends_in_time_and_the_next_goes_on(
    used: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a minute before Lambda would end it without an answer."""
    monkeypatch.setattr(pages, "VERSIONS_OF_A_PAGE", 2)
    late = used.ask("Delete", Context(MARGIN_MS))
    assert late["Status"] == "FAILED"
    assert "time to delete 2 objects" in late["Reason"]
    assert "Delete the stack again" in late["Reason"]
    assert used.objects() == 4
    assert used.ask("Delete")["Status"] == "SUCCESS"
    assert used.objects() == 0


def test_an_error_is_an_answer_too(used: CloudFormation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise CloudFormation waits as long as it may."""

    def broken(**_: Any) -> Any:
        raise RuntimeError("é" * 10_000)

    monkeypatch.setattr(used.aws.clients.s3(), "list_object_versions", broken)
    answer = used.ask("Delete")
    assert answer["Status"] == "FAILED"
    assert answer["Reason"].startswith("ééé")
    assert used.ask("Delete", Bucket="")["Status"] == "FAILED"  # what no SDK takes for a name


# ------------------------------------------------------------------------- the answer's way


@pytest.fixture
def answered() -> Iterator[tuple[str, list[tuple[str, str | None, bytes]]]]:
    """A server that keeps what is put there."""
    kept: list[tuple[str, str | None, bytes]] = []

    class Keeping(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            length = int(self.headers["Content-Length"])
            kept.append((self.path, self.headers["Content-Type"], self.rfile.read(length)))
            self.send_response(403 if "expired" in self.path else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keeping)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", kept
    server.shutdown()
    server.server_close()
    thread.join(HUNG_S)


def test_an_answer_is_put_without_a_content_type(
    answered: tuple[str, list[tuple[str, str | None, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL is signed for none; a refusal is raised, so that Lambda invokes again."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    url, kept = answered
    put_answer(f"{url}/stack?Signature=x", b"{}")
    assert kept == [("/stack?Signature=x", "", b"{}")]
    with pytest.raises(OSError, match="403"):
        put_answer(f"{url}/expired", b"{}")


def test_the_function_is_made_of_its_environment(
    function: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Lambda imports it."""
    sent: list[bytes] = []
    monkeypatch.setattr(
        "ojs_aws.transport.events.removal.put_answer", lambda _, body: sent.append(body)
    )
    event = {**REQUEST, "RequestType": "Create", "ResourceProperties": {}}
    function("removal")(event, Context())
    (body,) = sent
    assert json.loads(body)["Status"] == "SUCCESS"
