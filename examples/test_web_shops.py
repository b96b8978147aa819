"""Test the shops in Flask and Litestar without a server: the kit takes the backend's place."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from ojs_aws.testing import Ojs

Load = Callable[..., ModuleType]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Import a shop with a database of its own, if its framework is installed."""

    def loaded(name: str, driver: str, *needed: str) -> ModuleType:
        for package in needed:
            pytest.importorskip(package, reason=f"{package} is not installed: make setup does that")
        monkeypatch.setenv("SHOP_DATABASE", f"{driver}:///{tmp_path / 'shop.db'}")
        return importlib.import_module(f"examples.{name}")

    return loaded


def test_an_order_in_flask_is_confirmed(ojs: Ojs, load: Load) -> None:
    shop = load("flask_shop", "sqlite", "flask", "sqlalchemy")
    assert shop.app.test_cli_runner().invoke(args=["create-tables"]).exit_code == 0
    http = shop.app.test_client()
    placed = http.post("/orders")
    assert (placed.status_code, placed.json["number"]) == (202, 1)
    ojs.drain_sync()
    ojs.assert_completed(shop.confirm_order.call(1), count=1)
    assert http.get(f"/jobs/{placed.json['job']}").json == {"state": "completed"}
    assert http.get("/jobs/none").status_code == 404
    shop.engine.dispose()


def test_an_order_in_litestar_is_confirmed(ojs: Ojs, load: Load) -> None:
    shop = load("litestar_shop", "sqlite+aiosqlite", "litestar", "sqlalchemy", "aiosqlite")
    testing = importlib.import_module("litestar.testing")
    with testing.TestClient(shop.app) as http:
        placed = http.post("/orders")
        assert (placed.status_code, placed.json()["number"]) == (202, 1)
        ojs.drain_sync()
        ojs.assert_completed(shop.confirm_order.call(1), count=1)
        assert http.get(f"/jobs/{placed.json()['job']}").json() == {"state": "completed"}
        assert http.get("/jobs/none").status_code == 404
