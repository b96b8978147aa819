"""CloudEvents that make jobs (ojs-cloudevents-interop, sections 4.4, 6 and 8)."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.cloud_events import (
    CloudEvent,
    EventRule,
    read_event,
    read_rules,
    rule_for,
    write_rules,
)
from ojs_aws.domain.errors import InvalidPayloadError, InvalidRequestError
from ojs_aws.domain.events import Event, render_event
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant

CHARGE: dict[str, Any] = {
    "specversion": "1.0",
    "id": "ce_1",
    "type": "com.stripe.charge.succeeded",
    "source": "https://api.stripe.com/v1",
    "time": "2026-02-15T14:22:00.000Z",
    "subject": "ch_3abc123",
    "data": {"id": "ch_3abc123", "amount": 12345678901234567890, "lines": [{"sku": "a"}]},
}
UPLOAD = {
    "version": "0",
    "id": "17793124-05d4-b198-2fde-7ededc63b103",
    "detail-type": "Object Created",
    "source": "aws.s3",
    "account": "111122223333",
    "time": "2026-02-15T14:22:00Z",
    "region": "eu-west-1",
    "resources": ["arn:aws:s3:::photos"],
    "detail": {"bucket": {"name": "photos"}, "object": {"key": "a.jpg", "size": 5}},
}
NONSENSE: Any = {"no_such": 1}
RULE = EventRule(source="https://api.stripe.com/*", job_type="billing.process_charge")


def test_half_of_a_surrogate_pair_in_an_id_still_makes_a_job() -> None:
    """JSON can say it, and what no consumer can read would come again and again."""
    odd, other = (read_event(json.dumps(CHARGE | {"id": f"ce_\ud800{end}"})) for end in "ab")
    assert RULE.job_of(odd).id == RULE.job_of(odd).id != RULE.job_of(other).id


def test_6_1_attributes_of_the_event_become_the_jobs() -> None:
    """The whole data is the argument; where the job comes from stands in its meta."""
    job = RULE.job_of(read_event(json.dumps(CHARGE)))
    assert (job.type, job.queue, job.args) == (
        "billing.process_charge",
        "default",
        [CHARGE["data"]],
    )
    assert job.meta == {
        "trigger_event_id": "ce_1",
        "trigger_source": "https://api.stripe.com/v1",
        "trigger_subject": "ch_3abc123",
        "trigger_time": "2026-02-15T14:22:00.000Z",
    }


def test_an_event_of_eventbridge_is_read_like_a_cloud_event() -> None:
    """Its detail is the data, its detail type the type, its first resource the subject."""
    event = read_event(json.dumps(UPLOAD))
    assert (event.id, event.source) == (UPLOAD["id"], "aws.s3")
    assert (event.type, event.subject) == ("Object Created", "arn:aws:s3:::photos")
    assert event.data == UPLOAD["detail"]


def test_a_cloud_event_inside_an_event_of_eventbridge_counts() -> None:
    """Rules match it as EventBridge's do: by what stands around it."""
    around = UPLOAD | {"detail": CHARGE, "source": "com.shop", "detail-type": "Charged"}
    event, plain = read_event(json.dumps(around)), read_event(json.dumps(CHARGE))
    assert (event.job_id, event.data, event.subject) == (plain.job_id, plain.data, plain.subject)
    rule = EventRule(source="com.shop", type="Charged", job_type="a.b")
    assert rule.matches(event)
    assert not rule.matches(plain)
    assert not RULE.matches(event)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (None, [CHARGE["data"]]),
        (["$.data.id", "$.data.lines[0].sku"], ["ch_3abc123", "a"]),
        ({"charge": "$.data.id", "at": "$.time"}, [{"charge": "ch_3abc123", "at": CHARGE["time"]}]),
        ([], []),
    ],
)
def test_6_3_arguments_are_all_data_or_what_paths_name(args: Any, expected: list[Any]) -> None:
    assert replace(RULE, args=args).job_of(read_event(json.dumps(CHARGE))).args == expected


@pytest.mark.parametrize("path", ["$.data.none", "$.data.lines[1].sku", "$.data.lines.sku", "$.x"])
def test_a_path_that_leads_nowhere_refuses_the_event(path: str) -> None:
    with pytest.raises(InvalidRequestError, match="which the rule for its job names"):
        replace(RULE, args=[path]).job_of(read_event(json.dumps(CHARGE)))


