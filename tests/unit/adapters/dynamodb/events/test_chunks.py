"""Chunks of the event log: rows, or columns."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import stored_bytes
from ojs_aws.adapters.dynamodb.events.chunks import SUBJECT, chunk_events, chunk_item
from ojs_aws.domain.events import Event, event_id
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant

NOW = Instant(1_760_000_000_000)
PLAIN = Event(
    id="evt_1", type="job.enqueued", time=NOW, queue="q", subject="job-1", data=RawJson("{}")
)


@given(
    st.lists(
        st.builds(
            Event,
            id=st.text(),
            type=st.text(),
            time=st.integers(0, 2**40),
            queue=st.text(),
            subject=st.text(max_size=3),
            data=st.text(max_size=20),
            job_type=st.text(),
            sequence=st.text(),
        ),
        max_size=4,
    )
)
def test_a_chunk_of_columns_holds_any_events(events: list[Event]) -> None:
    """Also where data repeats the subject, or has the sign that stands for it."""
    own = replace(PLAIN, id=event_id(NOW, "job"))
    repeating = replace(own, subject="a", data=RawJson('"aaba"'))
    later = replace(own, time=Instant(NOW + 1))
    sign = replace(own, data=RawJson(SUBJECT))
    for more in ([], [repeating, replace(own, subject="")], [own, later], [PLAIN], [own, sign]):
        for by_columns in (False, True):
            item = chunk_item(1, [*events, *more], NOW, 2, "t", by_columns=by_columns)
            assert chunk_events(item) == [*events, *more]


def test_columns_are_a_fifth_shorter_than_rows() -> None:
    """For jobs whose data names them, as all do."""
    events = []
    for at in range(250):
        at_ms = Instant(NOW + at)
        job = event_id(at_ms, "job", at).removeprefix("evt_")
        data = RawJson(f'{{"job_id":"{job}","job_type":"order.ship","queue":"default"}}')
        for kind in ("enqueued", "started"):
            own = event_id(at_ms, at, kind)
            events.append(
                replace(PLAIN, id=own, time=at_ms, type=f"job.{kind}", subject=job, data=data)
            )
    rows, columns = (
        stored_bytes(chunk_item(1, events, NOW, 2, "t", by_columns=by_columns)[n.DOCUMENT])
        for by_columns in (False, True)
    )
    assert columns <= 0.8 * rows + 2
