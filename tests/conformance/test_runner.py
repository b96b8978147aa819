"""The conformance runner against a server that answers from a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from ojs_aws.cli.verify.conformance.cases import CaseError, load_cases, parse_case, uuid7
from ojs_aws.cli.verify.conformance.matchers import Json, matches
from ojs_aws.cli.verify.conformance.runner import CaseOutcome, CaseVerdict, ConformanceRunner
from tests.conformance.report import line, summary
from tests.load import HUNG_S

Handler = Callable[[httpx.Request], httpx.Response]


def run(handler: Handler, *steps: dict[str, Json], **case: Json) -> CaseVerdict:
    """The verdict on a case of these steps against this server; nobody sleeps."""
    document: dict[str, Json] = {"test_id": "t", "steps": list(steps), **case}
    client = httpx.Client(transport=httpx.MockTransport(handler))
    runner = ConformanceRunner("http://ojs", client, run="r1", sleep=lambda _: None)
    return runner.run_case(parse_case(document, "t.json"))


def echo(request: httpx.Request) -> httpx.Response:
    """CaseAnswer with what was asked."""
    sent = json.loads(request.content) if request.content else None
    return httpx.Response(
        200,
        json={"path": request.url.path, "sent": sent, "jobs": [{"id": "j1", "n": 7}]},
        headers={"OJS-Version": "1.0"},
    )


def step(name: str, body: Json = None, **more: Json) -> dict[str, Json]:
    return {"id": name, "action": "POST", "path": "/p", "body": body, **more}


def test_met_assertions_pass() -> None:
    """Status, headers, body, absence and text are looked at."""
    verdict = run(
        echo,
        step(
            "one",
            {"a": 1},
            assertions={
                "status": 200,
                "headers": {"OJS-Version": "1.0", "Content-Type": {"$match": "json"}},
                "body": {"$.sent.a": 1, "$.jobs": "array:length:1", "$.jobs[0].x": "absent"},
                "body_absent": ["$.error", "$.jobs[3].id"],
                "body_contains": ['"j1"'],
                "status_in": [200, 201],
            },
        ),
    )
    assert verdict.outcome is CaseOutcome.PASSED, verdict.findings


@pytest.mark.parametrize(
    "assertions",
    [
        {"status": 201},
        {"status_in": [201]},
        {"headers": {"OJS-Version": "2.0"}},
        {"headers": {"X-Request-Id": {"$exists": True}}},
        {"headers": {"OJS-Version": {"$match": "^2"}}},
        {"body": {"$.jobs[0].id": "j2"}},
        {"body": {"$.jobs[5].id": "any"}},
        {"body": {"$or": [{"$.jobs": "array:empty"}]}},
        {"body_absent": ["$.jobs"]},
        {"body_contains": ["nowhere"]},
        {"timing_ms": {"greater_than": 60_000}},
    ],
)
def test_an_unmet_assertion_fails_the_case_with_one_finding(assertions: dict[str, Json]) -> None:
    """The finding names the step."""
    verdict = run(echo, step("one", assertions=assertions))
    assert verdict.outcome is CaseOutcome.FAILED
    assert len(verdict.findings) == 1
    assert verdict.findings[0].startswith("one: ")


def test_a_body_assertion_fails_on_an_answer_without_json() -> None:
    """Not even ``absent`` is met by a page of HTML."""
    verdict = run(
        lambda _: httpx.Response(200, text="<html>"),
        step("one", assertions={"body": {"$.error": "absent"}}),
    )
    assert verdict.outcome is CaseOutcome.FAILED


def test_a_server_that_does_not_answer_fails_the_case() -> None:
    """As a finding, not as an exception."""

    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    verdict = run(broken, step("one", assertions={"status": 200}))
    assert verdict.outcome is CaseOutcome.FAILED
    assert "refused" in verdict.findings[0]


def test_references_to_earlier_answers_are_filled_everywhere() -> None:
    """In path, body and matcher; a number becomes text, one that leads nowhere stays."""
    verdict = run(
        echo,
        step("one", {"a": 'é"quoted'}, assertions={"status": 200}),
        step(
            "two",
            {
                "id": "{{steps.one.response.body.jobs[0].id}}",
                "text": "{{steps.one.response.body.sent.a}}",
                "n": "n={{steps.one.response.body.jobs[0].n}}",
                "gone": "{{steps.one.response.body.nothing}}",
            },
            path="/jobs/{{steps.one.response.body.jobs[0].id}}",
            assertions={
                "body": {
                    "$.path": "/jobs/j1",
                    "$.sent.id": "{{steps.one.response.body.jobs[0].id}}",
                    "$.sent.text": 'é"quoted',
                    "$.sent.n": "n=7",
                    "$.sent.gone": "{{steps.one.response.body.nothing}}",
                }
            },
        ),
    )
    assert verdict.outcome is CaseOutcome.PASSED, verdict.findings


def test_placeholders_belong_to_case_and_run() -> None:
    """Queues and workers are named after both; an id is fresh, and the same when repeated."""
    verdict = run(
        echo,
        step(
            "one",
            {
                "q": "{{queue}}-b",
                "long": "{{queue:128}}",
                "w": "{{worker}}",
                "r": "{{run}}",
                "ids": ["{{uuid7:a}}", "{{uuid7:a}}", "{{uuid7:b}}"],
            },
            assertions={
                "body": {
                    "$.sent.q": "t-r1-b",
                    "$.sent.long": "string:pattern(^t-r1x{124}$)",
                    "$.sent.w": "worker-t-r1",
                    "$.sent.r": "r1",
                    "$.sent.ids": ["{{uuid7:a}}", "{{uuid7:a}}", "{{uuid7:b}}"],
                }
            },
        ),
    )
    assert verdict.outcome is CaseOutcome.PASSED, verdict.findings
    assert matches("string:uuidv7", uuid7())
    assert uuid7() != uuid7()


def test_a_raw_body_is_sent_as_it_is() -> None:
    """With the OJS content type, unless the step names another."""
    seen: list[tuple[bytes, str]] = []

    def record(request: httpx.Request) -> httpx.Response:
        seen.append((request.content, request.headers.get("Content-Type", "")))
        return httpx.Response(400)

    steps: list[dict[str, Json]] = [
        step("one", raw_body="{ no json }", assertions={"status": 400}),
        step("two", raw_body="", headers={"content-type": "text/plain"}, assertions={}),
        {"id": "three", "action": "GET", "path": "/p", "assertions": {"status": 400}},
    ]
    assert run(record, *steps).outcome is CaseOutcome.PASSED
    assert seen == [
        (b"{ no json }", "application/openjobspec+json"),
        (b"", "text/plain"),
        (b"", ""),
    ]


def test_parallel_steps_are_under_way_at_the_same_time() -> None:
    """Each waits for the other inside the server."""
    barrier = threading.Barrier(2, timeout=HUNG_S)

    def meet(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/p":
            barrier.wait()
        return httpx.Response(200, json={"jobs": []})

    verdict = run(
        meet,
        step("before", path="/q", assertions={"status": 200}),
        step("one", parallel_with="two", assertions={"status": 200}),
        step("two", parallel_with="one", assertions={"status": 200}),
        step("after", path="/q", assertions={"status": 200}),
    )
    assert verdict.outcome is CaseOutcome.PASSED, verdict.findings


def claim_case(first: list[Json], second: list[Json]) -> CaseVerdict:
    """A case in which two fetches get these jobs."""
    answers: dict[str, Json] = {
        "/push": {"job": {"id": "j1"}},
        "/one": {"jobs": first},
        "/two": {"jobs": second},
    }
    claim: Json = {
        "job_id": "{{steps.push.response.body.job.id}}",
        "fetches": ["{{steps.one.response.body.jobs}}", "{{steps.two.response.body.jobs}}"],
        "exactly_one_has_job": True,
        "exactly_one_empty": True,
    }
    return run(
        lambda request: httpx.Response(200, json=answers[request.url.path]),
        *(
            step(name, path=f"/{name}", assertions={"status": 200})
            for name in ("push", "one", "two")
        ),
        {"id": "compare", "action": "ASSERT", "assertions": {"exclusive_claim": claim}},
    )


def test_an_exclusive_claim_wants_one_holder_and_one_empty_hand() -> None:
    """Neither both nor none may have the job."""
    assert claim_case([{"id": "j1"}], []).outcome is CaseOutcome.PASSED
    assert len(claim_case([{"id": "j1"}], [{"id": "j1"}]).findings) == 2
    assert len(claim_case([], []).findings) == 2
    assert len(claim_case([{"id": "j2"}], []).findings) == 1


def test_equality_compares_answers() -> None:
    """Values that are both missing are not equal."""

    def compare(left: str, right: str) -> CaseOutcome:
        return run(
            echo,
            step("one", 1, assertions={"status": 200}),
            step("two", 1, assertions={"status": 200}),
            {"id": "a", "action": "ASSERT", "assertions": {"equality": {left: right}}},
        ).outcome

    jobs = "steps.%s.response.body.jobs"
    assert compare("$." + jobs % "one", "{{" + jobs % "two" + "}}") is CaseOutcome.PASSED
    assert compare("$." + jobs % "one", "$.steps.two.response.body.path") is CaseOutcome.FAILED
    assert (
        compare("$.steps.one.response.body.x", "$.steps.two.response.body.x") is CaseOutcome.FAILED
    )


def test_waits_are_slept_before_the_step() -> None:
    """In seconds; WAIT adds its duration."""
    slept: list[float] = []
    document: dict[str, Json] = {
        "test_id": "t",
        "steps": [
            {"id": "w", "action": "WAIT", "duration_ms": 1500},
            step("one", delay_ms=300, assertions={"status": 200}),
        ],
    }
    client = httpx.Client(transport=httpx.MockTransport(echo))
    case = parse_case(document, "t.json")
    ConformanceRunner("http://ojs", client, run="r", sleep=slept.append).run_case(case)
    assert slept == [1.5, 0.3]
    assert case.time_dependent


def test_the_server_is_reset_before_a_case_when_asked() -> None:
    """Once, and first."""
    paths: list[str] = []

    def record(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        return httpx.Response(200)

    document: dict[str, Json] = {"test_id": "t", "steps": [step("one", assertions={"status": 200})]}
    client = httpx.Client(transport=httpx.MockTransport(record))
    runner = ConformanceRunner("http://ojs", client, run="r", reset_url="http://ojs/reset")
    runner.run_case(parse_case(document, "t.json"))
    assert paths == ["/reset", "/p"]


@pytest.mark.parametrize(
    "steps",
    [
        [step("one", action="ENQUEUE", assertions={"status": 200})],
        [step("one", {"id": "${job}"}, captures={"job": "$.id"}, assertions={"status": 200})],
        [step("one")],
        [{"id": "a", "action": "ASSERT", "assertions": {"harmony": True}}],
    ],
)
def test_what_no_http_runner_can_judge_is_neither_pass_nor_failure(
    steps: list[dict[str, Json]],
) -> None:
    """Unknown actions and comparisons, captured values, and cases that assert nothing."""
    verdict = run(echo, *steps)
    assert verdict.outcome is CaseOutcome.UNJUDGEABLE
    assert verdict.findings[0]


def test_cases_are_read_in_order_and_bad_files_named(tmp_path: Path) -> None:
    """Extensions come last, whatever level they call themselves."""
    (tmp_path / "ext-x").mkdir()
    for name, level in (("b", 1), ("a", 0), ("ext-x/a", 0)):
        document = {"test_id": name, "level": level, "steps": [step("s", assertions={"status": 1})]}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    assert [case.file for case in load_cases(tmp_path)] == ["a.json", "b.json", "ext-x/a.json"]
    (tmp_path / "c.json").write_text('{"steps": 5}')
    with pytest.raises(CaseError, match=r"c\.json"):
        load_cases(tmp_path)
    with pytest.raises(CaseError, match="no conformance cases"):
        load_cases(tmp_path / "nowhere")


def test_the_report_names_what_failed_and_counts_the_rest() -> None:
    """One line per case, its findings below, and totals."""
    failed = run(echo, step("one", assertions={"status": 500}), name="a name")
    passed = run(echo, step("one", assertions={"status": 200}))
    assert line(failed).startswith("FAIL  0   t ")
    assert "a name\n        one: status is 200, not 500" in line(failed)
    rows = [row.split() for row in summary([failed, passed], 1.0).splitlines()]
    assert ["all", "1", "1", "0"] in rows
