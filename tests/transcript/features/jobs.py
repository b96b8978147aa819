"""Jobs: enqueue, read, change, cancel, results, and what operators see of them."""

from __future__ import annotations

from typing import Any, Final

from tests.transcript.steps import Feature, Step, delete, get, patch, post

UNKNOWN: Final = "01990000-0000-7000-8000-00000000ffff"

FORMS: Final[dict[str, dict[str, Any]]] = {
    "flat": {"queue": "email", "priority": 5, "timeout": 30, "delay_until": "2030-01-01T00:00:00Z"},
    "options": {"options": {"queue": "email", "priority": -5, "metadata": {"a": 1}, "tags": ["x"]}},
    "a flat attribute and an option": {"priority": 1, "options": {"priority": 2}},
    "a delay": {"delay": "PT10M"},
    "a delay from now": {"scheduled_at": "+PT2H"},
    "a time in a zone": {"scheduled_at": "2030-01-01T02:00:00.123456+02:00"},
    "a time that is past": {"scheduled_at": "2020-01-01T00:00:00Z"},
    "an expiry": {"expires_at": "2030-01-01T00:00:00Z"},
    "timeouts in milliseconds": {"timeout_ms": 1500, "visibility_timeout_ms": 60000},
    "a visibility timeout as a duration": {"visibility_timeout": "PT5M"},
    "a retry policy": {
        "retry": {
            "max_attempts": 5,
            "initial_interval": "PT1S",
            "backoff_coefficient": 3.0,
            "max_interval": "PT5M",
            "jitter": False,
            "non_retryable_errors": ["Bad*"],
            "on_exhaustion": "dead_letter",
        }
    },
    "a retry policy in options": {
        "options": {"retry_policy": {"max_attempts": 2, "backoff_strategy": "linear"}}
    },
    "attempts": {"options": {"max_attempts": 7}},
    "a version behind the type": {"type": "invoice.generate@2.0"},
    "a version": {"version": "3"},
    "a pending job": {"pending": True},
    "a rate limit": {"rate_limit": {"key": "stripe", "concurrency": 2}},
    "a result's time to live": {"result_ttl": 60, "result_size_limit": 100},
    "attributes of the system": {"state": "completed", "attempt": 9, "created_at": "x", "id2": 1},
    "a specversion": {"specversion": "1.0.0-rc.1"},
}

REFUSED: Final = {
    "no type": {"args": []},
    "no args": {"type": "a"},
    "a type in capitals": {"type": "A", "args": []},
    "a type that is a number": {"type": 5, "args": []},
    "args that are an object": {"type": "a", "args": {}},
    "options that are a number": {"type": "a", "args": [], "options": 1},
    "an unknown id's form": {"type": "a", "args": [], "id": "x"},
    "a wrong specversion": {"type": "a", "args": [], "specversion": "9.0"},
    "a queue in capitals": {"type": "a", "args": [], "queue": "A B"},
    "a priority out of range": {"type": "a", "args": [], "priority": 99999999999},
    "a priority that is a text": {"type": "a", "args": [], "priority": "high"},
    "meta that is a list": {"type": "a", "args": [], "meta": []},
    "a schedule that is none": {"type": "a", "args": [], "scheduled_at": "tomorrow"},
    "a schedule without a zone": {"type": "a", "args": [], "scheduled_at": "2030-01-01T00:00:00"},
    "an expiry that is past": {"type": "a", "args": [], "expires_at": "2020-01-01T00:00:00Z"},
    "a delay that is none": {"type": "a", "args": [], "delay": "soon"},
    "a timeout below zero": {"type": "a", "args": [], "timeout": -1},
    "a timeout that is a text": {"type": "a", "args": [], "timeout_ms": "1"},
    "a visibility timeout too short": {"type": "a", "args": [], "visibility_timeout_ms": 1},
    "too many attempts": {"type": "a", "args": [], "retry": {"max_attempts": 100000}},
    "an unknown backoff": {"type": "a", "args": [], "retry": {"backoff_strategy": "zigzag"}},
    "an unknown exhaustion": {"type": "a", "args": [], "retry": {"on_exhaustion": "explode"}},
    "a retry that is a list": {"type": "a", "args": [], "retry": []},
    "tags that are no texts": {"type": "a", "args": [], "tags": [1]},
    "a unique policy that is a text": {"type": "a", "args": [], "unique": "yes"},
    "an unknown dimension": {"type": "a", "args": [], "unique": {"keys": ["moon"]}},
    "an unknown conflict": {"type": "a", "args": [], "unique": {"on_conflict": "fight"}},
    "a unique period that is none": {"type": "a", "args": [], "unique": {"period": "long"}},
    "a rate limit without a bound": {"type": "a", "args": [], "rate_limit": {"key": "k"}},
    "an unknown on_limit": {
        "type": "a",
        "args": [],
        "rate_limit": {"concurrency": 1, "on_limit": "cry"},
    },
    "pending that is a text": {"type": "a", "args": [], "pending": "yes"},
    "a result_ttl that is a text": {"type": "a", "args": [], "result_ttl": "1"},
    "a schema that is a number": {"type": "a", "args": [], "schema": 5},
}

