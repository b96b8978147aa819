"""Databases for tests of adapters: SQLite in a file, and PostgreSQL where the machine has it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.contrib.postgres import Postgres, programs


def tasks_package() -> str:
    """Return the package with Django's tasks: a part of Django 6, beside it before."""
    is_built_in = find_spec("django") is not None and find_spec("django.tasks") is not None
    return "django.tasks" if is_built_in else "django_tasks"


NEEDS: Final = {
    "celery": ("celery",),
    "django": ("django", tasks_package(), "sqlalchemy", "psycopg"),
    "fastapi": ("fastapi", "sqlalchemy", "aiosqlite"),
    "outbox": ("sqlalchemy", "psycopg"),
    "sqlalchemy": ("sqlalchemy", "psycopg", "alembic", "aiosqlite"),
}
"""What the tests of a folder import; without it, they are not collected: `make setup` installs."""

collect_ignore = [
    folder for folder, needed in NEEDS.items() if any(find_spec(name) is None for name in needed)
]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for the session; each test makes a schema, or drops what it made."""
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("PostgreSQL is not installed here (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg", reason="make setup installs it")
    folder = Path(tempfile.mkdtemp(prefix="ojs-postgres-"))
    server = Postgres(folder, bin_folder)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, once for each that the outbox works in."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shop.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    server.empty()
    return server.url
