"""Makes the events of workflows (ojs-events, section 4.4; ojs-workflows, appendix B)."""

from __future__ import annotations

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.workflows.workflow import Workflow
from ojs_aws.services.events.commit import Commit, MadeEvent


def workflow_events(
    before: Workflow | None, after: Workflow | None, commit: Commit
) -> list[MadeEvent]:
    """Return the events that the workflow's write recorded; none for a removal."""
    del commit
    if after is None or (before is not None and before.version >= after.version):
        return []
    common: dict[str, JsonValue] = {
        "workflow_id": after.id,
        "workflow_name": after.name,
        "workflow_type": after.kind,
    }
    return [
        MadeEvent(
            kind=event.kind,
            time=event.at,
            subject=after.id,
            data=encode({**common, **event.data}),
        )
        for event in after.events
    ]
