"""The Terraform module hands each parameter of the template on, and outputs what there is.

`terraform fmt` parses the files where it is installed, and a reader of them stands for it
elsewhere. Nothing is applied.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from ojs_aws.cdk.published_template import rendered

MODULE: Final = Path(__file__).parents[2] / "terraform"
TEMPLATE: Final = rendered(["default"])


def text_of(name: str) -> str:
    return (MODULE / name).read_text("utf-8")


def test_each_parameter_of_the_template_is_set() -> None:
    block = text_of("main.tf").partition("parameters = {")[2].partition("\n  }")[0]
    assert {*re.findall(r"^\s+(\w+) +=", block, re.MULTILINE)} == {*TEMPLATE["Parameters"]}


def test_each_variable_is_declared_and_used() -> None:
    declared = re.findall(r'^variable "(\w+)"', text_of("variables.tf"), re.MULTILINE)
    assert {*re.findall(r"var\.(\w+)", text_of("main.tf"))} == {*declared}
    given = text_of("example/main.tf").partition('module "jobs" {')[2].partition("\n}")[0]
    needed = re.findall(r'variable "(\w+)" \{\n(?:(?!default)[^}])*\n\}', text_of("variables.tf"))
    assert {*needed} <= {*re.findall(r"^  (\w+) +=", given, re.MULTILINE)}


OUTPUTS: Final = text_of("outputs.tf")


def test_each_output_is_one_of_the_template() -> None:
    named = re.findall(r'outputs\["(\w+)"\]', OUTPUTS)
    assert named
    assert {*named} <= {*TEMPLATE["Outputs"]}


def test_an_output_of_some_backends_has_a_default() -> None:
    """A missing key of a map fails a plan."""
    named = re.findall(r'lookup\([a-z_.]+\.outputs, "(\w+)", ""\)', OUTPUTS)
    assert named == [name for name, each in TEMPLATE["Outputs"].items() if "Condition" in each]


def test_defaults_are_those_of_the_template() -> None:
    """But for those that a list or a number writes otherwise."""
    text = text_of("variables.tf")
    pairs = {"prefix": "Prefix", "auth": "Auth", "architecture": "Architecture", "python": "Python"}
    for variable, parameter in pairs.items():
        found = re.search(rf'variable "{variable}" \{{[^}}]*default += "([^"]*)"', text)
        assert found is not None
        assert found[1] == TEMPLATE["Parameters"][parameter]["Default"]


def test_braces_are_balanced() -> None:
    for path in MODULE.rglob("*.tf"):
        text = path.read_text("utf-8")
        assert text.count("{") == text.count("}"), path


def test_terraform_reads_the_files_and_would_not_format_them() -> None:
    program = shutil.which("terraform")
    if program is None:
        pytest.skip("terraform is not installed")
    judged = subprocess.run(
        [program, "fmt", "-check", "-diff", "-recursive", MODULE],
        env={**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
