"""Why calls fail that do fail: defects of the clients themselves, and what is not offered here.

Each explanation names the call, where it happens, and the reason; a defect of a client also the
place in its source that shows it. A failure without an explanation is an error of this project's,
and ends the run with a failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.clients.results import SERVERS

_EVERYWHERE: Final = frozenset(SERVERS)
_WITH_KEYS: Final = frozenset({"local-keys", "deployed-keys"})

_DEPLOYED: Final = frozenset({"deployed", "deployed-keys"})

_ENDS: Final = (
    "It does not come back when the stream ends, as ojs-realtime, section 9.3, asks. Behind API "
    "Gateway each answer ends with what there is; a client that comes back misses nothing."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a call of a client fails.

    :ivar servers: where it does.
    :ivar source: the client's file and function that show its defect.
    :ivar is_ours: whether it is a feature that is not offered, not a defect of the client.
    """

    client: str
    call: str
    reason: str
    source: str = ""
    servers: frozenset[str] = _EVERYWHERE
    is_ours: bool = False


EXPLANATIONS: Final = (
    Explanation(
        client="ui",
        call="settings: enable maintenance",
        reason="There is no maintenance mode: pause the queues.",
        is_ours=True,
    ),
    Explanation(
        client="ui",
        call="unique jobs",
        reason="No document has GET /unique-jobs. The page takes the 404 for an empty list.",
        is_ours=True,
    ),
    Explanation(
        client="ui",
        call="queue settings: period",
        reason="It chooses among short durations only, and shows the first one for PT1M, which is "
        "how ojs-admin-api, section 6.2, writes a period. What it saves is right.",
        source="src/components/queues/QueueConfigModal.tsx: ratePeriod",
    ),
    Explanation(
        client="ui",
        call="workflows: cancel",
        reason="It has the button for 'active' workflows; ojs-workflows calls them 'running'.",
        source="src/components/workflows/WorkflowTable.tsx: WorkflowTable",
    ),
    Explanation(
        client="python",
        call="subscribe_queue",
        reason=_ENDS,
        source="src/ojs/subscribe.py: subscribe",
        servers=_DEPLOYED,
    ),
    Explanation(
        client="javascript",
        call="subscribeQueue",
        reason=_ENDS,
        source="src/subscribe.ts: readStream",
        servers=_DEPLOYED,
    ),
    Explanation(
        client="ruby",
        call="SSESubscription.subscribe_queue",
        reason=_ENDS,
        source="lib/ojs/subscribe.rb: SSESubscription.subscribe",
        servers=_DEPLOYED,
    ),
    Explanation(
        client="cli",
        call="system maintenance",
        reason="There is no maintenance mode: pause the queues.",
        is_ours=True,
    ),
    Explanation(
        client="cli",
        call="webhooks list",
        reason="There are no webhooks: EventBridge rules deliver events.",
        is_ours=True,
    ),
    Explanation(
        client="cli",
        call="queues --delete",
        reason="It names no strategy, which a deletion must (ojs-queue-config, section 5.3).",
        source="cmd/ojs/commands/queues.go: deleteQueueCmd",
    ),
    Explanation(
        client="cli",
        call="debug replay",
        reason="It sends the job as a JSON string in base64, not as an object: its Post encodes "
        "bytes that are JSON already.",
        source="cmd/ojs/commands/debug.go: debugReplay",
    ),
    Explanation(
        client="cli",
        call="doctor",
        reason="Its requests carry no credentials.",
        source="cmd/ojs/commands/doctor.go: http.Get",
        servers=_WITH_KEYS,
    ),
    Explanation(
        client="ruby",
        call="DurableContext: replay after a crash",
        reason="Its requests for checkpoints carry no credentials.",
        source="lib/ojs/durable.rb: Net::HTTP without headers",
        servers=_WITH_KEYS,
    ),
)


def explanation_of(client: str, call: str, server: str) -> Explanation | None:
    """Return why a call fails on a server, if that is known."""
    return next(
        (
            each
            for each in EXPLANATIONS
            if (each.client, each.call) == (client, call) and server in each.servers
        ),
        None,
    )
