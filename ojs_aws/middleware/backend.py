"""The enqueue chain of the backend: the user's, or the default one."""

from __future__ import annotations

import importlib

from ojs_aws.config import SettingsError
from ojs_aws.middleware.chain import EnqueueChain


def load_enqueue_chain(path: str) -> EnqueueChain:
    """The chain that PUSH runs before it stores a job, frozen.

    :param path: ``module:attribute`` of an EnqueueChain; empty for the default chain.
    :raises SettingsError: the path leads to no chain; a function that cannot run the middleware it
        was given must not start.
    """
    if not path:
        return EnqueueChain.default().freeze("the function started")
    module_name, _, attribute = path.partition(":")
    try:
        chain = getattr(importlib.import_module(module_name), attribute or "chain")
    except (ImportError, AttributeError) as problem:
        raise SettingsError(f"OJS_ENQUEUE_MIDDLEWARE is {path!r}: {problem}.") from problem
    if not isinstance(chain, EnqueueChain):
        raise SettingsError(
            f"OJS_ENQUEUE_MIDDLEWARE is {path!r}, which is a {type(chain).__name__} and no "
            "EnqueueChain."
        )
    return chain.freeze("the function started")
