"""The deployment as a whole, for operators: statistics and settings (ojs-admin-api, 10 and 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from ojs_aws.client.operators import OperatorTransport, objects_in
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import format_instant, instant_of


class System:
    """Statistics and settings of the backend: ``client.system``."""

    def __init__(self, transport: OperatorTransport) -> None:
        """Use the client's transport."""
        self._transport = transport

    async def stats(self) -> Mapping[str, JsonValue]:
        """What all queues hold together: ``jobs`` by state, ``workers``, ``throughput`` and more.

        ``is_exact`` is False where a number is at least what is said.
        """
        return await self._transport.ask("GET", "/admin/stats")

    async def history(
        self,
        period: str = "5m",
        *,
        queue: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Sequence[Mapping[str, JsonValue]]:
        """What ended in each period, the oldest first: ``timestamp``, ``completed``, ``failed``.

        :param period: ``1m``, ``5m``, ``1h`` or ``1d``.
        :param since: an hour ago by default.
        :raises InvalidRequestError: too many points for one request.
        """
        query = {"period": period, "queue": queue}
        for name, moment in (("since", since), ("until", until)):
            query[name] = "" if moment is None else format_instant(instant_of(moment))
        given = {name: value for name, value in query.items() if value}
        return objects_in(
            await self._transport.ask("GET", "/admin/stats/history", query=given), "data"
        )

    async def config(self) -> Mapping[str, JsonValue]:
        """How the backend is set: ``settings`` and its ``implementation``; no secrets."""
        return await self._transport.ask("GET", "/admin/system/config")
