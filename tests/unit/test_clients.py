"""AWS clients are made once, whoever asks for them first."""

from __future__ import annotations

import threading

import pytest

from ojs_aws.bootstrap import InThreads, clients


def test_threads_that_ask_at_once_get_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of several documents in S3 are the first to need its client, side by side."""
    made: list[str] = []
    is_made_again = threading.Event()

    def make(service: str) -> object:
        if service in made:
            is_made_again.set()
        made.append(service)
        if service == "s3":
            is_made_again.wait(0.2)
        return object()

    monkeypatch.setattr(clients, "_maker", lambda *_: make)
    aws = clients.aws_clients()
    found = InThreads().each(lambda _: aws.s3(), range(4))
    assert len(set(map(id, found))) == 1
    assert made == ["dynamodb", "sqs", "s3"]
