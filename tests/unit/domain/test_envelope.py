"""The envelope that people and middleware handle."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidPayloadError, InvalidRequestError, JsonValue
from ojs_aws.domain.jobs.arguments import Priority
from ojs_aws.domain.json_text import RawJson, decode, encode, parse_object, stored_texts

TEXT = (
    '{"type":"email.send","args":[1.00, {"b":1,"a":2}],"meta":{"k":1e-7},"x":12345678901234567890,'
    '"priority":5,"timeout_ms":1500,"state":"active","attempt":2,"max_attempts":3}'
)


def test_what_nobody_touches_keeps_its_text() -> None:
    """ENV-065: looking is not touching."""
    job = Job.from_json(TEXT)
    assert job.args == [1.0, {"b": 1, "a": 2}]
    assert job.meta["k"] == 1e-7
    assert (job.priority, job.timeout_ms, job.timeout, job.attempt) == (5, 1500, 1.5, 2)
    assert (job.state, job.max_attempts, job["x"]) == ("active", 3, 12345678901234567890)
    assert job.to_json() == TEXT


def test_a_change_in_place_is_seen_and_leaves_the_rest_alone() -> None:
    """MW-ENQ-011: args and meta may be mutated."""
    job = Job.from_json(TEXT)
    job.meta["trace_id"] = "t"
    members = job.members()
    assert decode(members["meta"]) == {"k": 1e-7, "trace_id": "t"}
    assert members["args"] == '[1.00, {"b":1,"a":2}]'


def test_assignment_replaces_an_attribute() -> None:
    """Of the specification's, and any other."""
    job = Job.from_json(TEXT)
    job.queue, job.priority, job.timeout = "low", "low", 30
    job["x"] = None
    members = job.members()
    assert (members["queue"], members["priority"], members["x"]) == ('"low"', "-10", "null")
    assert members["timeout"] == "30"
    assert "timeout_ms" not in members
    del job["x"]
    assert "x" not in job


def test_a_copy_is_independent() -> None:
    """Changes by name; None removes."""
    job = Job.from_json(TEXT)
    other = job.copy(queue="other", x=None)
    other.meta["k"] = 0
    assert (job.queue, other.queue) == ("default", "other")
    assert "x" in job
    assert "x" not in other
    assert job.meta == {"k": 1e-7}


def test_meta_is_there_to_be_written_to() -> None:
    """Also when the client sent none."""
    job = Job("a.b")
    job.meta["k"] = 1
    assert job.members()["meta"] == '{"k":1}'


@pytest.mark.parametrize("span", ["90s", "PT1M30S", timedelta(seconds=90), "1.5m"])
def test_durations_of_a_job_are_written_with_their_unit(span: str | timedelta) -> None:
    """Each says the same as the parameter in seconds, or from now on."""
    job = Job("a.b", timeout=span, visibility_timeout=span, result_ttl=span, delay=span)
    seconds = Job("a.b", timeout_s=90, visibility_timeout_s=90, result_ttl_s=90)
    seconds.scheduled_at = "+PT90S"
    assert decode(job.to_json()) == decode(seconds.to_json())
    assert job.timeout == 90


@pytest.mark.parametrize("seconds", [float("inf"), float("nan")])
def test_a_reservation_is_not_without_end(seconds: float) -> None:
    with pytest.raises(InvalidPayloadError, match="visibility_timeout"):
        Job("a.b", visibility_timeout_s=seconds)


def test_a_reservation_may_have_parts_of_a_second() -> None:
    assert Job("a.b", visibility_timeout="1500ms")["visibility_timeout_ms"] == 1500


