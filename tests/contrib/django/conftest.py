"""A Django project with an app, two databases in files, and Django's login."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from asgiref.local import Local
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import override_settings

from ojs_aws.contrib.django.options import CLIENTS
from ojs_aws.typed_jobs.clients import FROM_ENVIRONMENT
from tests.contrib.postgres import Postgres


def _use_databases() -> None:
    """Let Django read the setting again: it does so once."""
    connections.close_all()
    connections.__dict__.pop("settings", None)
    connections._settings = None
    connections._connections = Local(connections.thread_critical)


def _database(file: Path) -> dict[str, str]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{file}.sqlite3"}


@pytest.fixture(scope="package")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Its settings stand over those that another test may have made before."""
    folder = tmp_path_factory.mktemp("django")
    databases = {alias: _database(folder / alias) for alias in ("default", "other")}
    if not settings.configured:  # other tests of the process then use these
        settings.configure(DATABASES={"default": _database(folder / "first")})
        django.setup()
    vars(settings._wrapped).setdefault("SECRET_KEY", "test")  # read when ours are taken back
    chosen = override_settings(
        DATABASES=databases,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "ojs_aws.contrib.django",
            "tests.contrib.django.shop",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        ROOT_URLCONF="ojs_aws.contrib.django.dashboard",
        SECRET_KEY="test",
        ALLOWED_HOSTS=["testserver"],
        USE_TZ=True,
        OJS={},
    )
    with warnings.catch_warnings():  # of DATABASES: the databases are made again below
        warnings.simplefilter("ignore", UserWarning)
        chosen.enable()
    _use_databases()
    call_command("migrate", verbosity=0)
    call_command("migrate", "ojs", database="other", verbosity=0)
    yield
    connections.close_all()
    chosen.disable()
    _use_databases()


@pytest.fixture(autouse=True)
def clients(project: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clients that belong to one test."""
    from tests.contrib.django.shop.jobs import jobs

    monkeypatch.delenv("OJS_URL", raising=False)
    yield
    connections.close_all()
    CLIENTS.close_sync()
    FROM_ENVIRONMENT.close_sync()
    jobs.close_sync()


@pytest.fixture(scope="package")
def on_postgresql(project: None, postgres: Postgres) -> Iterator[str]:
    """The alias of a database in PostgreSQL, whose outbox the migration made."""
    alias = "postgresql"
    postgres.query("CREATE DATABASE django")
    asked = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "django",
        "HOST": "127.0.0.1",
        "PORT": postgres.port,
        "USER": "ojs",
    }
    given = {"default": asked}
    connections.settings[alias] = connections.configure_settings(given)["default"]
    call_command("migrate", "ojs", database=alias, verbosity=0)
    yield alias
    connections.close_all()
    del connections.settings[alias]
    postgres.query("DROP DATABASE django WITH (FORCE)")


@pytest.fixture(params=["other", "postgresql"])
def alias(request: pytest.FixtureRequest) -> str:
    """The alias of a database with an empty outbox: in SQLite, and in PostgreSQL."""
    from ojs_aws.contrib.django.models import OutboxRow

    if request.param == "postgresql":
        request.getfixturevalue("on_postgresql")
    OutboxRow.objects.using(request.param).delete()
    return str(request.param)
