"""The examples of docs/workers-vpc-ecs.md synthesise, and its prices are the constructs'."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, Final

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from ojs_aws.cdk import WorkerEndpoints, WorkerEndpointsProps
from tests.infra.conftest import NO_BUNDLING

PAGE: Final = (Path(__file__).parents[2] / "docs" / "workers-vpc-ecs.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The code of the page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_make_both_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, as they are on the page."""
    monkeypatch.setattr("aws_cdk.App", functools.partial(App, context=NO_BUNDLING))
    monkeypatch.setenv("DATABASE_PASSWORD", "x")
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(block, names)  # noqa: S102 - our own page
    assert names["connect"]().startswith("postgresql://shop:x@")
    template = Template.from_stack(names["stack"])
    template.resource_count_is("AWS::ECS::Service", 1)
    functions = template.find_resources("AWS::Lambda::Function").values()
    assert len([each for each in functions if "VpcConfig" in each["Properties"]]) == 1


def test_the_prices_are_those_of_the_constructs() -> None:
    """Of one interface in a zone, and of the default in two."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    every = WorkerEndpoints(stack, "All", WorkerEndpointsProps(vpc=vpc))
    assert f"${every.dollars_a_month:.2f} a month in two zones" in PAGE
    zone = every.dollars_a_month / len(every.interfaces) / 2
    assert f"${zone:.2f} a month in each zone" in PAGE