BODIES: Final[dict[str, object]] = {
    "no body": None,
    "broken JSON": '{"type": "a"',
    "an array": [],
    "a text": '"a"',
    "a null": "null",
    "a name twice": '{"type":"a","args":[],"type":"b"}',
    "not a number": '{"type":"a","args":[NaN]}',
    "bytes that are no text": b'{"type":"\xff\xfe"}',
    "too deep": ('{"type":"a","args":' + "[" * 200 + "]" * 200 + "}").encode(),
    "half a surrogate": '{"type":"a","args":["\\ud800"]}',
    "a large number": '{"type":"a","args":[1e999]}',
}

EVENT: Final = {"specversion": "1.0", "id": "e1", "source": "com.shop", "type": "order.paid"}
CLOUD_EVENT: Final = {"content-type": "application/cloudevents+json"}
EVENT_BATCH: Final = {"content-type": "application/cloudevents-batch+json"}
EVENT_HEADERS: Final = {
    "content-type": "application/json",
    **{f"ce-{name}": value for name, value in EVENT.items()},
}

EVENTS: Final[list[Step]] = [
    post("push an event", "/jobs", EVENT | {"data": {"a": 1}}, headers=CLOUD_EVENT),
    post("push it again in binary mode", "/jobs", {"a": 1}, headers=EVENT_HEADERS),
    post("push it with other data", "/jobs", {"a": 2}, headers=EVENT_HEADERS),
    post("push an event without data", "/jobs", headers=EVENT_HEADERS | {"ce-id": "e2"}),
    post("push what is no event", "/jobs", {"a": 1}, headers=CLOUD_EVENT),
    post("push a batch of events", "/jobs", [EVENT], headers=EVENT_BATCH),
    post(
        "enqueue events",
        "/jobs/bulk",
        [EVENT | {"data": {"a": 1}}, {"a": 1}, EVENT | {"id": "e3", "ojsqueue": "email"}],
        headers=EVENT_BATCH,
    ),
    post("enqueue an event that is no batch", "/jobs/bulk", EVENT, headers=EVENT_BATCH),
]

PUSHES: Final[list[Step]] = [
    post(
        "push a job",
        "/jobs",
        {"type": "email.send", "args": ["a"], "meta": {"k": 1}, "x_y": None},
        save={"job": "id"},
    ),
    post(
        "push with an id",
        "/jobs",
        {"type": "a", "args": [1], "id": "019539a4-aaaa-7000-8000-111111111111"},
    ),
    post(
        "push the same with the same id",
        "/jobs",
        {"type": "a", "args": [1], "id": "019539a4-aaaa-7000-8000-111111111111"},
    ),
    post(
        "push another under the same id",
        "/jobs",
        {"type": "a", "args": [2], "id": "019539a4-aaaa-7000-8000-111111111111"},
    ),
    post(
        "push JSON that must come back character by character",
        "/jobs",
        '{"type": "a", "args": [12345678901234567890123, 1.10, 1E+2, "\\u00e9\\ud83d\\ude00",'
        ' {"z": 1, "a": null}], "x": {"b" : [ 1.0 ]}, "meta": {"\u00fc": "\u2603"}}',
        save={"exact": "id"},
    ),
    get("read what must come back character by character", "/jobs/<exact>"),
    *(
        post(f"push with {name}", "/jobs", {"type": "form.some", "args": []} | more)
        for name, more in FORMS.items()
    ),
    *(post(f"push {name}", "/jobs", body) for name, body in REFUSED.items()),
    *(post(f"push {name}", "/jobs", body) for name, body in BODIES.items()),
    post("push an envelope that is too large", "/jobs", {"type": "a", "args": ["x" * 1_100_000]}),
    post(
        "push a batch",
        "/jobs/batch",
        {"jobs": [{"type": f"a.b{n}", "args": [n], "queue": "batch"} for n in range(3)]},
    ),
    post("push an empty batch", "/jobs/batch", {"jobs": []}),
    post("push a batch that is an object", "/jobs/batch", {"jobs": {}}),
    post("push a batch without jobs", "/jobs/batch", {}),
    post("push a batch without a body", "/jobs/batch"),
    *(
        post(f"push a batch with {name}", "/jobs/batch", {"jobs": [{"type": "a", "args": []}, bad]})
        for name, bad in list(REFUSED.items())[:9]
    ),
    post("push a batch with a number", "/jobs/batch", {"jobs": [5]}),
    post(
        "push a batch with an id twice",
        "/jobs/batch",
        {
            "jobs": [
                {"type": "a", "args": [n], "id": "019539a4-bbbb-7000-8000-111111111111"}
                for n in range(2)
            ]
        },
    ),
    post("push a batch that is too long", "/jobs/batch", '{"jobs":[' + "1," * 6000 + "1]}"),
    get("show the middleware", "/admin/middleware"),
]

