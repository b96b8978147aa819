"""Arguments of typed jobs on the wire, in both directions."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from ojs_aws import Job, Jobs
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import RawJson
from ojs_aws.typed_jobs.values import WrongValueError
from ojs_aws.worker.executor import Snoozed, Succeeded
from tests.unit.typed_jobs.conftest import Shop, error_of, execute

jobs = Jobs()


@jobs.job("keywords")
async def keywords(a: str, b: int = 1, *, c: bool = False, d: str = "d") -> list[JsonValue]:
    return [a, b, c, d]


@jobs.job("required")
async def required(a: str, /, b: int = 1, *, c: bool) -> list[JsonValue]:
    return [a, b, c]


@jobs.job("rest")
async def rest(a: str, *others: int) -> list[JsonValue]:
    return [a, *others]


@jobs.job("containers")
async def containers(
    lines: list[dict[str, int | None]],
    kind: Literal["a", "b"],
    share: float = 0.5,
    anything: JsonValue = None,
) -> list[JsonValue]:
    return [[{**line} for line in lines], kind, share, anything]


@jobs.job("unique", unique={"keys": ["type", "args"]})
async def unique(a: str, b: int = 1, *, c: bool = False) -> None: ...


async def results(job: Job) -> Any:
    """Execute a job, and return its result."""
    outcome = await execute(jobs, job)
    assert isinstance(outcome, Succeeded), error_of(outcome)
    return json.loads(outcome.result or "null")


SENT: list[tuple[Any, list[Any], list[Any]]] = [
    (keywords.call("x"), ["x"], ["x", 1, False, "d"]),
    (keywords.call("x", 2), ["x", 2], ["x", 2, False, "d"]),
    (keywords.call("x", b=2), ["x", 2], ["x", 2, False, "d"]),
    (keywords.call(a="x", b=2), ["x", 2], ["x", 2, False, "d"]),
    (keywords.call("x", c=True), ["x", 1, {"c": True}], ["x", 1, True, "d"]),
    (keywords.call("x", d="e"), ["x", 1, {"d": "e"}], ["x", 1, False, "e"]),
    (required.call("x", c=True), ["x", 1, {"c": True}], ["x", 1, True]),
    (rest.call("x"), ["x"], ["x"]),
    (rest.call("x", 1, 2), ["x", 1, 2], ["x", 1, 2]),
    (
        containers.call([{"n": 1, "m": None}], "b", anything={"deep": [1, "x"]}),
        [[{"n": 1, "m": None}], "b", 0.5, {"deep": [1, "x"]}],
        [[{"n": 1, "m": None}], "b", 0.5, {"deep": [1, "x"]}],
    ),
    (unique.call("x"), ["x", 1, {"c": False}], [None]),
]


@pytest.mark.parametrize(("call", "wire", "result"), SENT)
async def test_arguments_come_back_as_they_were_given(
    call: Any, wire: list[Any], result: list[Any]
) -> None:
    """A left-out default in front of the object of keywords is written out, none behind."""
    assert call.to_job().args == wire
    assert await results(call.to_job()) in (result, result[0])


async def test_another_language_writes_the_same_arguments() -> None:
    """The object of the keywords lies at index n, where n counts the other parameters."""
    text = '{"type": "keywords", "args": ["x", 5, {"d": "e"}]}'
    assert await results(Job.from_json(text)) == ["x", 5, False, "e"]


def test_a_unique_job_writes_all_defaults_out() -> None:
    """So that leaving a default out, and naming it, make the same job."""
    assert unique.call("x").to_job().args == unique.call("x", 1, c=False).to_job().args
    plain = keywords.options(unique={"keys": ["type", "args"]})
    assert plain.call("x").to_job().args == ["x", 1, {"c": False, "d": "d"}]


# ------------------------------------------------------------------------- mistakes of senders
@pytest.mark.parametrize(
    ("args", "named", "said"),
    [
        ((), {}, "missing a required argument: 'a'"),
        (("x", 1, True), {}, "too many positional arguments"),
        (("x",), {"a": "y"}, "multiple values for argument 'a'"),
        (("x",), {"e": 1}, "unexpected keyword argument 'e'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(args: Any, named: Any, said: str) -> None:
    with pytest.raises(TypeError, match=rf"keywords\(\): .*{said}"):
        keywords.call(*args, **named)


def test_a_required_keyword_must_be_given() -> None:
    with pytest.raises(TypeError, match=r"missing a required.*argument: 'c'"):
        required.call("x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'a'"):
        required.call(a="x", c=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "field", "expected"),
    [
        (("secret", "a"), "lines", "a list"),
        (([{"n": "secret"}], "a"), "lines[0][...]", "an integer or null"),
        (([{1: 1}], "a"), "lines[0]", "an object whose keys are strings"),
        (([], "secret"), "kind", "one of 'a', 'b'"),
        (([], "a", float("nan")), "share", "a finite number"),
        (([], "a", True), "share", "a number"),
        (([], "a", 0.5, {"x": {1, 2}}), "anything.x", "a JSON value"),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(given: Any, field: str, expected: str) -> None:
    """The message never shows the value."""
    with pytest.raises(WrongValueError) as caught:
        containers.call(*given)
    assert (caught.value.field, caught.value.expected) == (field, expected)
    assert "secret" not in str(caught.value)


def test_what_the_sender_changes_later_is_not_sent() -> None:
    lines: list[dict[str, int | None]] = [{"n": 1}]
    call = containers.call(lines, "a")
    lines.append({"n": 2})
    first, second = call.to_job(), call.to_job()
    first.args.append("changed")
    assert second.args == [[{"n": 1}], "a"]


# ------------------------------------------------------------------------ what a worker refuses
@pytest.mark.parametrize(
    ("args", "field"),
    [
        (["x", "secret"], "b"),
        ([5], "a"),
        (["x", 1, {"c": "secret"}], "c"),
    ],
)
async def test_a_wrong_type_goes_to_the_dead_letters(args: list[Any], field: str) -> None:
    """A retry would find the same. The error names the field, and never shows the value."""
    error = error_of(await execute(jobs, Job("keywords", args)))
    assert (error["code"], error["type"]) == ("DEAD_LETTER", "ArgumentTypeError")
    assert error["details"] == {"field": field}
    assert "secret" not in json.dumps(error)


async def test_arguments_are_read_as_the_middleware_left_them() -> None:
    job = Job.from_members({"type": RawJson('"rest"'), "args": RawJson('["x", 1]')})
    job.args.append(2)
    assert await results(job) == ["x", 1, 2]


# ---------------------------------------------------------------------------- rolling deployments
older, newer = Jobs(), Jobs()


@older.job("mail.send")
async def send_v1(to: str, text: str, *, urgent: bool = False) -> list[JsonValue]:
    return [to, text, urgent]


@newer.job("mail.send")
async def send_v2(
    to: str, text: str = "", subject: str = "", *, urgent: bool = False, tag: str = ""
) -> list[JsonValue]:
    return [to, text, subject, urgent, tag]


NEWER: list[Any] = [
    send_v2.call("a", "b", "c"),
    send_v2.call("a", "b", urgent=True),
    send_v2.call("a", "b", tag="t"),
    send_v2.call("a"),
]


@pytest.mark.parametrize("call", NEWER)
async def test_an_older_worker_leaves_what_a_newer_sender_sends(call: Any) -> None:
    """The job waits, uncounted, for a newer worker, which runs it. A deployment loses nothing."""
    outcome = await execute(older, call.to_job())
    assert isinstance(outcome, Snoozed)
    assert outcome.delay_ms == 30_000
    assert isinstance(await execute(newer, call.to_job()), Succeeded)


async def test_a_rolling_deployment_loses_no_job(shop: Shop) -> None:
    """The new application, an old worker first, then a new one; and not one failure is counted."""
    handle = await send_v2.enqueue("a", "b", "c", urgent=True, tag="t")
    old_handle = await send_v1.enqueue("a", "b", urgent=True)
    await shop.work(older)
    waiting = await handle.get()
    assert (waiting.state, (await old_handle.get()).state) == ("retryable", "completed")
    shop.world.clock.advance(s=30)
    await shop.work(newer)
    assert await handle.result() == ["a", "b", "c", True, "t"]
    assert (await handle.get())["x_aws_uncounted_attempts"] == 1


OLDER: list[tuple[Any, list[Any]]] = [
    (send_v1.call("a", "b"), ["a", "b", "", False, ""]),
    (send_v1.call("a", "b", urgent=True), ["a", "b", "", True, ""]),
]


@pytest.mark.parametrize(("call", "result"), OLDER)
async def test_a_newer_worker_runs_what_an_older_sender_sends(call: Any, result: Any) -> None:
    """The object of the keywords lay further to the front, where no other argument can be meant."""
    outcome = await execute(newer, call.to_job())
    assert isinstance(outcome, Succeeded)
    assert json.loads(outcome.result or "") == result


async def test_an_object_is_no_keywords_where_it_may_be_an_argument() -> None:
    """A parameter that takes objects may have got one."""
    own = Jobs()

    @own.job("a.b")
    async def run(to: str, data: dict[str, bool], *, urgent: bool = False) -> bool:
        return urgent

    outcome = await execute(own, Job("a.b", ["x", {"urgent": True}]))
    assert outcome == Succeeded(RawJson("false"))


async def test_a_job_that_waits_in_vain_is_a_dead_letter() -> None:
    job = NEWER[0].to_job()
    job["x_aws_uncounted_attempts"] = 120
    error = error_of(await execute(older, job))
    assert (error["code"], error["type"]) == ("DEAD_LETTER", "UnexpectedArgumentsError")
    assert "3 arguments came, and it takes 2" in str(error["message"])


@pytest.mark.parametrize("args", [[], ["x", 1, {}, 4], ["x", 1, {"secret": 2}], ["x", 1]])
async def test_other_arguments_than_the_function_takes_are_snoozed(args: list[Any]) -> None:
    outcome = await execute(jobs, Job("required", args))
    assert isinstance(outcome, Snoozed)
    assert "secret" not in json.dumps(outcome.error)
