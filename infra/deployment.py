"""Deploys the stack to the emulator by the real CDK command line, and uses its API."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra import CHECKOUT
from infra.emulator import ACCOUNT, REGION, Emulator

STACK: Final = "OjsLocal"
COMMAND_LIMIT_S: Final = 420.0
"""How long a command of the CDK may take."""
LIMIT_S: Final = 30.0
"""How long `keys create`, a request, and the demo job may take."""
ERROR_STATUS: Final = 400
SQS_BATCHED: Final = {"sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"}
_SILENCED_NODES: Final = ",".join(str(major) for major in range(18, 31))
"""Versions of Node about which the CDK gives no warnings."""

Say = Callable[[str], None]


class DeploymentError(RuntimeError):
    """Says which step of the deployment failed, and what the tool wrote."""


class SlowJobError(DeploymentError):
    """Says that the demo job has not ended in time; it may still end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Describes a deployed stack.

    :ivar api_url: the API, without ``/ojs/v1``.
    :ivar outputs: the stack's outputs by their names.
    :ivar seconds: how long each step took.
    """

    api_url: str
    outputs: Mapping[str, str]
    seconds: Mapping[str, float]


def find_cdk(environ: Mapping[str, str]) -> Path:
    """Find the CDK's command line: what ``CDK`` names, or what ``make node`` installed.

    :raises DeploymentError: the CDK or Node is not installed.
    """
    if shutil.which("node") is None:
        raise DeploymentError("The AWS CDK runs on Node: install Node 18 or newer.")
    path = Path(environ.get("CDK") or CHECKOUT / "node_modules" / ".bin" / "cdk")
    if not path.exists():
        raise DeploymentError(f"The CDK is not installed ({path}): run `make node`.")
    return path


def cdk_environment(emulator: Emulator) -> dict[str, str]:
    """Return the environment of the CDK's command line."""
    environ = emulator.environment(os.environ)
    return {
        **environ,
        # `python3` in cdk.json means this very interpreter where there is no .venv.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", "")]),
        "CDK_DEFAULT_ACCOUNT": ACCOUNT,
        "CDK_DEFAULT_REGION": REGION,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": _SILENCED_NODES,
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": _SILENCED_NODES,
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": _SILENCED_NODES,
    }


def deploy(
    emulator: Emulator, say: Say, context: Mapping[str, str] | None = None, stack: str = STACK
) -> Deployment:
    """Synthesise the app, bootstrap the emulator's account, and deploy the stack to it.

    :param context: further context of the app, as ``cdk deploy -c name=value`` gives it.
    :param stack: its name; one emulator can have several.
    :raises DeploymentError: a step failed.
    """
    target = emulator.target()
    seconds = {}
    say(f"synthesising {stack} for Python {target.python} on {target.machine} (cdk synth)")
    seconds["synth"] = _synthesise(emulator, stack, context or {})
    bootstrapped = emulator.folder / "bootstrapped"
    if not bootstrapped.exists():
        account = f"aws://{ACCOUNT}/{REGION}"
        say(f"bootstrapping the emulator's account (cdk bootstrap {account})")
        # Without --app, cdk bootstrap would synthesise the app of cdk.json first.
        app = f"--app={_assembly(emulator, stack)}"
        seconds["bootstrap"] = _cdk(emulator, "bootstrap", account, app)
        bootstrapped.touch()
    if emulator.enforces_iam:
        _fit_to_enforced_iam(emulator, stack)
    say("deploying (cdk deploy)")
    outputs_file = emulator.folder / f"{stack}.outputs.json"
    seconds["deploy"] = _cdk(
        emulator,
        "deploy",
        stack,
        f"--app={_assembly(emulator, stack)}",
        f"--outputs-file={outputs_file}",
        "--require-approval=never",
    )
    _tag_buckets(emulator, stack)
    outputs: dict[str, str] = json.loads(outputs_file.read_text())[stack]
    return Deployment(api_url=emulator.api_url(outputs["ApiUrl"]), outputs=outputs, seconds=seconds)


def destroy(emulator: Emulator, stack: str = STACK) -> float:
    """Destroy a stack, and return how many seconds that took.

    :raises DeploymentError: it could not be destroyed.
    """
    return _cdk(emulator, "destroy", stack, f"--app={_assembly(emulator, stack)}", "--force")


def _assembly(emulator: Emulator, stack: str) -> Path:
    """Return where the synthesised app is written."""
    return emulator.folder / f"{stack}.out"


def _synthesise(emulator: Emulator, stack: str, more: Mapping[str, str]) -> float:
    target = emulator.target()
    context = {
        "auth": "none",
        **more,
        "stack": stack,
        "architecture": target.machine,
        "python": target.python,
        "removal": "destroy",
    }
    options = [f"--context={name}={value}" for name, value in context.items()]
    output = f"--output={_assembly(emulator, stack)}"
    return _cdk(emulator, "synth", stack, "--quiet", output, *options)