CHANGES: Final[list[Step]] = [
    post("push a job", "/jobs", {"type": "a", "args": ["a"]}, save={"job": "id"}),
    get("read the job", "/jobs/<job>"),
    get("read an unknown job", f"/jobs/{UNKNOWN}"),
    get("read a job by no id", "/jobs/x"),
    patch("change the priority", "/jobs/<job>", {"priority": 9}),
    patch("change nothing", "/jobs/<job>", {}),
    patch("change another attribute", "/jobs/<job>", {"priority": 9, "queue": "other"}),
    patch("change the priority to a text", "/jobs/<job>", {"priority": "high"}),
    patch("change without a body", "/jobs/<job>"),
    patch("change with broken JSON", "/jobs/<job>", "{"),
    patch("change an unknown job", f"/jobs/{UNKNOWN}", {"priority": 1}),
    post(
        "push a pending job",
        "/jobs",
        {"type": "a", "args": [], "pending": True},
        save={"pending": "id"},
    ),
    post("activate the pending job", "/jobs/<pending>/activate"),
    post("activate it again", "/jobs/<pending>/activate"),
    post("activate an unknown job", f"/jobs/{UNKNOWN}/activate"),
    get("read the result of a job that waits", "/jobs/<job>/result"),
    get("wait for the result of a job that waits", "/jobs/<job>/result?wait=true&timeout=1"),
    get("wait for a result with a wrong time", "/jobs/<job>/result?wait=true&timeout=x"),
    get("wait for a result with a wrong word", "/jobs/<job>/result?wait=perhaps"),
    get("read the result of an unknown job", f"/jobs/{UNKNOWN}/result"),
    get("read the progress of a job that waits", "/jobs/<job>/progress"),
    get("read the progress of an unknown job", f"/jobs/{UNKNOWN}/progress"),
    delete("cancel a job", "/jobs/<job>"),
    delete("cancel a job again", "/jobs/<job>"),
    delete("cancel an unknown job", f"/jobs/{UNKNOWN}"),
    patch("change a cancelled job", "/jobs/<job>", {"priority": 1}),
    get("read the result of a cancelled job", "/jobs/<job>/result"),
    post(
        "push a job that completes",
        "/jobs",
        {"type": "a", "args": [], "queue": "done"},
        save={"done": "id"},
    ),
    post("fetch it", "/workers/fetch", {"queues": ["done"], "worker_id": "w"}),
    get("read the active job", "/jobs/<done>"),
    post("complete it", "/workers/ack", {"job_id": "<done>", "result": {"n": 1.50}}),
    get("read its result", "/jobs/<done>/result"),
    get("wait for its result", "/jobs/<done>/result?wait=true"),
    post("read results", "/jobs/results", {"ids": ["<done>", "<job>", UNKNOWN]}),
    post("read no results", "/jobs/results", {"ids": []}),
    post("read results by a text", "/jobs/results", {"ids": "<done>"}),
    post("read results without a body", "/jobs/results"),
    delete("cancel a completed job", "/jobs/<done>"),
]

