"""How `ojs-aws deploy` and `ojs-aws destroy` end where they cannot go on."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from ojs_aws.adapters.stacks import Change, Stacks, StackState
from ojs_aws.cli.deployment import deploy
from ojs_aws.cli.deployment.deploy_plans import Plan
from ojs_aws.cli.terminal.output import Output
from ojs_aws.domain.errors import BackendError
from tests.commands import run_command


class OneStack(Stacks):
    """A stack with a table and a bucket."""

    def __init__(self) -> None:
        cloud: Any = SimpleNamespace()
        super().__init__(cloud, cloud, "eu-west-1", "123456789012", lambda _: None)

    def state(self, name: str) -> StackState:
        outputs = {"QueuePrefix": "ojs__"}
        return StackState(
            name=name,
            status="CREATE_COMPLETE",
            reason="",
            parameters={},
            outputs=outputs,
            template={},
            tags={},
        )

    def resources(self, stack: str) -> Iterator[tuple[str, str, str]]:
        del stack
        yield ("T", deploy._TABLE, "the-table")
        yield ("B", deploy._BUCKET, "the-bucket")

    def delete(self, stack: str) -> None:
        """It goes."""


def test_ctrl_c_at_the_question_leaves_no_change_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor the empty stack that CloudFormation makes for it."""
    forgotten = []

    def forget(_: object, stack: str, change_set: str, *, is_new: bool) -> None:
        forgotten.append((stack, change_set, is_new))

    def interrupt(*_: object, **__: object) -> bool:
        raise typer.Abort

    changes = [Change("Add", "AWS::S3::Bucket", "B")]
    plan = Plan(stack="Jobs", change_set="one", is_new=True, changes=changes)
    monkeypatch.setattr(Stacks, "forget", forget)
    for name, value in {
        "with_account": lambda _, __, act: act(OneStack(), None),
        "clear": lambda *_, **__: None,
        "prepared": lambda *_: None,
        "planned": lambda *_: plan,
        "show": lambda *_: None,
        "agreed": interrupt,
    }.items():
        monkeypatch.setattr(deploy, name, value)
    assert run_command("deploy", "--no-preflight").exit_code == 1
    assert forgotten == [("Jobs", "one", True)]


def test_data_that_could_not_be_deleted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stack is gone, so the same command would not find it again."""

    def refuse(name: str) -> None:
        raise BackendError(f"DeleteBucket of {name} is denied.")

    removal = SimpleNamespace(table=lambda _: None, bucket=refuse, queues=lambda _: None)
    monkeypatch.setattr("ojs_aws.bootstrap.data_removal_of", lambda *_: removal)
    with pytest.raises(BackendError) as caught:
        deploy.destroyed(
            Output(as_json=False),
            OneStack(),
            "Jobs",
            delete_data=True,
            yes=True,
            endpoint_url=None,
        )
    assert caught.value.message == (
        "DeleteBucket of the-bucket is denied. Jobs is deleted; delete by hand: the-bucket, "
        "SQS queues ojs__*."
    )
