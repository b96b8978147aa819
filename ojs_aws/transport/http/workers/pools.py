"""Handles worker pools, and the queues of a FETCH that names one (ojs-fair-scheduling, 5.2, 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.pools import Pool, check_pool_name, read_choice, read_pool
from ojs_aws.services.workers.pools import PoolUse, unknown_pool
from ojs_aws.transport.http.calls import CREATED, OK, Answer, Call, beside, json_of

if TYPE_CHECKING:
    from ojs_aws.services.workers.pools import Pools
    from ojs_aws.transport.http.workers import models


def list_pools(call: Call) -> Answer[models.PoolsAnswer]:
    """Return the pools by name."""
    items = json_of([_shown(each) for each in call.backend.workers.pools.list()])
    return Answer({"items": items, "pools": items})


def get_pool(call: Call) -> Answer[models.PoolAnswer]:
    """Return one pool."""
    shown = _shown(call.backend.workers.pools.get(call.named("name")))
    return Answer({"pool": shown, **shown})


def put_pool(call: Call) -> Answer[models.PoolAnswer]:
    """Store a pool: 201 if there was none of this name."""
    pool = read_pool(call.named("name"), call.values())
    is_new = call.backend.workers.pools.put(pool)
    shown = _shown(PoolUse(pool))
    return Answer({"pool": shown, **shown}, CREATED if is_new else OK)


def delete_pool(call: Call) -> Answer[models.PoolDeletedAnswer]:
    """Remove a pool."""
    name = call.named("name")
    call.backend.workers.pools.delete(name)
    return Answer({"deleted": True, "name": name})


def _shown(use: PoolUse) -> models.Pool:
    shown: models.Pool = {
        "name": use.pool.name,
        "queues": [*use.pool.queues],
        "strategy": use.pool.strategy.value,
        "active_workers": use.workers,
        "active_jobs": use.jobs,
    }
    return beside(shown, use.pool.members())


def chosen(pools: Pools, values: Mapping[str, JsonValue]) -> Pool:
    """Return the queues of a FETCH that names a pool, a strategy or weights.

    What the pool says counts for more than the request. If there is no such pool, the request
    counts, where it names queues.

    :raises NotFoundError: there is no such pool, and the request names no queues.
    """
    name, queues = values.get("pool"), values.get("queues")
    if name is not None:
        name = check_pool_name(name if isinstance(name, str) else "")
        pool = pools.known(name)
        if pool is not None:
            return pool
        if not queues:
            raise unknown_pool(name)
    named = queues if isinstance(queues, list) else []
    return read_choice(named, values.get("strategy"), values.get("weights"))