OPERATORS: Final[list[Step]] = [
    get("list the jobs", "/admin/jobs?limit=3", save={"page": "pagination.next_cursor"}),
    get("list the jobs on the next page", "/admin/jobs?limit=3&cursor=<page>"),
    get("list the jobs of a page by its number", "/admin/jobs?page=2&per_page=2"),
    get("list the jobs from an offset", "/admin/jobs?offset=1&limit=2"),
    get("list the jobs of a queue", "/admin/jobs?queue=email"),
    get("list the jobs in states", "/admin/jobs?state=completed,cancelled"),
    get("list the jobs of a type", "/admin/jobs?type=a.b1"),
    get("list the jobs of types with a beginning", "/admin/jobs?type=a.*&order=asc&sort=x"),
    get("list the jobs of a time", "/admin/jobs?since=2030-01-01T00:00:00Z"),
    get("list the jobs with a tag", "/admin/jobs?tag=vip"),
    get("list the jobs with an error", "/admin/jobs?error=boom"),
    get("list the jobs until a time", "/admin/jobs?until=2020-01-01T00:00:00Z"),
    get("list the jobs in an unknown state", "/admin/jobs?state=lost"),
    get("list the jobs in an unknown order", "/admin/jobs?order=random"),
    get("list the jobs since no time", "/admin/jobs?since=x"),
    get("list the jobs with no limit", "/admin/jobs?limit=0"),
    get("list the jobs with a limit below zero", "/admin/jobs?limit=-1"),
    get("list the jobs with an unknown cursor", "/admin/jobs?cursor=%3F"),
    get("list the jobs with an unknown parameter", "/admin/jobs?limit=1&moon=full"),
    get("show a job", "/admin/jobs/<done>"),
    get("show a job with its events", "/admin/jobs/<done>?events=true"),
    get("show a job with a wrong word", "/admin/jobs/<done>?events=1"),
    get("show an unknown job", f"/admin/jobs/{UNKNOWN}"),
    get("ask why a job that is over does not run", "/admin/jobs/<done>/why"),
    get("ask why a pending job does not run", "/admin/jobs/<pending>/why"),
    get("ask why an unknown job does not run", f"/admin/jobs/{UNKNOWN}/why"),
    get("list the retries of a job", "/jobs/<done>/retries"),
    get("list the retries of an unknown job", f"/jobs/{UNKNOWN}/retries"),
    post("push a job for the operator", "/jobs", {"type": "a", "args": []}, save={"theirs": "id"}),
    post("cancel a job as an operator", "/admin/jobs/<theirs>/cancel"),
    post("cancel a job as an operator again", "/admin/jobs/<theirs>/cancel"),
    post("cancel an unknown job as an operator", f"/admin/jobs/{UNKNOWN}/cancel"),
    patch("change the priority of a job as an operator", "/jobs/<waiting>", {"priority": 4}),
    patch("change a cancelled job as an operator", "/jobs/<theirs>", {"priority": 4}),
    post("retry a cancelled job", "/admin/jobs/<theirs>/retry"),
    post("retry a job that waits", "/admin/jobs/<pending>/retry"),
    post("retry an unknown job", f"/admin/jobs/{UNKNOWN}/retry"),
]

KNOWN: Final[list[Step]] = [
    post(
        "push a job",
        "/jobs",
        {"type": "a.b1", "args": [], "queue": "email"},
        save={"waiting": "id"},
    ),
    post(
        "push a pending job",
        "/jobs",
        {"type": "a.b2", "args": [], "pending": True},
        save={"pending": "id"},
    ),
    post("push a scheduled job", "/jobs", {"type": "b", "args": [], "delay": "PT1H"}),
    post(
        "push a job that completes",
        "/jobs",
        {"type": "a", "args": [], "queue": "done"},
        save={"done": "id"},
    ),
    post("fetch it", "/workers/fetch", {"queues": ["done"], "worker_id": "w"}),
    post("complete it", "/workers/ack", {"job_id": "<done>", "result": {"n": 1.50}}),
]

FEATURES: Final = [
    Feature(name="push", steps=PUSHES, by_alias=False),
    Feature(name="cloud_events", steps=EVENTS, by_alias=False),
    Feature(name="jobs", steps=CHANGES, by_alias=False),
    Feature(name="job_lists", steps=[*KNOWN, *OPERATORS]),
]
