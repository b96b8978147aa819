"""Which limits callers with bounds see, and how far their keys are read for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from ojs_aws.adapters.dynamodb.limits import Limits
from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.limits import Bucket
from ojs_aws.services.limits.admin import is_seen, seen_page

MINE = View(queues=("mine", "my-*"))
TYPED = View(types=("a.b", "c.*"))
BOTH = View(queues=("mine",), types=("a.b",))


@pytest.mark.parametrize(
    ("key", "unbound", "mine", "typed", "both"),
    [
        ("api", True, False, False, False),
        ("queue:mine", True, True, False, False),
        ("queue:my-own", True, True, False, False),
        ("queue:hers", True, False, False, False),
        ("type:a.b", True, False, True, False),
        ("type:c.d", True, False, True, False),
        ("type:x.y", True, False, False, False),
        ("queue:mine:type:a.b", True, True, True, True),
        ("queue:mine:type:x.y", True, True, False, False),
        ("queue:hers:type:a.b", True, False, True, False),
        ("tenant/acme", True, False, False, False),
    ],
)
def test_a_limit_is_seen_by_those_who_may_see_all_jobs_that_it_counts(
    key: str, unbound: bool, mine: bool, typed: bool, both: bool
) -> None:
    assert [is_seen(key, view) for view in (UNBOUND, MINE, TYPED, BOTH)] == [
        unbound,
        mine,
        typed,
        both,
    ]


@dataclass
class Keys:
    """Limits by their keys; notes what is read."""

    keys: list[str]
    reads: list[Any] = field(default_factory=list)

    def load(self, key: str) -> Bucket | None:
        self.reads.append(key)
        return Bucket(key=key) if key in self.keys else None

    def page(self, after: str, limit: int) -> list[Bucket]:
        self.reads.append((after, limit))
        return [Bucket(key=key) for key in sorted(self.keys) if key > after][:limit]


def seen(limits: Keys, view: View, limit: int, after: str = "") -> list[str]:
    page = seen_page(cast("Limits", limits), view, after, limit)
    return [bucket.key for bucket in page]


ALL = [
    "api",
    "queue:hers",
    "queue:mine",
    "queue:mine:type:a.b",
    "queue:mine:type:x.y",
    "queue:my-1",
    "queue:my-2",
    "queue:zoo",
    "type:a.b",
]


@pytest.mark.parametrize(
    ("view", "after", "expected"),
    [
        (MINE, "", ALL[2:7]),
        (MINE, "queue:mine", ALL[3:7]),
        (MINE, "queue:mine:type:a.b", ALL[4:7]),
        (MINE, "queue:my-1", ["queue:my-2"]),
        (MINE, "queue:my-2", []),
        (BOTH, "", ["queue:mine:type:a.b"]),
        (TYPED, "", ["type:a.b"]),
        (TYPED, "type:a.b", []),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 5, 9])
def test_pages_go_through_the_seen_limits_by_their_keys(
    view: View, after: str, expected: list[str], limit: int
) -> None:
    assert seen(Keys(ALL), view, limit, after) == expected[:limit]


def test_keys_are_read_until_a_page_is_full_or_at_its_end() -> None:
    """By no read more; a page that is not full is the last one."""
    view = View(queues=("my-*",))
    keys = Keys(ALL)
    seen(keys, view, 2)
    assert len(keys.reads) == 1
    keys = Keys(ALL[:7])
    seen(keys, view, 3)
    assert len(keys.reads) == 1
    keys = Keys([*ALL, "queue:my-3", "queue:my-4"])
    hidden = View(queues=("my-*",), types=("a.b",))
    keys.keys += ["queue:my-4:type:a.b", "queue:my-5"]
    assert seen(keys, hidden, 2) == ["queue:my-4:type:a.b"]
    assert len(keys.reads) == 4


def test_a_key_before_the_page_is_not_read() -> None:
    keys = Keys(ALL)
    seen(keys, View(queues=("mine",)), 2, "queue:mine")
    assert "queue:mine" not in keys.reads
