"""Delivers jobs to handlers of any language, by HTTPS, and knows the tokens of their reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ojs_aws.topology import DELIVERY, SECRETS, SIGNING_SECRET

if TYPE_CHECKING:
    from ojs_aws.domain.runtime import Clock
    from ojs_aws.services.access.api_keys import Verdict
    from ojs_aws.worker.lambda_worker import LambdaWorker
    from ojs_aws.worker.secrets import Secrets


def delivery_worker(environ: Mapping[str, str]) -> LambdaWorker:
    """Return the Lambda worker that an environment describes: it delivers what it claims.

    :raises SettingsError: the environment describes none.
    """
    from ojs_aws.config import SettingsError  # a process that delivers needs none of these
    from ojs_aws.domain.errors import OjsError
    from ojs_aws.worker.lambda_worker import LambdaWorker

    try:
        said = json.loads(environ[DELIVERY])
        worker = LambdaWorker(queues=said["queues"])
        if "bindings" in said:
            _deliver_as_bound(worker, said)
        else:
            worker.deliver(
                said["url"],
                types=said["types"],
                timeout_s=said["timeout_s"],
                **said.get("reports", {}),
            )
    except (KeyError, TypeError, ValueError, OjsError) as problem:
        raise SettingsError(
            f"{DELIVERY} must be a JSON object with queues, url and types, or bindings, and "
            f"timeout_s: {problem}"
        ) from problem
    return worker


def _deliver_as_bound(worker: LambdaWorker, said: Mapping[str, Any]) -> None:
    """Let a worker deliver to the endpoints that are registered at the API."""
    from ojs_aws.domain.bindings import read_config
    from ojs_aws.worker.delivery.handlers import deliver_as_bound
    from ojs_aws.worker.delivery.request import LateReports

    where = said.get("reports")
    reports = LateReports.to(where["report_url"], where["report_within_s"]) if where else None
    configs = {name: read_config(each) for name, each in said.get("configs", {}).items()}
    handler, worker.limits_of = deliver_as_bound(
        lambda: worker.backend,
        said["bindings"],
        said["timeout_s"],
        SIGNING_SECRET,
        reports,
        configs,
    )
    worker.registry.add_pattern(handler)


def with_tokens(
    others: Callable[[str], Verdict],
    environ: Mapping[str, str],
    clock: Clock | None = None,
    secrets: Secrets | None = None,
) -> Callable[[str], Verdict]:
    """Return what finds the callers of tokens, too, where the environment names secrets.

    The first token reads the secrets, and one after five minutes reads them again: any number of
    reports costs no further call.

    :param others: finds all other callers.
    :param clock: by default the system's.
    :param secrets: by default those of this process.
    """
    if SECRETS not in environ and SIGNING_SECRET not in environ:
        return others
    from ojs_aws.bootstrap import SystemClock
    from ojs_aws.services.access.api_keys import AttemptAuthentication
    from ojs_aws.worker.delivery.request import signing_keys
    from ojs_aws.worker.secrets import worker_secrets

    known = secrets or worker_secrets()

    def keys() -> list[str]:
        names = known.names or (SIGNING_SECRET,)
        return [key for name in names for key in signing_keys(known.get(name))]

    return AttemptAuthentication(others, keys, clock or SystemClock())
