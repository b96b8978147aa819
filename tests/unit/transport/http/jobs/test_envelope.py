"""How pushed bodies are spelt, and that what nobody has to change stays as it was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.jobs.attributes import OWN_ATTRIBUTES, SYSTEM_ATTRIBUTES
from ojs_aws.domain.json_text import RawJson, encode, parse_object
from ojs_aws.transport.http.jobs.envelope import items_of, read_job, read_jobs
from tests.api import Api


def read(body: str | dict[str, Any]) -> dict[str, str]:
    """The canonical members of a body."""
    text = body if isinstance(body, str) else json.dumps(body)
    return dict(read_job(parse_object(text), 100).members())


def values(body: dict[str, Any]) -> dict[str, Any]:
    """The canonical values of a body."""
    return {name: json.loads(raw) for name, raw in read(body).items()}


@pytest.mark.parametrize(
    ("options", "flat"),
    [
        ({"queue": "email"}, {"queue": "email"}),
        ({"delay_until": "2030-01-01T00:00:00Z"}, {"scheduled_at": "2030-01-01T00:00:00Z"}),
        ({"delay_until": "PT10M"}, {"scheduled_at": "+PT10M"}),
        ({"scheduled_at": "+PT2S"}, {"scheduled_at": "+PT2S"}),
        ({"metadata": {"a": 1}}, {"meta": {"a": 1}}),
        ({"max_attempts": 5}, {"retry": {"max_attempts": 5}}),
        ({"priority": 7}, {"priority": 7}),
        ({"pending": True, "tags": ["a"]}, {"pending": True, "tags": ["a"]}),
        (
            {"timeout_ms": 5, "visibility_timeout_ms": 6},
            {"timeout_ms": 5, "visibility_timeout_ms": 6},
        ),
        ({"expires_at": None, "unique": None, "x": None}, {"options": {"x": None}}),
    ],
)
def test_options_become_attributes(options: dict[str, Any], flat: dict[str, Any]) -> None:
    """The wrapper of the HTTP binding, and the names that clients use in it."""
    assert values({"type": "a", "args": [], "options": options}) == {"type": "a", "args": []} | flat


def test_the_flat_form_is_taken_as_it_is() -> None:
    """The core's envelope, as the Ruby client sends it."""
    flat = {
        "specversion": "1.0",
        "id": "019539a4-b68c-7def-8000-1a2b3c4d5e6f",
        "type": "a",
        "args": [],
        "queue": "email",
        "timeout": 30,
        "scheduled_at": "2030-01-01T00:00:00Z",
    }
    assert values(flat) == flat


def test_flat_aliases_are_known_too() -> None:
    """`delay_until` beside `type`."""
    body = {"type": "a", "args": [], "delay_until": "2030-01-01T00:00:00Z"}
    assert values(body)["scheduled_at"] == "2030-01-01T00:00:00Z"


def test_unknown_options_stay_where_they_were_sent() -> None:
    """They come back once, and an attribute of the same name is another one."""
    body = {
        "type": "a",
        "args": [],
        "color": "red",
        "options": {"queue": "q", "color": "blue", "x": [1]},
    }
    read_values = values(body)
    assert read_values["options"] == {"color": "blue", "x": [1]}
    assert read_values["color"] == "red"
    assert "x" not in read_values
    assert read_values["queue"] == "q"


def test_an_option_cannot_say_who_the_job_is() -> None:
    """`id`, `type` and `args` are attributes of the envelope only."""
    body = {"type": "a", "args": [], "options": {"id": "x", "type": "b", "args": [1]}}
    assert values(body) == {
        "type": "a",
        "args": [],
        "options": {"id": "x", "type": "b", "args": [1]},
    }


def test_a_top_level_attribute_outweighs_an_option() -> None:
    """The core's form first; meta and metadata are joined."""
    body = {
        "type": "a",
        "args": [],
        "queue": "top",
        "meta": {"a": 1},
        "options": {"queue": "low", "metadata": {"a": 2, "b": 3}},
    }
    assert values(body)["queue"] == "top"
    assert values(body)["meta"] == {"a": 1, "b": 3}


@pytest.mark.parametrize("name", sorted(SYSTEM_ATTRIBUTES - OWN_ATTRIBUTES))
def test_what_only_the_system_sets_is_dropped(name: str) -> None:
    """Core, section 5.3; at the top level and in options."""
    assert name not in values({"type": "a", "args": [], name: "x", "options": {}})
    if name != "max_attempts":
        assert name not in values({"type": "a", "args": [], "options": {name: "x"}})


