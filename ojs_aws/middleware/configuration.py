"""Load the middleware and hooks that a setting names by their dotted path."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Final, TypeVar

from ojs_aws.config import SettingsError
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.hooks.registry import Hooks

T = TypeVar("T")

_STARTED: Final = "the function started"


def enqueue_chain(path: str) -> EnqueueChain:
    """Return the chain that PUSH runs before it stores a job, frozen.

    :param path: ``module:attribute`` of an EnqueueChain; empty for the default chain.
    :raises SettingsError: the path leads to no chain.
    """
    if not path:
        return EnqueueChain.default().freeze(_STARTED)
    return _loaded(path, "OJS_ENQUEUE_MIDDLEWARE", "chain", EnqueueChain).freeze(_STARTED)


def hooks(path: str) -> Hooks:
    """Return the hooks of the backend, frozen.

    :param path: ``module:attribute`` of Hooks; empty for none.
    :raises SettingsError: the path leads to no hooks.
    """
    if not path:
        return Hooks()
    return _loaded(path, "OJS_HOOKS", "hooks", Hooks).freeze(_STARTED)


def find(path: str, default: str, *, is_lenient: bool = False) -> object:
    """Return what a dotted path ``module:attribute`` leads to.

    :param default: the attribute that is meant when the path names a module alone.
    :param is_lenient: None stands for an attribute that does not exist.
    :raises ImportError: there is no such module, or it cannot be imported.
    :raises AttributeError: it has no such attribute.
    """
    module_name, _, attribute = path.partition(":")
    found: object = importlib.import_module(module_name)
    for part in (attribute or default).split("."):
        found = getattr(found, part, None) if is_lenient else getattr(found, part)
    return found


def search_here() -> None:
    """Let paths lead into the working directory as well, as those of ``python -m`` do."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _loaded(path: str, setting: str, default: str, wanted: type[T]) -> T:
    try:
        found = find(path, default)
    except (ImportError, AttributeError, ValueError) as problem:
        raise SettingsError(f"{setting} is {path!r}: {problem}.") from problem
    if not isinstance(found, wanted):
        raise SettingsError(
            f"{setting} is {path!r}, which is a {type(found).__name__} and no {wanted.__name__}."
        )
    return found
