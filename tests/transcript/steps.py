"""What a feature's module is made of: requests as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.config import Settings

BASE: Final = "/ojs/v1"
OJS: Final = "application/openjobspec+json"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One request.

    Path, headers and body may name what earlier answers had: ``<job>`` stands for what a step
    saved as ``job``.

    :ivar name: says what the request is; unlike all others of its feature.
    :ivar path: with the query.
    :ivar body: text and bytes are sent as they are, anything else as JSON; None: no body.
    :ivar key: name of the credentials among the feature's; empty: none are sent.
    :ivar save: names for values of the answer's body, by their places (``jobs.0.id``).
    :ivar wait_s: how far the clock moves before the request.
    :ivar tick: whether the timer's function runs before the request.
    """

    name: str
    method: str
    path: str
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    save: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0
    tick: bool = False


@dataclass(frozen=True, kw_only=True)
class Key:
    """An API key that exists before a feature begins."""

    scopes: tuple[str, ...]
    queues: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Feature:
    """The requests that one deployment gets, in this order.

    :ivar name: of the file under ``recorded``.
    :ivar keys: the API keys by the names that the steps use.
    :ivar by_alias: whether the requests are sent again by the aliases of their routes.
    :ivar is_in_full: whether even the longest answers are shown, not their lengths and hashes.
    """

    name: str
    steps: Sequence[Step]
    settings: Settings = field(default_factory=Settings)
    keys: Mapping[str, Key] = field(default_factory=dict)
    by_alias: bool = True
    is_in_full: bool = False


def get(name: str, path: str, **more: object) -> Step:
    """Return a GET below the base path."""
    return _step(name, "GET", path, None, more)


def post(name: str, path: str, body: object = None, **more: object) -> Step:
    """Return a POST below the base path."""
    return _step(name, "POST", path, body, more)


def put(name: str, path: str, body: object = None, **more: object) -> Step:
    """Return a PUT below the base path."""
    return _step(name, "PUT", path, body, more)


def patch(name: str, path: str, body: object = None, **more: object) -> Step:
    """Return a PATCH below the base path."""
    return _step(name, "PATCH", path, body, more)


def delete(name: str, path: str, body: object = None, **more: object) -> Step:
    """Return a DELETE below the base path."""
    return _step(name, "DELETE", path, body, more)


def _step(name: str, method: str, path: str, body: object, more: Mapping[str, object]) -> Step:
    plain = Step(name=name, method=method, path=BASE + path, body=body)
    return replace(plain, **more)  # type: ignore[arg-type]  # the fields are checked by replace