def _fit_to_enforced_iam(emulator: Emulator, stack: str) -> None:
    """Add SQS's batch actions to the policies.

    The emulator checks them (``sqs:SendMessageBatch``); AWS has no such actions.
    """
    template = _assembly(emulator, stack) / f"{stack}.template.json"
    document = json.loads(template.read_text())
    for resource in document["Resources"].values():
        if resource["Type"] in {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"}:
            for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
                statement["Action"] = _with_batch_forms(statement["Action"])
    template.write_text(json.dumps(document))


def _with_batch_forms(actions: str | list[str]) -> list[str]:
    named = [actions] if isinstance(actions, str) else actions
    return [*named, *(f"{action}Batch" for action in named if action in SQS_BATCHED)]


def _tag_buckets(emulator: Emulator, stack: str) -> None:
    """Give buckets the tags that the template has; the emulator leaves them out."""
    import boto3  # noqa: PLC0415 - most commands here need no AWS client

    template = json.loads((_assembly(emulator, stack) / f"{stack}.template.json").read_text())
    stacks = boto3.client("cloudformation", **emulator.client_settings())
    s3 = boto3.client("s3", **emulator.client_settings())
    for name, resource in template["Resources"].items():
        tags = resource.get("Properties", {}).get("Tags")
        if tags and resource["Type"] == "AWS::S3::Bucket":
            found = stacks.describe_stack_resource(StackName=stack, LogicalResourceId=name)
            bucket = found["StackResourceDetail"]["PhysicalResourceId"]
            s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})


def _cdk(emulator: Emulator, *arguments: str) -> float:
    """Run the CDK, and return how many seconds it took."""
    began = time.monotonic()
    command = [str(find_cdk(os.environ)), *arguments, "--no-notices", "--no-color"]
    log = emulator.folder / "cdk.log"
    code: int | None
    with log.open("w") as output:
        try:
            code = subprocess.run(
                command,
                cwd=CHECKOUT,
                env=cdk_environment(emulator),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=COMMAND_LIMIT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
    if code != 0:
        late = f"took more than {COMMAND_LIMIT_S:.0f} s"
        why = late if code is None else f"failed with code {code}"
        raise DeploymentError(f"cdk {arguments[0]} {why}:\n{log.read_text('utf-8', 'replace')}")
    return time.monotonic() - began


def create_key(emulator: Emulator, deployment: Deployment, name: str, *scopes: str) -> str:
    """Make an API key of a deployment with the command line, and return it.

    :param scopes: of the key, such as ``producer``.
    :raises DeploymentError: the command failed, or took too long.
    """
    named = [part for scope in scopes for part in ("--scope", scope)]
    try:
        made = subprocess.run(
            [sys.executable, "-m", "ojs_aws.cli", "keys", "create", name, *named],
            cwd=CHECKOUT,
            env=cdk_environment(emulator) | {"OJS_TABLE": deployment.outputs["TableName"]},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise DeploymentError(f"ojs-aws keys create took more than {LIMIT_S:.0f} s") from late
    if made.returncode:
        raise DeploymentError(f"ojs-aws keys create failed: {made.stderr}")
    return made.stdout.strip()


def request(
    method: str, url: str, body: object = None, api_key: str = ""
) -> tuple[int, dict[str, Any]]:
    """Send one request, and return status and JSON body of the answer, errors included."""
    content = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, content, method=method)  # noqa: S310 - our own http URL
    if content is not None:
        asked.add_header("Content-Type", "application/openjobspec+json")
    if api_key:
        asked.add_header("Authorization", f"Bearer {api_key}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked, timeout=LIMIT_S) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        text = refused.read()
        try:
            return refused.code, json.loads(text)
        except ValueError:
            return refused.code, {"error": {"message": text.decode("utf-8", "replace")[:500]}}


def run_demo_job(api_url: str, say: Say, api_key: str = "") -> float:
    """Enqueue ``demo.echo``, wait for the worker, and return the seconds until it completed.

    :param api_key: may enqueue and read; needed if the deployment requires keys.
    :raises SlowJobError: the job did not end in time.
    :raises DeploymentError: the push was refused, or the job failed.
    """
    began = time.monotonic()
    pushed = {"type": "demo.echo", "args": ["hello"], "options": {"queue": "demo"}}
    try:
        status, answer = request("POST", f"{api_url}/ojs/v1/jobs", pushed, api_key)
        if status >= ERROR_STATUS:
            raise DeploymentError(f"Enqueueing failed with status {status}: {answer}")
        job = answer["job"]
        say(f"pushed demo.echo as {job['id']}: {job['state']}")
        seen = job["state"]
        while time.monotonic() - began < LIMIT_S and seen not in {"completed", "discarded"}:
            time.sleep(0.1)
            status, answer = request("GET", f"{api_url}/ojs/v1/jobs/{job['id']}", None, api_key)
            if status >= ERROR_STATUS:
                raise DeploymentError(f"Reading the job failed with status {status}: {answer}")
            job = answer["job"]
            if job["state"] != seen:
                seen = job["state"]
                say(f"job is {seen}")
    except (OSError, ValueError, KeyError) as problem:
        raise DeploymentError(f"The API did not answer as it should: {problem!r}") from problem
    if seen not in {"completed", "discarded"}:
        raise SlowJobError(f"The job has not ended within {LIMIT_S:.0f} s: {job}")
    if seen != "completed" or job.get("result") != ["hello"]:
        raise DeploymentError(f"The job failed: {job}")
    return time.monotonic() - began
