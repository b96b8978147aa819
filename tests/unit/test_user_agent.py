"""Requests to AWS say who they come from, in a text that is not made again for each of them."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.overhead import instructions_by_module
from ojs_aws import __version__
from ojs_aws.bootstrap import aws_clients
from ojs_aws.local.aws import embedded_aws


def test_requests_name_the_backend_at_little_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    seen: list[str] = []

    def note(request: Any, **_: Any) -> None:
        seen.append(str(request.headers["User-Agent"]))

    with embedded_aws():
        dynamodb = aws_clients().dynamodb
        dynamodb.meta.events.register("request-created.dynamodb", note)
        counted = instructions_by_module(dynamodb.list_tables)
    assert seen
    assert "ojs-aws/" + __version__ in str(seen[0])
    assert counted["botocore.useragent"] < sum(counted.values()) / 20
