"""Shows what fairness keys do: the same jobs in two queues, one with keys and one without.

One customer enqueues hundreds of jobs at once. Two others come later, with one job a second each.
A worker starts jobs of both queues at the same steady rate, through the API.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.table import Table

FAIR: Final = "demo-fair"
PLAIN: Final = "demo-plain"
QUEUES: Final = (FAIR, PLAIN)
FLOODER: Final = "acme"
LATE: Final = ("beta", "gamma")
CUSTOMERS: Final = (FLOODER, *LATE)

FIRST_LATE_S: Final = 2
"""When the late customers begin (seconds)."""
LATE_JOBS: Final = 10
"""How many jobs each of them enqueues, one a second."""
BATCH: Final = 100
RECENT: Final = 12
"""Starts that the shares count."""
BAR: Final = 40
"""Characters of the longest bar."""

Post = Callable[[str, dict[str, Any]], Any]
"""Sends a body to a path of the API, and returns the decoded answer."""


@dataclass(frozen=True, slots=True)
class StartedJob:
    """Says whose job started, when it was enqueued, and how long it waited (seconds)."""

    customer: str
    enqueued_s: float
    waited_s: float


@dataclass(slots=True)
class QueueRecord:
    """Records what happened in a queue.

    :ivar waiting: when jobs that have not started were enqueued, and whose they are, by id.
    """

    waiting: dict[str, tuple[str, float]] = field(default_factory=dict)
    started: list[StartedJob] = field(default_factory=list)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=RECENT))

    def share(self, customer: str) -> float:
        """Return a customer's share of the latest starts."""
        return self.recent.count(customer) / len(self.recent) if self.recent else 0.0

    def waits(self, customer: str) -> list[float]:
        """Return how long each job of a customer waited, in the order in which they started."""
        return [each.waited_s for each in self.started if each.customer == customer]


@dataclass(slots=True, kw_only=True)
class FairnessDemo:
    """Enqueues the jobs, and starts them.

    :ivar clock: seconds that only grow.
    :ivar sleep: waits for some seconds.
    :ivar flood: jobs that the first customer enqueues at once.
    :ivar per_s: jobs of each queue that start in a second.
    """

    post: Post
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    flood: int
    per_s: float
    records: dict[str, QueueRecord] = field(
        default_factory=lambda: {queue: QueueRecord() for queue in QUEUES}
    )
    begun_at: float = 0.0

    def run(self, show: Callable[[], None]) -> None:
        """Enqueue all jobs, and start them until none is left.

        :param show: called after each start.
        """
        self.begun_at = self.clock()
        self._push(FLOODER, self.flood)
        arrivals, turn = deque(range(FIRST_LATE_S, FIRST_LATE_S + LATE_JOBS)), 0
        while arrivals or any(each.waiting for each in self.records.values()):
            self.sleep(max(0.0, turn / self.per_s - self.elapsed()))
            while arrivals and arrivals[0] <= self.elapsed():
                arrivals.popleft()
                for customer in LATE:
                    self._push(customer, 1)
            for queue in QUEUES:
                self._start(queue)
            turn += 1
            show()

    def elapsed(self) -> float:
        """Return the seconds since the begin."""
        return self.clock() - self.begun_at

    def _push(self, customer: str, count: int) -> None:
        """Enqueue jobs of a customer in both queues, with and without a fairness key."""
        for queue in QUEUES:
            options = {"queue": queue, **({"fairness": {"key": customer}} if queue == FAIR else {})}
            job = {"type": "report.make", "args": [customer], "options": options}
            for at in range(0, count, BATCH):
                jobs = [job] * min(BATCH, count - at)
                answer = self.post("/jobs/batch", {"jobs": jobs})
                now = self.elapsed()
                for each in answer["jobs"]:
                    self.records[queue].waiting[each["id"]] = customer, now

    def _start(self, queue: str) -> None:
        """Start the next job of a queue, and complete it."""
        record = self.records[queue]
        for job in self.post("/workers/fetch", {"queues": [queue], "worker_id": "demo"})["jobs"]:
            customer, at = record.waiting.pop(job["id"])
            record.started.append(StartedJob(customer, at, self.elapsed() - at))
            record.recent.append(customer)
            self.post("/workers/ack", {"job_id": job["id"], "worker_id": "demo"})

    # --------------------------------------------------------------------------- what is shown
    def shares(self) -> Table:
        """Return who waits and who starts at present, as a table."""
        from rich.table import Table

        table = Table(
            title=f"After {self.elapsed():.0f} s: share of the last {RECENT} starts",
            caption=f"Queue {FAIR}: with fairness keys. Queue {PLAIN}: the same jobs without.",
        )
        for name in ("customer", "with keys", "", "waiting", "without", "", "waiting"):
            table.add_column(name, min_width=10 if not name else None, no_wrap=True)
        for customer in CUSTOMERS:
            cells = [each for queue in QUEUES for each in self._cells(queue, customer)]
            table.add_row(customer, *cells)
        return table

    def _cells(self, queue: str, customer: str) -> Iterator[str]:
        record = self.records[queue]
        share = record.share(customer)
        yield f"{share:.0%}"
        yield "█" * round(share * 10)
        yield str(sum(whose == customer for whose, _ in record.waiting.values()))

    def waits(self) -> Table:
        """Return how long the jobs of each customer waited, as a table."""
        from rich.table import Table

        table = Table(title="How long jobs waited: median, and longest (seconds)")
        for name in ("customer", "jobs", "with keys", "without"):
            table.add_column(name, justify="left" if name == "customer" else "right")
        for customer in CUSTOMERS:
            found = [self.records[queue].waits(customer) for queue in QUEUES]
            spreads = [f"{median(each):.1f}   {max(each):.1f}" for each in found]
            table.add_row(customer, str(len(found[0])), *spreads)
        return table

    def plot(self, customer: str = LATE[0]) -> Table:
        """Return how long each job of a late customer waited, as bars."""
        from rich.table import Table

        found = [
            sorted(
                (each for each in self.records[queue].started if each.customer == customer),
                key=lambda each: each.enqueued_s,
            )
            for queue in QUEUES
        ]
        longest = max(each.waited_s for jobs in found for each in jobs)
        table = Table(title=f"Each job of {customer}: how long it waited", box=None)
        for name in ("enqueued at", "seconds", "- with keys, = without"):
            table.add_column(name, justify="left" if "-" in name else "right")
        for fair, plain in zip(*found, strict=True):
            for each, mark in ((fair, "-"), (plain, "=")):
                at = f"{each.enqueued_s:.0f} s" if mark == "-" else ""
                bar = mark * max(1, round(each.waited_s / longest * BAR))
                table.add_row(at, f"{each.waited_s:.1f}", bar)
        return table
