"""Examples of workers by SAM, Kubernetes and systemd are what these take, and what a worker needs.

SAM's is judged by cfn-lint's schemas, and compared with the construct's worker. For Kubernetes and
KEDA the schemas here name the members that the example may have. Nothing is deployed.
"""

from __future__ import annotations

import configparser
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml  # type: ignore[import-untyped]
from jsonschema import Draft202012Validator

from ojs_aws.cdk.published_template import TRIGGER, WORKER_TEMPLATE
from tests.infra.test_schemas import findings

EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "deployment"
WORKER: Final[dict[str, Any]] = json.loads(WORKER_TEMPLATE.read_text("utf-8"))["Resources"]


def only(**members: Any) -> dict[str, Any]:
    """An object that has these members at most."""
    return {"type": "object", "properties": members, "additionalProperties": False}


TEXT: Final = {"type": "string"}
TEXTS: Final = {"type": "object", "additionalProperties": TEXT}
NUMBER: Final = {"type": "integer", "minimum": 0}
SECRET: Final = only(secretKeyRef=only(name=TEXT, key=TEXT))
CONTAINER: Final = only(
    name=TEXT,
    image=TEXT,
    args={"type": "array", "items": TEXT},
    env={"type": "array", "items": only(name=TEXT, value=TEXT, valueFrom=SECRET)},
    resources=only(requests=TEXTS, limits=TEXTS),
    securityContext=only(
        runAsNonRoot={"const": True},
        runAsUser=NUMBER,
        allowPrivilegeEscalation={"const": False},
        readOnlyRootFilesystem={"const": True},
    ),
)
POD: Final = only(
    serviceAccountName=TEXT,
    terminationGracePeriodSeconds=NUMBER,
    containers={"type": "array", "items": CONTAINER},
)
SPECS: Final = {
    "apps/v1 Deployment": only(
        selector=only(matchLabels=TEXTS),
        template=only(metadata=only(labels=TEXTS), spec=POD),
    ),
    "keda.sh/v1alpha1 TriggerAuthentication": only(podIdentity=only(provider={"enum": ["aws"]})),
    "keda.sh/v1alpha1 ScaledObject": only(
        scaleTargetRef=only(name=TEXT),
        minReplicaCount=NUMBER,
        maxReplicaCount=NUMBER,
        pollingInterval=NUMBER,
        cooldownPeriod=NUMBER,
        triggers={
            "type": "array",
            "items": only(
                type={"const": "aws-sqs-queue"},
                authenticationRef=only(name=TEXT),
                metadata=only(queueURL=TEXT, awsRegion=TEXT, queueLength=TEXT),
            ),
        },
    ),
}


class Tagged(yaml.SafeLoader):  # type: ignore[misc]
    """Reads YAML with CloudFormation's short functions."""


Tagged.add_multi_constructor("!", lambda loader, name, node: {name: loader.construct_scalar(node)})


def of_kind(kind: str) -> dict[str, Any]:
    """The properties of the construct's resource of a type."""
    [found] = [each["Properties"] for each in WORKER.values() if each["Type"] == f"AWS::{kind}"]
    return dict(found)


def rights(statements: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """What is allowed and denied, without what it is about."""
    return {
        (each["Effect"], action)
        for each in statements
        for action in ([each["Action"]] if isinstance(each["Action"], str) else each["Action"])
        if not action.startswith(("logs:", "kms:"))
    }


def test_sam_takes_the_example_and_it_is_a_whole_worker() -> None:
    """It has the rights, the variables and the trigger of the construct's worker."""
    text = (EXAMPLES / "sam" / "template.yaml").read_text("utf-8")
    assert findings(text) == []
    worker = yaml.load(text, Tagged)["Resources"]["Worker"]["Properties"]  # noqa: S506 - a SafeLoader
    policy = of_kind("IAM::Policy")["PolicyDocument"]["Statement"]
    plain = [each for each in policy if "Effect" in each]  # others depend on a condition
    assert rights(worker["Policies"][0]["Statement"]) == rights(plain)
    expected = {*of_kind("Lambda::Function")["Environment"]["Variables"]}
    optional = {"POWERTOOLS_LOG_LEVEL", "OJS_ALLOW_UNDECLARED_QUEUES"}
    assert {*worker["Environment"]["Variables"]} == expected - optional
    trigger = worker["Events"]["Email"]["Properties"]
    same = ("BatchSize", "FunctionResponseTypes", "ScalingConfig")
    properties = WORKER[TRIGGER]["Properties"]
    assert {name: trigger[name] for name in same} == {name: properties[name] for name in same}
    assert 6 * worker["Timeout"] <= 60


def test_kubernetes_and_keda_take_the_example() -> None:
    """Each document by its schema; names agree, and a pod is given time to drain."""
    text = (EXAMPLES / "kubernetes" / "worker.yaml").read_text("utf-8")
    found = {f"{each['apiVersion']} {each['kind']}": each for each in yaml.safe_load_all(text)}
    assert {*found} == {*SPECS}
    for kind, each in found.items():
        Draft202012Validator(SPECS[kind]).validate(each["spec"])
        assert {*each} == {"apiVersion", "kind", "metadata", "spec"}
    deployment, scaled = found["apps/v1 Deployment"], found["keda.sh/v1alpha1 ScaledObject"]
    assert scaled["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    pod = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
    [container] = pod["spec"]["containers"]
    grace = int(container["args"][container["args"].index("--grace-s") + 1])
    assert pod["spec"]["terminationGracePeriodSeconds"] >= grace + 10


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """And waits for the worker's grace; systemd itself judges it where it is installed."""
    text = (EXAMPLES / "systemd" / "ojs-worker.service").read_text("utf-8")
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(text)
    program = unit["Service"]["ExecStart"]
    grace = int(program.partition("--grace-s ")[2])
    assert int(unit["Service"]["TimeoutStopSec"]) >= grace + 10
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    (tmp_path / "ojs-worker.service").write_text(text.replace(program.split()[0], "/bin/true"))
    judged = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "ojs-worker.service"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ojs-worker.service" not in judged.stderr, judged.stderr
