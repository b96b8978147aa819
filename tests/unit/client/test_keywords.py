"""A misspelt keyword of a client or a worker is answered with the one that was meant."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from ojs_aws import Client, LambdaWorker, SyncClient, Worker

URL = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("called", "given", "meant"),
    [
        (Worker, {"conurrency": 5}, "concurrency"),
        (Worker, {"grace": "25s"}, "grace_s"),
        (Worker, {"queue": "email"}, "queues"),
        (Worker, {"threads": 5}, "concurrency"),
        (Client, {"timeout": "5s"}, "timeout_s"),
        (Client, {"middlewares": []}, "middleware"),
        (Client, {"token": "x"}, "api_key"),
        (Client, {"auth": "x"}, "credentials"),
        (SyncClient, {"timeout": 5}, "timeout_s"),
    ],
)
def test_a_wrong_keyword_names_the_nearest(called: Any, given: dict[str, Any], meant: str) -> None:
    """Also one that other libraries have."""
    (name,) = given
    with pytest.raises(TypeError, match=rf"no parameter '{name}': did you mean `{meant}`\?"):
        called(URL, **given)


@pytest.mark.parametrize(
    ("called", "name", "by"),
    [
        (Worker, "concurrency", "int"),
        (Worker, "grace_s", "float"),
        (Worker, "visibility_timeout_s", "float"),
        (LambdaWorker, "margin_s", "float"),
        (Client, "timeout_s", "float"),
        (SyncClient, "timeout_s", "float"),
    ],
)
def test_a_number_that_is_text_is_answered_with_its_name(called: Any, name: str, by: str) -> None:
    """Environment variables hold text."""
    text = rf"{name} must be a number, not the text '10': convert it by {by}\(\.\.\.\)"
    with pytest.raises(TypeError, match=text):
        called(**{name: "10"})


def test_a_keyword_like_none_is_answered_with_all_of_them() -> None:
    """A Lambda worker has no concurrency: its event source mapping has."""
    with pytest.raises(
        TypeError, match=r"LambdaWorker\(\) has no parameter 'zzzz'\. It takes jobs"
    ):
        LambdaWorker(zzzz=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="has no parameter 'concurrency'"):
        LambdaWorker(concurrency=1)  # type: ignore[call-arg]


def test_a_class_of_ones_own_keeps_its_keywords() -> None:
    """It passes on what it does not take itself, and is named in the message."""

    class Mine(Worker):
        def __init__(self, *, tenant: str, **given: Any) -> None:
            super().__init__(URL, **given)
            self.tenant = tenant

    assert Mine(tenant="acme", concurrency=2).concurrency == 2
    with pytest.raises(TypeError, match=r"Mine\(\) has no parameter 'conc'"):
        Mine(tenant="acme", conc=2)


@pytest.mark.parametrize("called", [Client, Worker, LambdaWorker])
def test_the_signature_stays_visible_to_editors(called: Any) -> None:
    """What shows signatures at run time follows the wrapped constructor."""
    parameters = inspect.signature(called).parameters
    assert "hooks" in parameters
    assert not any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    assert called.__init__.__doc__.startswith("Describe the ")
