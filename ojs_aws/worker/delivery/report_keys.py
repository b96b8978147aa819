"""Lets the API know the tokens of deliveries, by the secrets that sign them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ojs_aws.topology import SECRETS, SIGNING_SECRET

if TYPE_CHECKING:
    from ojs_aws.domain.runtime import Clock
    from ojs_aws.services.access.api_keys import Verdict
    from ojs_aws.worker.secrets import Secrets


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