def test_a_job_says_what_the_specification_says() -> None:
    """With its names, and only what was given."""
    at = datetime(2026, 3, 15, 9, tzinfo=UTC)
    job = Job(
        "email.send",
        ["a@b.c", {"n": 1}],
        id="019539a4-b68c-7def-8000-1a2b3c4d5e6f",
        queue="email",
        meta={"k": "v"},
        priority=Priority.HIGH,
        timeout_s=30,
        visibility_timeout_s=1.5,
        scheduled_at=at,
        expires_at="+PT1H",
        retry={"max_attempts": 5},
        unique={"keys": ["type"]},
        schema="urn:ojs:schema:email.send:v1",
        tags=["t"],
        pending=True,
        custom_attributes={"x_custom": [None]},
    )
    assert decode(job.to_json()) == {
        "specversion": "1.0.0-rc.1",
        "id": "019539a4-b68c-7def-8000-1a2b3c4d5e6f",
        "type": "email.send",
        "queue": "email",
        "args": ["a@b.c", {"n": 1}],
        "meta": {"k": "v"},
        "priority": 10,
        "timeout": 30,
        "visibility_timeout_ms": 1500,
        "scheduled_at": "2026-03-15T09:00:00.000Z",
        "expires_at": "+PT1H",
        "retry": {"max_attempts": 5},
        "unique": {"keys": ["type"]},
        "schema": "urn:ojs:schema:email.send:v1",
        "tags": ["t"],
        "pending": True,
        "x_custom": [None],
    }
    assert set(Job("a.b").members()) == {"specversion", "type", "queue", "args"}


def test_what_is_no_json_is_refused_at_once() -> None:
    """ENV-019, ENV-024, ENV-025; what is put into args later, before it is sent."""
    with pytest.raises(InvalidPayloadError, match=r"args\[0\]"):
        Job("a.b", [datetime.now(UTC)])  # type: ignore[list-item]
    with pytest.raises(InvalidPayloadError, match="meta"):
        Job("a.b", meta={1: "a"})  # type: ignore[dict-item]
    job = Job("a.b", [1])
    job.args.append({1})  # type: ignore[arg-type]
    with pytest.raises(InvalidPayloadError, match=r"args\[1\]"):
        job.members()


def test_a_naive_datetime_names_no_instant() -> None:
    """ENV-069."""
    with pytest.raises(ValueError, match="timezone"):
        Job("a.b", scheduled_at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_its_repr_does_not_show_arguments() -> None:
    """They may be secret."""
    assert repr(Job("a.b", ["secret"], id="7")) == "<Job a.b 7 on default>"


texts = st.sampled_from(["1", "1.0", "true", "-0", "0", '"a"', "null", "1e2", "[ ]", "[1, 2]"])
bodies = st.dictionaries(
    st.sampled_from(["args", "meta", "x", "y"]),
    texts | st.lists(texts).map(lambda raws: "[ " + ", ".join(raws) + "]"),
)


@given(bodies)
def test_looking_at_anything_changes_nothing(raws: dict[str, str]) -> None:
    """ENV-065: for any text, whoever looks at it."""
    job = Job.from_members({name: RawJson(raw) for name, raw in raws.items()})
    for name in list(job):
        assert job[name] == decode(raws[name])
    assert job.members() == raws


@given(bodies)
def test_a_view_changes_nothing_and_has_the_same_values(raws: dict[str, str]) -> None:
    """Of a parsed body, too, whose values are kept."""
    text = "{" + ",".join(f'"{name}":{raw}' for name, raw in raws.items()) + "}"
    for job in (Job.from_json(text), Job.from_members(stored_texts(text))):
        view = job.view({"args", "x", "z"})
        expected = {name: decode(raw) for name, raw in raws.items() if name in {"args", "x"}}
        assert repr(view) == repr(expected)
        assert job.members() == raws


def test_values_of_a_parsed_body_are_not_shared() -> None:
    """Two jobs of the same body change apart, and a view of one shows no change of the other."""
    members = parse_object(TEXT)
    one, other = Job.from_parsed(members), Job.from_parsed(members)
    one.args.append(3)
    assert other.args == [1.0, {"b": 1, "a": 2}]
    assert other.to_json() == TEXT
    assert members["args"].value == [1.0, {"b": 1, "a": 2}]
    assert one.view({"args"}) == {"args": [1.0, {"b": 1, "a": 2}, 3]}


def test_the_edition_says_whether_anything_may_have_changed() -> None:
    """None once somebody holds a list or an object of the job."""
    job = Job.from_json(TEXT)
    first = job.edition
    assert (job.priority, job.type, job.edition) == (5, "email.send", first)
    job.priority = 6
    second = job.edition
    assert second not in {None, first}
    del job["x"]
    third = job.edition
    assert third not in {None, first, second}
    assert (job.args[0], job.edition) == (1.0, None)
    assert Job("a.b", [1]).edition is None


@pytest.mark.parametrize(
    ("before", "after"), [(1, 1.0), (1, True), (0.0, -0.0), ("1", 1), ([], {}), (None, False)]
)
def test_a_change_in_place_to_what_python_calls_equal_is_a_change(
    before: JsonValue, after: JsonValue
) -> None:
    """JSON tells 1, 1.0 and true apart."""
    job = Job.from_json(encode({"args": [before]}))
    job.args[0] = after
    assert job.members()["args"] == encode([after])


def test_a_change_that_is_taken_back_is_none() -> None:
    """The client's own text again."""
    job = Job.from_json(TEXT)
    job.args.append(None)
    job.args.pop()
    assert job.to_json() == TEXT


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, Job.copy])
def test_a_copy_of_any_kind_shares_nothing(duplicate: Callable[[Job], Job]) -> None:
    """Neither attributes nor what is in them."""
    job = Job("a.b", [[1]], meta={"k": 1})
    other = duplicate(job)
    other.type = "c.d"
    other.meta["k"] = 2
    other.args.append(3)
    assert (job.type, job.meta, job.args) == ("a.b", {"k": 1}, [[1]])


