"""The example of docs/django.md works in a project."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Final

import pytest
from django.test import RequestFactory

from ojs_aws.testing import Ojs

PAGE: Final = Path(__file__).parents[3] / "docs" / "django.md"


def test_the_example_sends_a_job_when_the_user_is_stored(
    ojs: Ojs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.contrib.auth.models import User  # when there is a project

    files = re.findall(
        r"<!-- file: shop/([\w.]+) -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    package = tmp_path / "guide_shop"
    package.mkdir()
    for name, text in files:
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    views = importlib.import_module("guide_shop.views")
    answer = views.sign_up(RequestFactory().post("/users", {"email": "ada@example.com"}))
    user = User.objects.get(username="ada@example.com")
    ojs.drain_sync()
    [job] = ojs.assert_completed(views.send_welcome.call(user.pk))
    assert (answer.status_code, job.returned) == (202, f"sent to user {user.pk}")


def test_each_block_of_python_can_be_read() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        compile(block, PAGE.name, "exec")
