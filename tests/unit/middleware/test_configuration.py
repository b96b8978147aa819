"""How the backend finds its chain."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from ojs_aws.config import SettingsError
from ojs_aws.middleware import (
    EnqueueChain,
    LoggingMiddleware,
)
from ojs_aws.middleware.extensions import enqueue_chain


def test_mw_enq_026_the_backend_s_chain_is_found_by_its_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MW-ENQ-026: loaded and frozen at the start; the default one without a path."""
    module = ModuleType("users_module")
    module.mine = EnqueueChain([LoggingMiddleware])  # type: ignore[attr-defined]
    module.chain = EnqueueChain()  # type: ignore[attr-defined]
    module.other = 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "users_module", module)
    assert enqueue_chain("users_module:mine") is module.mine
    assert module.mine.is_frozen
    assert enqueue_chain("users_module") is module.chain
    assert enqueue_chain("").names() == ["logging"]
    for wrong in ("users_module:nothing", "users_module:other", "no_such_module_at_all:x"):
        with pytest.raises(SettingsError, match="OJS_ENQUEUE_MIDDLEWARE"):
            enqueue_chain(wrong)
