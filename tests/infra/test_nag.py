"""cdk-nag's AwsSolutions pack over the stack: it finds nothing but what is accepted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aws_cdk import App, Aspects, Stack
from aws_cdk.assertions import Annotations, Match
from cdk_nag import AwsSolutionsChecks

from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.variants import VARIANTS


def findings(stack: Stack) -> list[str]:
    """What the pack finds, warnings as well; those of the constructs have names of ours."""
    Aspects.of(stack).add(AwsSolutionsChecks(verbose=True))
    noted = Annotations.from_stack(stack)
    every = Match.any_value()
    found = [*noted.find_error("*", every), *noted.find_warning("*", every)]
    shown = [f"{each.id}: {each.entry.data}" for each in found]
    return [each for each in shown if "[ack: ojs:" not in each]


@pytest.mark.parametrize("make", VARIANTS)
def test_the_aws_solutions_pack_finds_nothing_that_is_not_accepted(
    make: Callable[[App], Stack],
) -> None:
    """Each exception is written at its resource (ojs_aws/cdk/storage.py)."""
    assert findings(make(App(context=NO_BUNDLING))) == []


def test_each_accepted_finding_has_a_reason(stack: Synthesised) -> None:
    """In a sentence, and of these rules only: another one is a decision to be seen in review."""
    accepted = [
        entry
        for resource in stack.document["Resources"].values()
        for entry in resource.get("Metadata", {}).get("cdk_nag", {}).get("rules_to_suppress", [])
    ]
    rules = {entry["id"].removeprefix("AwsSolutions-") for entry in accepted}
    assert rules == {"APIG4", "IAM5", "L1", "S1", "SQS3"}
    assert all(len(entry["reason"]) > 30 for entry in accepted)


def test_functions_write_their_own_log_and_no_other(stack: Synthesised) -> None:
    """No managed policy: Lambda's allows every log of the account. Logs end by themselves."""
    for role in stack.of("AWS::IAM::Role"):
        assert "ManagedPolicyArns" not in role
    for function in stack.of("AWS::Lambda::Function"):
        group = function["LoggingConfig"]["LogGroup"]["Ref"]
        logging = [
            resource
            for actions, resource in stack.statements(function["Handler"])
            if any(action.startswith("logs:") for action in actions)
        ]
        assert logging == [f"<{group}.Arn>"]
    assert all(group["RetentionInDays"] for group in stack.of("AWS::Logs::LogGroup"))
