"""Makes the handlers by which a worker delivers jobs, to one endpoint or to registered ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ojs_aws.domain.bindings.endpoints import check_prefix
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.worker.delivery.bound_endpoints import BoundEndpoints
from ojs_aws.worker.delivery.endpoint import TIMEOUT_S, HttpDelivery
from ojs_aws.worker.delivery.late_reports import LateReports
from ojs_aws.worker.delivery.public_hosts import public_pools
from ojs_aws.worker.delivery.request import signing_keys
from ojs_aws.worker.registry import Handler
from ojs_aws.worker.secrets import secret

if TYPE_CHECKING:
    from ojs_aws.domain.bindings.config import BindingConfig
    from ojs_aws.services.backend import Backend
    from ojs_aws.worker.invocation import LimitsOf


@dataclass(frozen=True, slots=True)
class DeliveringHandler(Handler):
    """Delivers all jobs whose type fits a pattern, with their arguments unread."""

    keys: Callable[[], object] = list

    def bound_to(self, ctx: JobContext) -> Callable[[], object]:
        """Return the delivery of a job."""
        return functools.partial(self.function, ctx)

    def prepare(self) -> None:
        """Read the keys, so that a worker which cannot sign does not start.

        :raises RegistrationError: there are none.
        """
        try:
            self.keys()
        except (KeyError, ValueError) as problem:
            raise RegistrationError(f"jobs cannot be delivered: {problem.args[0]}") from None


def deliver_to(
    url: str,
    types: Sequence[str],
    timeout_s: float | None,
    signing_secret: str,
    reports: LateReports | None = None,
) -> list[DeliveringHandler]:
    """Return a handler for each pattern of job types; they share one circuit.

    :param reports: where an endpoint reports later after a 202; None: it cannot.
    :raises ValueError: no usable URL, no type, or no positive timeout.
    """
    if isinstance(types, str) or not types:
        raise ValueError('name the job types as a list: types=["email.*"]')

    keys = functools.partial(_keys, signing_secret)
    seconds = TIMEOUT_S if timeout_s is None else timeout_s
    delivery = HttpDelivery(url, signing_keys=keys, timeout_s=seconds, reports=reports)
    return [
        DeliveringHandler(pattern, delivery, is_async=False, signature=None, keys=keys)
        for pattern in types
    ]


def deliver_as_bound(
    backend: Callable[[], Backend],
    prefixes: Mapping[str, Sequence[str]],
    timeout_s: float,
    signing_secret: str,
    reports: LateReports | None = None,
    configs: Mapping[str, BindingConfig] = MappingProxyType({}),
) -> tuple[DeliveringHandler, LimitsOf]:
    """Return a handler that sends each job to the endpoint which somebody registered for its type.

    Beside it stands what says which limits the claims of jobs have to keep.

    :param backend: returns the backend, when it is first needed.
    :param prefixes: below which the URLs of each binding may be.
    :param configs: of bindings, where nobody registered another one.
    :raises ValueError: something that is no prefix, or no positive timeout.
    """
    if timeout_s <= 0:
        raise ValueError("timeout_s must be positive")
    for prefix in {each for some in prefixes.values() for each in some}:
        check_prefix(prefix)
    keys = functools.partial(_keys, signing_secret)

    def connect(url: str) -> HttpDelivery:
        return HttpDelivery(
            url, signing_keys=keys, timeout_s=timeout_s, reports=reports, pools=public_pools
        )

    deliveries = BoundEndpoints(backend, prefixes, connect, configs)
    handler = DeliveringHandler("*", deliveries, is_async=False, signature=None, keys=keys)
    return handler, deliveries.limits_of


def _keys(signing_secret: str) -> list[str]:
    return signing_keys(secret(signing_secret))