@pytest.mark.parametrize("name", sorted(OWN_ATTRIBUTES))
@pytest.mark.parametrize("place", ["", "options"])
def test_an_attribute_of_our_own_is_refused_by_its_name(name: str, place: str) -> None:
    """A client's value would be taken for what happened to the job; it is not dropped silently."""
    given: dict[str, Any] = {name: [{"type": "Mine"}]}
    with pytest.raises(InvalidRequestError, match="only this server sets it") as refused:
        values({"type": "a", "args": [], **({place: given} if place else given)})
    assert refused.value.details["field"] == name


@pytest.mark.parametrize("name", ["id", "queue", "meta", "options", "priority", "specversion"])
def test_null_means_nothing_where_clients_send_it_for_nothing(name: str) -> None:
    """An attribute that has a default takes it."""
    assert values({"type": "a", "args": [], name: None}) == {"type": "a", "args": []}


def test_max_attempts_joins_a_retry_policy_and_does_not_outweigh_it() -> None:
    """The command line's short form beside a policy."""
    body = {"type": "a", "args": [], "options": {"max_attempts": 5, "retry": {"jitter": False}}}
    assert values(body)["retry"] == {"jitter": False, "max_attempts": 5}
    body["options"]["retry"] = {"max_attempts": 2}  # type: ignore[index]
    assert values(body)["retry"] == {"max_attempts": 2}


@pytest.mark.parametrize("options", [[], "x", 5, True])
def test_options_that_are_no_object_are_refused(options: object) -> None:
    """Naming the attribute."""
    with pytest.raises(InvalidRequestError) as refused:
        read(json.dumps({"type": "a", "args": [], "options": options}))
    assert refused.value.details["field"] == "options"


def test_the_very_text_of_client_data_is_kept() -> None:
    """Promise 7: integers of any size, floats, key order, escapes and white space."""
    args = (
        '[ 12345678901234567890123, 1.10, 1e400000, "\\u00e9\\ud83d\\ude00", {"z": 1, "a": null} ]'
    )
    args = args.replace("1e400000", "1E+2")
    kept = read(f'{{"type": "a", "args": {args}, "options": {{"x": {args}}}}}')
    assert kept["args"] == args
    assert kept["options"] == f'{{"x":{args}}}'


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=5), st.sampled_from(["", " ", "\n\t"]))
def test_the_items_of_an_array_keep_their_text(items: list[Any], space: str) -> None:
    """Whatever stands between them."""
    raws = [json.dumps(item) for item in items]
    text = "[" + space + f"{space},{space}".join(raws) + space + "]"
    assert items_of(RawJson(text)) == raws


@given(st.dictionaries(st.text(min_size=1).map("x_{}".format), JSON, max_size=4))
def test_unknown_attributes_survive_in_text_and_order(unknown: dict[str, Any]) -> None:
    """At the top level, whatever they are called."""
    parts = [f"{encode(name)}: {json.dumps(value)}" for name, value in unknown.items()]
    text = "{" + ", ".join(['"type": "a"', '"args": []', *parts]) + "}"
    kept = read(text)
    assert list(kept) == ["type", "args", *unknown]
    assert [kept[name] for name in unknown] == [json.dumps(value) for value in unknown.values()]


@pytest.mark.parametrize("jobs", [None, {}, "x", 5])
def test_a_batch_is_an_array(jobs: object) -> None:
    """400, naming the attribute."""
    body = {} if jobs is None else {"jobs": jobs}
    with pytest.raises(InvalidRequestError) as refused:
        read_jobs(parse_object(json.dumps(body)), 100, 1000)
    assert refused.value.details["field"] == "jobs"


def test_a_fault_in_a_batch_names_its_index() -> None:
    """HTTP binding, section 9.2."""
    with pytest.raises(InvalidRequestError) as refused:
        read_jobs(parse_object('{"jobs": [{"type": "a", "args": []}, 5]}'), 100, 1000)
    assert refused.value.details["index"] == 1
    assert "index 1" in refused.value.message


def test_ver_002_the_version_behind_the_type_becomes_an_attribute(api: Api) -> None:
    """ojs-job-versioning, section 5.3: an attribute of its own takes precedence."""
    made = api.post("/jobs", {"type": "invoice.generate@2.0", "args": []}).json["job"]
    assert (made["type"], made["version"]) == ("invoice.generate", "2.0")
    body = {"type": "invoice.generate@2.0", "version": "1.5", "args": []}
    assert api.post("/jobs", body).json["job"]["version"] == "1.5"
    assert api.post("/jobs", {"type": "invoice.generate@x", "args": []}).status == 400
