"""Runs ``make deploy-local``: the real CDK app on an emulator, without Docker or an account.

Deploys, runs a job through API Gateway, SQS and a Lambda worker, and stays until Ctrl-C; with
``--once`` (or ``ONCE=1``) it tears everything down instead, and exits with 0 only if all worked.
The API is open; with ``--auth`` (or ``AUTH=1``) it asks for API keys, as it does by default on AWS.
``--queues`` (or ``QUEUES=default,email``) declares queues.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Final

from infra.deployment import (
    Deployment,
    DeploymentError,
    SlowJobError,
    create_key,
    deploy,
    destroy,
    find_cdk,
    run_demo_job,
)
from infra.emulator import ACCESS_KEY, REGION, Emulator, EmulatorError, start_emulator, tail
from ojs_aws.cdk.bundle import BundlingError

_TRUE: Final = {"1", "true", "yes", "on"}
_INTERRUPTED: Final = 130


def say(text: str) -> None:
    """Report a step."""
    print(f"deploy-local: {text}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the return value is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m infra.deploy_local", description=__doc__)
    parser.add_argument("--once", action="store_true", help="run a job, tear down, exit")
    parser.add_argument("--auth", action="store_true", help="ask for API keys")
    parser.add_argument(
        "--queues", default=os.environ.get("QUEUES", ""), help="declared queues, with commas"
    )
    options = parser.parse_args(arguments)
    is_once = options.once or os.environ.get("ONCE", "").lower() in _TRUE
    has_auth = options.auth or os.environ.get("AUTH", "").lower() in _TRUE
    context = {"auth": "api-key"} if has_auth else {}
    if options.queues:
        context["queues"] = options.queues
    signal.signal(signal.SIGTERM, _interrupt)
    began = time.monotonic()
    try:
        find_cdk(os.environ)  # better now than after the emulator has started
        say("starting the AWS emulator")
        emulator = start_emulator(os.environ)
    except (EmulatorError, DeploymentError) as problem:
        return _failed(str(problem))
    except KeyboardInterrupt:
        return _INTERRUPTED
    try:
        _work(emulator, is_once=is_once, context=context)
    except KeyboardInterrupt:
        say("interrupted")
        return 0 if not is_once else _INTERRUPTED
    except (BundlingError, DeploymentError, EmulatorError) as problem:
        log = _keep(emulator)
        return _failed(f"{problem}\n\nThe emulator's last words:\n{tail(emulator.log)}\n\n{log}")
    finally:
        emulator.stop()
        say("the emulator is stopped")
    say(f"everything worked, in {time.monotonic() - began:.0f} s")
    return 0


def _work(emulator: Emulator, *, is_once: bool, context: Mapping[str, str]) -> None:
    say(f"the emulator answers on {emulator.endpoint_url}")
    deployment = deploy(emulator, say, context)
    for step, seconds in deployment.seconds.items():
        say(f"{step} took {seconds:.1f} s")
    say(f"the API answers on {deployment.api_url}")
    key = ""
    if "auth" in context:
        say("making an API key (ojs-aws keys create)")
        key = create_key(emulator, deployment, "demo", "producer", "read-only")
    _try_job(deployment.api_url, key, is_once=is_once)
    if is_once:
        say("tearing down (cdk destroy)")
        say(f"destroy took {destroy(emulator):.1f} s")
        return
    print(_how_to_go_on(emulator, deployment, key), flush=True)
    while True:
        if emulator.process.poll() is not None:
            raise EmulatorError("The emulator ended by itself.")
        time.sleep(1)


def _try_job(api_url: str, key: str, *, is_once: bool) -> None:
    """Run the demo job. A slow one is no reason to tear down what somebody wants to use.

    :raises DeploymentError: it failed; or it is slow, and nobody stays to see it end.
    """
    try:
        seconds = run_demo_job(api_url, say, key)
    except SlowJobError as problem:
        if is_once:
            raise
        say(f"WARNING: {problem}")
        say("the deployment stays; look at the job and the log below")
        return
    say(f"the Lambda worker completed the job {seconds:.1f} s after the push")


def _how_to_go_on(emulator: Emulator, deployment: Deployment, key: str) -> str:
    """Return the lines to paste into another terminal."""
    authorization = f"    -H 'Authorization: Bearer {key}' \\\n" if key else ""
    return (
        f"\nTry it:\n\n  curl -s '{deployment.api_url}/ojs/v1/jobs' \\\n{authorization}"
        "    -H 'Content-Type: application/openjobspec+json' \\\n"
        '    -d \'{"type": "demo.echo", "args": ["hello"], "options": {"queue": "demo"}}\'\n\n'
        "For ojs-aws, workers and AWS tools in another terminal:\n\n"
        f"  export OJS_URL='{deployment.api_url}'\n"
        f"  export OJS_TABLE='{deployment.outputs['TableName']}'\n"
        f"  export AWS_ENDPOINT_URL={emulator.endpoint_url} AWS_DEFAULT_REGION={REGION}\n"
        f"  export AWS_ACCESS_KEY_ID={ACCESS_KEY} AWS_SECRET_ACCESS_KEY={ACCESS_KEY}\n\n"
        f"Log: {emulator.log}\n\nCtrl-C ends it all.\n"
    )


def _keep(emulator: Emulator) -> str:
    """Keep the emulator's log of a failure, and return where it is."""
    kept = emulator.folder.with_suffix(".log")
    try:
        shutil.copyfile(emulator.log, kept)
    except OSError as problem:
        return f"(Its log could not be kept: {problem})"
    return f"All of it: {kept}"


def _failed(message: str) -> int:
    print(f"deploy-local: FAILED: {message}", file=sys.stderr, flush=True)
    return 1


def _interrupt(_: int, __: FrameType | None) -> None:
    """End on SIGTERM as on Ctrl-C: by way of the teardown."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
