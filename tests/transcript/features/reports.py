"""What workers send about jobs: FETCH, ACK, FAIL, heartbeats, progress and checkpoints."""

from __future__ import annotations

from typing import Any, Final

from tests.transcript.steps import Feature, Step, delete, get, post, put

UNKNOWN: Final = "01990000-0000-7000-8000-00000000ffff"
FAILURE: Final = {"code": "handler_error", "message": "it broke"}


def active(name: str, **more: Any) -> list[Step]:
    """Return the steps that push a job and fetch it, in a queue of its own."""
    queue = name.replace("_", "-")
    body = {"type": "work.some", "args": [name], "queue": queue} | more
    fetch = {"queues": [queue], "worker_id": "w1"}
    return [
        post(f"push {name}", "/jobs", body, save={name: "id"}),
        post(
            f"fetch {name}",
            "/workers/fetch",
            fetch,
            save={f"{name}-reservation": "jobs.0.reservation_id"},
        ),
    ]


NO_JITTER: Final = {"initial_interval": "PT1M", "jitter": False}

FETCHES: Final[list[Step]] = [
    post("fetch nothing", "/workers/fetch", {"queues": ["empty"], "worker_id": "w1"}),
    *(
        post(
            f"push {name} for the fetches",
            "/jobs",
            {"type": "work.some", "args": [name], "queue": "q", "priority": n, "timeout": 60},
        )
        for n, name in enumerate(("one", "two", "three", "four", "five", "six"))
    ),
    post("fetch without a worker", "/workers/fetch", {"queues": ["q"]}),
    post("fetch by batch_size", "/workers/fetch", {"queues": ["q"], "batch_size": 2}),
    post(
        "fetch with a visibility timeout",
        "/workers/fetch",
        {"queues": ["empty", "q"], "worker_id": "w1", "count": 1, "visibility_timeout_ms": 60000},
    ),
    post(
        "fetch with an interval of heartbeats",
        "/workers/fetch",
        {"queues": ["q"], "worker_id": "w1", "count": 10, "heartbeat_interval_ms": 5000},
    ),
    post("fetch without queues", "/workers/fetch", {"worker_id": "w1"}),
    post("fetch from no queues", "/workers/fetch", {"queues": []}),
    post("fetch from a text", "/workers/fetch", {"queues": "q"}),
    post("fetch from a queue with a wrong name", "/workers/fetch", {"queues": ["A B"]}),
    post("fetch zero jobs", "/workers/fetch", {"queues": ["q"], "count": 0}),
    post("fetch too many jobs", "/workers/fetch", {"queues": ["q"], "count": 100000}),
    post("fetch a count that is a text", "/workers/fetch", {"queues": ["q"], "count": "1"}),
    post("fetch for too short", "/workers/fetch", {"queues": ["q"], "visibility_timeout_ms": 1}),
    post("fetch as nobody", "/workers/fetch", {"queues": ["q"], "worker_id": ""}),
    post("fetch without a body", "/workers/fetch"),
    post("fetch with broken JSON", "/workers/fetch", "{"),
    post("fetch with an array", "/workers/fetch", []),
]

ACKS: Final[list[Step]] = [
    *active("acked"),
    post("ack as another worker", "/workers/ack", {"job_id": "<acked>", "worker_id": "w2"}),
    post("ack another attempt", "/workers/ack", {"job_id": "<acked>", "attempt": 7}),
    post("ack another reservation", "/workers/ack", {"job_id": "<acked>", "reservation_id": "x"}),
    post(
        "ack",
        "/workers/ack",
        '{"job_id":"<acked>","worker_id":"w1","reservation_id":"<acked-reservation>",'
        '"attempt":1,"result":{"sum":12345678901234567890, "x": 1.0}}',
    ),
    post("ack again", "/workers/ack", {"job_id": "<acked>", "worker_id": "w1"}),
    get("read the job that was acked", "/jobs/<acked>"),
    post("ack an unknown job", "/workers/ack", {"job_id": UNKNOWN}),
    post("ack no id", "/workers/ack", {"job_id": "x"}),
    post("ack no job", "/workers/ack", {}),
    post("ack without a body", "/workers/ack"),
    post("ack with broken JSON", "/workers/ack", "{"),
    *active("acked_too"),
    post("ack a job by its path", "/jobs/<acked_too>/ack", {"result": None}),
    post("ack a job by its path again", "/jobs/<acked_too>/ack"),
    post("ack an unknown job by its path", f"/jobs/{UNKNOWN}/ack", {}),
    post("ack by a path with an array", "/jobs/<acked_too>/ack", []),
    *active("acked_late", result_size_limit=10),
    post("ack with a result that is too large", "/jobs/<acked_late>/ack", {"result": "x" * 50}),
    post("ack with a worker that is a number", "/jobs/<acked_late>/ack", {"worker_id": 5}),
]

