"""What the specification wants documented, and where the pages about middleware say it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ojs_aws.middleware import EnqueueChain, ExecutionChain

DOCS: Final = Path(__file__).parents[3] / "docs"
PAGE: Final = "\n".join(
    (DOCS / name).read_text() for name in ("middleware.md", "middleware/chains.md")
)


def section(title: str) -> str:
    """The text under a heading, each run of white space a single space."""
    (text,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return " ".join(text.split())


def test_mw_exe_022_the_rule_against_swallowing_stands_out() -> None:
    """As a note of its own, with the way to say that an error is handled."""
    notes = re.findall(r"^(?:> .*\n)+", PAGE, re.MULTILINE)
    (note,) = [one for one in notes if "**Never swallow an error of `call_next`.**" in one]
    assert "ctx.mark_handled(error)" in note


def test_mw_chain_008_it_is_said_how_a_member_is_addressed() -> None:
    """By class, instance or name; what the name is, and what two of a class are called."""
    text = section("Chains")
    for operation in ("add", "prepend", "insert_before", "insert_after", "remove"):
        assert f"`{operation}`" in text
    said = "Name a member by its class, by the instance, or by its name"
    assert said in text
    assert "the second is named `logging-2`" in text


def test_mw_chain_021_the_default_order_is_said_as_it_is() -> None:
    """MW-BUILTIN-017, MW-BUILTIN-018."""
    *first, last = ExecutionChain.default().names()
    names = ", ".join(f"`{name}`" for name in first)
    text = section("Chains")
    assert f"workers have {names} and `{last}`, in this order" in text
    assert f"the client and PUSH have `{'`, `'.join(EnqueueChain.default().names())}`" in text


def test_mw_batch_002_docs_say_what_happens_to_a_batch_with_a_refused_job() -> None:
    """Dropped and failed, by default and with ``atomic=True``, from the client and over HTTP."""
    text = section("Batches")
    assert "section 9.2), a job that a middleware drops or refuses is left out" in text
    assert "`enqueue_many(jobs, atomic=True)` (option B)" in text
    assert "Over HTTP a batch is all or nothing" in text


def test_river_021_hooks_are_preferred_where_they_suffice() -> None:
    """Middleware is for what spans an operation or sets context."""
    text = section("Hooks")
    assert "Prefer hooks. Use middleware for code that must run before and after" in text