def test_8_4_an_event_always_makes_the_same_job() -> None:
    """Id and source decide together; the id is a UUIDv7 of the event's time."""
    event = read_event(json.dumps(CHARGE))
    again = RULE.job_of(read_event(json.dumps(CHARGE)))
    assert RULE.job_of(event).to_json() == again.to_json()
    made = uuid.UUID(event.job_id)
    assert (made.version, made.int >> 80) == (7, 1_771_165_320_000)
    others = [replace(event, id="ce_2"), replace(event, source="https://api.stripe.com/v2")]
    assert len({event.job_id, *(each.job_id for each in others)}) == 3
    assert uuid.UUID(replace(event, time="").job_id).version == 7


@given(st.lists(st.tuples(st.text(), st.text()), unique=True, max_size=20))
def test_two_events_never_make_the_same_job(pairs: list[tuple[str, str]]) -> None:
    """Wherever the text of the source ends and that of the id begins."""
    made = {CloudEvent(id=i, source=s.replace("\0", ""), type="t").job_id for s, i in pairs}
    assert len(made) == len({(s.replace("\0", ""), i) for s, i in pairs})


@pytest.mark.parametrize(
    ("changes", "does"),
    [
        ({}, True),
        ({"type": "com.stripe.charge.succeeded"}, True),
        ({"type": "com.stripe.*"}, True),
        ({"type": "com.stripe"}, False),
        ({"subject": "ch_*"}, True),
        ({"subject": "ch"}, False),
        ({"source": "https://api.stripe.com"}, False),
    ],
)
def test_8_2_a_rule_matches_a_text_or_its_beginning(changes: dict[str, Any], does: bool) -> None:
    assert replace(RULE, **changes).matches(read_event(json.dumps(CHARGE))) is does


def test_the_first_rule_that_matches_counts() -> None:
    event = read_event(json.dumps(CHARGE))
    second = replace(RULE, job_type="all.events")
    assert rule_for([replace(RULE, type="x"), RULE, second], event) is RULE
    assert rule_for([replace(RULE, type="x")], event) is None


def test_4_4_events_of_jobs_make_no_jobs_unless_that_is_said() -> None:
    ended = render_event(
        Event(
            id="evt_1",
            type="job.discarded",
            time=Instant(0),
            queue="default",
            subject="job-1",
            data=RawJson("{}"),
        )
    )
    around = {"source": "ojs.aws", "detail-type": "job.discarded", "detail": json.loads(ended)}
    event = read_event(json.dumps(UPLOAD | around))
    rule = EventRule(source="ojs.*", job_type="support.notify")
    assert not rule.matches(event)
    with pytest.raises(ValueError, match="own_events=True"):
        rule.check()
    allowed = replace(rule, own_events=True)
    allowed.check()
    assert allowed.matches(event)


@pytest.mark.parametrize(
    "rule",
    [
        EventRule(source="*", job_type="a.b"),
        replace(RULE, job_type="A B"),
        replace(RULE, queue="a_b"),
        replace(RULE, args=["data.id"]),
        replace(RULE, args={"id": "$.data..id"}),
        replace(RULE, options=NONSENSE),
        replace(RULE, options={"priority": "fastest"}),
    ],
)
def test_a_rule_that_would_always_fail_is_refused_at_once(rule: EventRule) -> None:
    with pytest.raises((ValueError, TypeError, InvalidRequestError)):
        rule.check()


def test_rules_come_back_from_a_functions_settings() -> None:
    rules = (
        RULE,
        replace(RULE, args=("$.id",), options={"priority": 5}, queue="b"),
        EventRule(source="ojs.aws", job_type="a.b", args={"a": "$.type"}, own_events=True),
        replace(RULE, args=[]),
        replace(RULE, args={}),
    )
    read = read_rules(write_rules(rules))
    event = read_event(json.dumps(CHARGE))
    made = [each.job_of(event).to_json() for each in read]
    assert made == [each.job_of(event).to_json() for each in rules]
    assert [each.matches(event) for each in read] == [each.matches(event) for each in rules]


@pytest.mark.parametrize(
    "text", ["[]", "{}", "1", json.dumps(CHARGE | {"id": ""}), json.dumps(CHARGE | {"source": 1})]
)
def test_what_is_no_event_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError):
        read_event(text)
    with pytest.raises(InvalidPayloadError):
        read_event(text[:-1] + "x")