FAILS: Final[list[Step]] = [
    *active("failed", retry=NO_JITTER),
    post(
        "fail as another worker",
        "/workers/nack",
        {"job_id": "<failed>", "worker_id": "w2", "error": FAILURE},
    ),
    post("fail without an error", "/workers/nack", {"job_id": "<failed>"}),
    post(
        "fail with an error that is a text", "/workers/nack", {"job_id": "<failed>", "error": "no"}
    ),
    post(
        "fail with an error without a message", "/workers/nack", {"job_id": "<failed>", "error": {}}
    ),
    post(
        "fail in the form of the binding",
        "/workers/nack",
        {"job_id": "<failed>", "worker_id": "w1", "error": FAILURE | {"details": {"n": 1}}},
    ),
    get("read the job that failed", "/jobs/<failed>"),
    get("list the retries of the job that failed", "/jobs/<failed>/retries"),
    post("fail again", "/workers/nack", {"job_id": "<failed>", "error": FAILURE}),
    *active("failed_core", retry={"max_attempts": 1}),
    post(
        "fail in the form of the core",
        "/jobs/<failed_core>/nack",
        {"error": {"type": "Broken", "message": "it broke", "backtrace": ["a", "b"]}},
    ),
    post("fail a discarded job by its path", "/jobs/<failed_core>/nack", {"error": FAILURE}),
    get("read the discarded job", "/jobs/<failed_core>"),
    *active("failed_for_good"),
    post(
        "fail with an error that is not retryable",
        "/workers/nack",
        {"job_id": "<failed_for_good>", "error": FAILURE | {"retryable": False}},
    ),
    *active("given_back"),
    post("give a job back", "/workers/nack", {"job_id": "<given_back>", "requeue": True}),
    post("give a job back that nobody holds", "/jobs/<given_back>/nack", {"requeue": True}),
    *active("snoozed", retry={"max_attempts": 1}),
    post(
        "snooze a job",
        "/workers/nack",
        {"job_id": "<snoozed>", "requeue": True, "delay_ms": 60000},
    ),
    get("read the snoozed job", "/jobs/<snoozed>"),
    *active("delayed", retry=NO_JITTER),
    post(
        "fail with a delay of its own",
        "/jobs/<delayed>/nack",
        {"error": FAILURE, "delay_ms": 90000},
    ),
    *active("wrongly_delayed"),
    post(
        "fail with a delay that is a text",
        "/workers/nack",
        {"job_id": "<wrongly_delayed>", "error": FAILURE, "delay_ms": "1m"},
    ),
    post(
        "fail by its path with a negative delay",
        "/jobs/<wrongly_delayed>/nack",
        {"error": FAILURE, "delay_ms": -1},
    ),
    *active("dead", retry={"max_attempts": 1, "on_exhaustion": "dead_letter"}),
    post("fail to the dead letters", "/jobs/<dead>/nack", {"error": FAILURE}),
    post("fail an unknown job", "/workers/nack", {"job_id": UNKNOWN, "error": FAILURE}),
    post("fail an unknown job by its path", f"/jobs/{UNKNOWN}/nack", {"error": FAILURE}),
    post("fail no job", "/workers/nack", {"error": FAILURE}),
    post("fail without a body", "/workers/nack"),
    post("fail by a path without a body", "/jobs/<failed>/nack"),
    post("retry a discarded job", "/admin/jobs/<failed_core>/retry"),
    get("read the job after its retry", "/jobs/<failed_core>"),
    get("fetch after a minute", "/jobs/<failed>", wait_s=61, tick=True),
]

BEATS: Final[list[Step]] = [
    *active("held"),
    post(
        "beat",
        "/workers/heartbeat",
        {
            "worker_id": "w1",
            "state": "running",
            "active_jobs": ["<held>", UNKNOWN],
            "hostname": "h",
            "pid": 1,
            "queues": ["held"],
            "concurrency": 2,
            "labels": ["a"],
            "version": "1",
            "metadata": {"x": 1},
            "heartbeat_interval_ms": 5000,
        },
    ),
    post(
        "beat with a number of jobs",
        "/workers/heartbeat",
        {"worker_id": "w1", "active_jobs": 1, "active_job_ids": ["<held>"]},
    ),
    post(
        "beat with reservations",
        "/workers/heartbeat",
        {"worker_id": "w1", "active_jobs": ["<held>"], "reservation_ids": {"<held>": "other"}},
    ),
    post(
        "beat with attempts",
        "/workers/heartbeat",
        {"worker_id": "w1", "active_jobs": ["<held>"], "attempts": {"<held>": 1}},
    ),
    post(
        "beat for a job", "/workers/heartbeat", {"job_id": "<held>", "visibility_timeout_ms": 90000}
    ),
    post("beat while draining", "/workers/heartbeat", {"worker_id": "w3", "state": "draining"}),
    post("beat while shutting down", "/workers/heartbeat", {"worker_id": "w4", "shutdown": True}),
    post("beat in an unknown state", "/workers/heartbeat", {"worker_id": "w1", "state": "asleep"}),
    post("beat as nobody", "/workers/heartbeat", {}),
    post("beat with a text of jobs", "/workers/heartbeat", {"worker_id": "w1", "active_jobs": "x"}),
    post("beat with wrong ids", "/workers/heartbeat", {"worker_id": "w1", "active_jobs": ["x"]}),
    post("beat too often", "/workers/heartbeat", {"worker_id": "w1", "heartbeat_interval_ms": 1}),
    post("beat without a body", "/workers/heartbeat"),
    get("read the health of a worker", "/workers/w1/health"),
    get("read the health of a worker that drains", "/workers/w3/health"),
    get("read the health of an unknown worker", "/workers/nobody/health"),
]

