"""The examples show how they are tested: each has a test, beside it if that is possible."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).parents[2]
EXAMPLES: Final = CHECKOUT / "examples"
SHOPS: Final = "tests/dashboard/test_shops.py"
ELSEWHERE: Final = {
    "django_shop": SHOPS,
    "events/stack.py": "tests/infra/test_event_consumer.py",
    "fastapi_shop": SHOPS,
    "flask_shop.py": "examples/test_web_shops.py",
    "from_celery/celery_shop.py": "examples/from_celery/test_shops.py",
    "from_celery/ojs_shop.py": "examples/from_celery/test_shops.py",
    "litestar_shop.py": "examples/test_web_shops.py",
    "shop_processes.py": "examples/django_shop/__main__.py",
}
"""What needs a browser or Node, what is compared with another one, and what the shops share."""


def examples() -> list[str]:
    """Return each application by its folder, and every other module by its file."""
    apps = {path.parent for path in EXAMPLES.rglob("__main__.py")}
    modules = {path for path in EXAMPLES.rglob("*.py") if not {*path.parents} & apps}
    own = {path for path in modules if not path.name.startswith("test_")}
    return sorted(path.relative_to(EXAMPLES).as_posix() for path in apps | own)


@pytest.mark.parametrize("example", examples())
def test_an_example_has_its_tests(example: str) -> None:
    """They import it, or start it."""
    path = EXAMPLES / example
    tests = path.with_name(f"test_{path.name}")
    if example in ELSEWHERE:
        tests = CHECKOUT / ELSEWHERE[example]
    assert path.stem in tests.read_text("utf-8")
