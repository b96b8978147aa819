"""Shows the settings that apply to a queue (ojs-queue-config, section 7).

Its own come first, then the default policy's, then the deployment's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ojs_aws.config import Settings
from ojs_aws.domain.queues import QueueInfo, QueueSettings
from ojs_aws.domain.queues.config import DEFAULT_POLICY, LIMIT_NAMES, Members, shown_span
from ojs_aws.domain.queues.setting_rows import RETENTION, SETTINGS
from ojs_aws.services.queues.push_settings import push_settings_of


@dataclass(frozen=True, slots=True)
class QueueConfigView:
    """Holds a queue with its settings.

    :ivar info: None for the default policy.
    :ivar config: what holds: its own settings, the default policy's, and the deployment's.
    :ivar own: what was set for this very queue.
    """

    name: str
    info: QueueInfo | None
    settings: QueueSettings
    config: Members
    own: Members


def config_view(
    name: str,
    info: QueueInfo | None,
    found: Mapping[str, QueueSettings],
    limit: Members,
    deployed: Settings,
) -> QueueConfigView:
    """Return what applies to a queue, or to the default policy.

    :param found: what was set for the queue and for the default policy.
    :param limit: the queue's limit, as settings show it.
    """
    own = found.get(name, QueueSettings(queue=name))
    default = found.get(DEFAULT_POLICY)
    if name == DEFAULT_POLICY:
        mine = dict(own.members)
        return QueueConfigView(name, None, own, {**_of_deployment(deployed), **mine}, mine)
    mine = {**own.members, **limit}
    layers = {**(default.members if default else {}), **own.members}
    for each in LIMIT_NAMES:  # kept with the queue, once it was used
        layers.pop(each, None)
    config = {**_of_deployment(deployed), **layers, **limit}
    config["retention"] = _retention(own, default, deployed)
    return QueueConfigView(name, info, own, config, mine)


def _retention(own: QueueSettings, default: QueueSettings | None, deployed: Settings) -> Members:
    kept = push_settings_of(default, own).config.retention
    return {
        name: _shown(getattr(kept, f"{name}_s"), getattr(deployed, attribute))
        for name, attribute in RETENTION.items()
    }


def _of_deployment(deployed: Settings) -> Members:
    members: Members = {}
    for row in SETTINGS.values():
        if row.name == "retention":
            members["retention"] = _retention(QueueSettings(queue=DEFAULT_POLICY), None, deployed)
        elif row.deployed:
            value = getattr(deployed, row.deployed)
            members[row.name] = _shown(None, value) if row.kind is str else value
        elif row.default is not ...:
            members[row.name] = row.default
    return members


def _shown(own_s: int | None, deployed_s: int) -> str | None:
    """Return a retention as it is shown; None if jobs stay for ever."""
    seconds = deployed_s if own_s is None else own_s
    return shown_span(seconds) if seconds else None