PROGRESS: Final[list[Step]] = [
    *active("moving"),
    put(
        "report progress",
        "/jobs/<moving>/progress",
        {"progress": 0.25, "message": "a", "data": {"n": 1}},
    ),
    post("post progress", "/jobs/<moving>/progress", {"percentage": 50}),
    post(
        "report progress of a job",
        "/workers/progress",
        {"job_id": "<moving>", "percentage": 75, "worker_id": "w1"},
    ),
    put("report progress beyond the range", "/jobs/<moving>/progress", {"progress": 7}),
    put(
        "report progress of another attempt",
        "/jobs/<moving>/progress",
        {"progress": 0.9, "attempt": 9},
    ),
    put("report no progress", "/jobs/<moving>/progress", {}),
    put("report a text as progress", "/jobs/<moving>/progress", {"progress": "half"}),
    put("report progress without a body", "/jobs/<moving>/progress"),
    post("post progress without a body", "/jobs/<moving>/progress"),
    put("report progress of an unknown job", f"/jobs/{UNKNOWN}/progress", {"progress": 0.5}),
    post("post progress of an unknown job", f"/jobs/{UNKNOWN}/progress", {"progress": 0.5}),
    post(
        "report progress of a job that is unknown",
        "/workers/progress",
        {"job_id": UNKNOWN, "progress": 1},
    ),
    post("report progress of nothing", "/workers/progress", {"progress": 1}),
    put(
        "report progress that is too large",
        "/jobs/<moving>/progress",
        {"progress": 1, "data": {"x": "x" * 1_100_000}},
    ),
    get("read the progress", "/jobs/<moving>/progress"),
]

CHECKPOINTS: Final[list[Step]] = [
    *active("durable"),
    get("read no checkpoint", "/jobs/<durable>/checkpoint"),
    post(
        "save a checkpoint",
        "/jobs/<durable>/checkpoint",
        {"state": {"row": 17}, "step_index": 2, "metadata": {"a": 1}},
    ),
    put("put a checkpoint", "/jobs/<durable>/checkpoint", {"state": {"row": 18}}),
    get("read a checkpoint", "/jobs/<durable>/checkpoint"),
    get("resume from a checkpoint", "/jobs/<durable>/checkpoint/resume"),
    post(
        "save a checkpoint of another attempt",
        "/jobs/<durable>/checkpoint",
        {"state": 1, "attempt": 5},
    ),
    put(
        "put a checkpoint of another worker",
        "/jobs/<durable>/checkpoint",
        {"state": 1, "worker_id": "w9"},
    ),
    post("save no checkpoint", "/jobs/<durable>/checkpoint", {}),
    put("put no checkpoint", "/jobs/<durable>/checkpoint", {}),
    post(
        "save a checkpoint with a wrong step",
        "/jobs/<durable>/checkpoint",
        {"state": 1, "step_index": -1},
    ),
    post("save a checkpoint without a body", "/jobs/<durable>/checkpoint"),
    post("save a checkpoint of an unknown job", f"/jobs/{UNKNOWN}/checkpoint", {"state": 1}),
    put("put a checkpoint of an unknown job", f"/jobs/{UNKNOWN}/checkpoint", {"state": 1}),
    get("read the checkpoint of an unknown job", f"/jobs/{UNKNOWN}/checkpoint"),
    get("resume from the checkpoint of an unknown job", f"/jobs/{UNKNOWN}/checkpoint/resume"),
    delete("delete a checkpoint", "/jobs/<durable>/checkpoint"),
    delete("delete the checkpoint of an unknown job", f"/jobs/{UNKNOWN}/checkpoint"),
    get("read a checkpoint that was deleted", "/jobs/<durable>/checkpoint"),
]

FEATURES: Final = [
    Feature(name="fetch_ack_fail", steps=[*FETCHES, *ACKS, *FAILS]),
    Feature(name="heartbeats_and_progress", steps=[*BEATS, *PROGRESS, *CHECKPOINTS]),
]