def test_an_envelope_can_be_pickled() -> None:
    """To another process and back."""
    job = Job.from_json(TEXT)
    job.meta["k"] = 2
    assert pickle.loads(pickle.dumps(job)).to_json() == job.to_json()  # noqa: S301


@pytest.mark.parametrize(
    ("value", "number"), [("HIGH", 10), ("normal", 0), (Priority.LOW, -10), (7, 7)]
)
def test_priorities_have_names(value: int | str, number: int) -> None:
    """ENV-033 to 035."""
    assert Job("a.b", priority=value).members()["priority"] == str(number)


@pytest.mark.parametrize("value", ["urgent", 1.5, True])
def test_a_priority_that_is_none_is_refused_and_not_rounded(value: object) -> None:
    """ENV-029: by name, so that the caller learns which names there are."""
    with pytest.raises(InvalidRequestError, match="high, normal or low"):
        Job("a.b", priority=value)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match="high, normal or low"):
        Job("a.b").priority = value  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("[1]", "array"),
        ("{}", "object"),
        ('"x"', "string"),
        ("true", "boolean"),
        ("false", "boolean"),
        ("null", "null"),
        ("-1", "number"),
        ("0.5", "number"),
        (" [ ] ", "array"),
    ],
)
def test_the_type_of_an_attribute_is_known_without_decoding_it(raw: str, name: str) -> None:
    """And afterwards by its value, which may have changed."""
    job = Job.from_members({"x": RawJson(raw)})
    assert job.json_type("x") == name
    job["x"] = 1
    assert job.json_type("x") == "number"
    with pytest.raises(KeyError):
        job.json_type("y")


def test_attributes_of_the_wrong_type_read_as_absent() -> None:
    """They are refused by name when the envelope is validated, and break no middleware before."""
    job = Job.from_json(
        '{"type":1,"queue":[],"args":{},"meta":7,"priority":"x","retry":[],"unique":1,"tags":[1,"a"],'
        '"schema":5,"timeout":"x","max_attempts":"3","error":"x","expires_at":5}'
    )
    assert (job.type, job.queue, job.args, job.meta, job.priority) == ("", "default", [], {}, 0)
    assert (job.retry, job.unique, job.tags, job.schema) == (None, None, ["a"], None)
    assert (job.timeout, job.max_attempts, job.error, job.expires_at) == (None, None, None, None)


def test_an_empty_queue_is_not_the_default_one() -> None:
    """ENV-014: it is a mistake, and the server says so."""
    assert Job("a.b", queue="").queue == ""


def test_timestamps_are_assigned_in_any_form() -> None:
    """As in the constructor."""
    job = Job("a.b")
    job.scheduled_at = datetime(2026, 3, 15, 9, tzinfo=UTC)
    job.expires_at = "+PT1H"
    assert (job.scheduled_at, job.expires_at) == ("2026-03-15T09:00:00.000Z", "+PT1H")


def test_every_attribute_can_be_iterated_got_and_deleted() -> None:
    """Unknown ones too; an absent one is a KeyError, or a default."""
    job = Job.from_json('{"b":1,"a":null}')
    assert [*job] == ["b", "a"]
    assert (job.get("a", 5), job.get("c", 5), "a" in job, "c" in job) == (None, 5, True, False)
    del job["b"]
    assert job.to_json() == '{"a":null}'
    with pytest.raises(KeyError):
        job["b"]
    with pytest.raises(KeyError):
        del job["b"]
