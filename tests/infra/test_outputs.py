"""What a stack with a backend says after its deployment, and what its functions run on."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Annotations, Match, Template

from infra.app import make_app
from ojs_aws.cdk import Iam, JobBackend, JobBackendProps, OpenAccess, Target
from tests.infra.conftest import NO_BUNDLING

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
EMULATOR = "http://127.0.0.1:4566"


def own_app(props: JobBackendProps | None = None, id_: str = "Backend") -> Stack:
    """The stack of docs/deploy.md's app."""
    stack = Stack(App(context=NO_BUNDLING), "Jobs")
    JobBackend(stack, id_, props)
    return stack


def outputs_of(stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = Template.from_stack(stack).to_json()["Outputs"]
    return found


def text_of(value: object) -> str:
    """A value of a template, with its references left out."""
    parts = value["Fn::Join"][1] if isinstance(value, dict) else [value]
    return "".join(part if isinstance(part, str) else "?" for part in parts)


def test_an_app_of_ones_own_gets_outputs() -> None:
    """Named after the construct, so that two backends fit into a stack."""
    stack = own_app()
    JobBackend(stack, "Second-one", JobBackendProps(queue_prefix="second"))
    outputs = outputs_of(stack)
    names = ("ApiUrl", "TableName", "QueuePrefix", "QueueUrlPrefix", "BucketName")
    assert {f"Backend{name}" for name in names} <= outputs.keys()
    assert {f"Secondone{name}" for name in names} <= outputs.keys()
    assert outputs["BackendQueuePrefix"]["Value"] == "ojs__"


def test_the_app_of_the_repository_keeps_the_names_of_its_outputs() -> None:
    (stack,) = make_app(App(context=NO_BUNDLING)).node.children
    assert isinstance(stack, Stack)
    assert {"ApiUrl", "TableName", "QueuePrefix", "DeadLetterQueueUrl"} <= outputs_of(stack).keys()


def test_an_output_is_the_next_command() -> None:
    """It names the deployment, makes a key where one is wanted, and asks who one is."""
    command = text_of(outputs_of(own_app())["BackendNextCommand"]["Value"])
    assert command == (
        "export OJS_URL=? AWS_REGION=? OJS_TABLE=? && "
        "export OJS_API_KEY=$(ojs-aws keys create first --scope operator) && ojs-aws whoami"
    ).replace("OJS_URL=?", command.split()[1])
    for access in (Iam(), OpenAccess()):
        stack = own_app(JobBackendProps(access=access))
        assert "keys create" not in text_of(outputs_of(stack)["BackendNextCommand"]["Value"])


def test_functions_run_on_this_machine_at_an_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only an emulator is named by AWS_ENDPOINT_URL; AWS has Graviton and Python 3.13."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    assert runtimes_of(own_app()) == {("arm64", "python3.13")}
    monkeypatch.setenv("AWS_ENDPOINT_URL", EMULATOR)
    assert runtimes_of(own_app()) == {(Target.HOST.machine, f"python{Target.HOST.python}")}


def test_code_for_another_machine_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning names the error that one would see, and the way out."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", EMULATOR)
    other = own_app(JobBackendProps(target=Target("arm64", "3.9")))
    text = Match.string_like_regexp("Internal Server Error.*Target.HOST")
    Annotations.from_stack(other).has_warning("/Jobs/Backend", text)
    Annotations.from_stack(own_app()).has_no_warning("/Jobs/Backend", text)


def runtimes_of(stack: Stack) -> set[tuple[str, str]]:
    """Architecture and runtime of the functions."""
    functions = Template.from_stack(stack).find_resources("AWS::Lambda::Function").values()
    return {
        (*each["Properties"]["Architectures"], each["Properties"]["Runtime"]) for each in functions
    }


def test_the_app_of_the_docs_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Word for word; its worker's code lies where the page says."""
    (app,) = re.findall(r"```python\n(from pathlib.*?)```", PAGE.read_text(), re.DOTALL)
    code = tmp_path / "workers" / "email"
    code.mkdir(parents=True)
    (code / "jobs.py").write_text("handler = None\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("aws_cdk.App", functools.partial(App, context=NO_BUNDLING))
    made: dict[str, Any] = {}
    exec(app, made)  # noqa: S102 - our own page
    outputs = outputs_of(made["stack"])
    for name in re.findall(r"^\| `(Backend\w+)`", PAGE.read_text(), re.MULTILINE):
        assert name in outputs
