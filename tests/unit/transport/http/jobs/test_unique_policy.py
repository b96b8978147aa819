"""Unique policies as clients write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.uniqueness import named_key
from ojs_aws.transport.http.jobs.envelope import read_job


def read(unique: object, **more: Any) -> Any:
    """The job that a body with this policy means."""
    body = {"type": "a.b", "args": [{"user": 1}], "options": {"unique": unique}, **more}
    return read_job(parse_object(json.dumps(body)), 20)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"keys": ["type"]}, {"keys": ["type"]}),
        ({"key": ["type", "args"]}, {"keys": ["type", "args"]}),
        ({"key": ["user"]}, {"keys": ["args"], "args_keys": ["user"]}),
        ({"key": ["queue", "user"]}, {"keys": ["queue", "args"], "args_keys": ["user"]}),
        ({"key": ["args", "user"]}, {"keys": ["args"], "args_keys": ["user"]}),
        ({"keys": ["type"], "within": "5m"}, {"keys": ["type"], "period": "5m"}),
        ({"period": 90}, {"period": "PT90S"}),
        ({"period": "PT1H", "states": None}, {"period": "PT1H"}),
        ({"keys": ["type"], "key": ["args"]}, {"keys": ["type"], "key": ["args"]}),
        ({"key": [1]}, {"key": [1]}),
        ({"period": True}, {"period": True}),
    ],
)
def test_a_policy_is_read_as_the_specifications(written: object, meant: object) -> None:
    """What cannot be meant stays, for PUSH to refuse by its name."""
    job = read(written)
    assert job.get("unique") == meant
    assert "unique_key" not in job


def test_a_name_of_the_callers_own_becomes_the_key() -> None:
    """Of jobs of that type (section 2.2: ``type`` always counts)."""
    job = read({"key": "nightly", "within": "1h"})
    assert job.get("unique") == {"period": "1h"}
    assert job.get("unique_key") == named_key("a.b", "nightly")
    assert named_key("a.b", "nightly") != named_key("a.c", "nightly")


def test_a_policy_that_is_none_stays() -> None:
    """PUSH says what is wrong with it."""
    assert read("mine").get("unique") == "mine"


def test_a_policy_as_specified_keeps_its_own_text() -> None:
    """Byte for byte."""
    text = '{"type":"a.b","args":[],"unique":{"keys" : ["type"]}}'
    assert read_job(parse_object(text), 20).members()["unique"] == '{"keys" : ["type"]}'
