"""Runs the assertions one after the other, shows each, and writes the report."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ojs_aws.cli.verify.site import Assertion, NotSoError, Outcome, Site, SkippedError
from ojs_aws.domain.errors import OjsError

if TYPE_CHECKING:
    from ojs_aws.cli.terminal.output import Output

_ACCOUNT: Final = re.compile(r"(?<!\d)\d{12}(?!\d)")
_KEY: Final = re.compile(r"ojs_[0-9a-f]{16}_[\w-]+")
MASKED: Final = "************"
_HOUR_S: Final = 3600


def masked(text: str) -> str:
    """Return a text without numbers of accounts and API keys."""
    return _KEY.sub("ojs_...", _ACCOUNT.sub(MASKED, text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Says how one assertion ended.

    :ivar seen: what it saw, or why it failed or was skipped.
    """

    section: str
    name: str
    proves: str
    outcome: Outcome
    seen: str
    seconds: float


class TimeOverError(KeyboardInterrupt):
    """Raised in whatever runs when the time of a run is over; asyncio, too, lets it through."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt what runs in the main thread after so many seconds; on Windows nothing does.

    :raises TimeOverError: the time was over.
    """
    if sys.platform == "win32":
        yield
        return

    def interrupt(*_: object) -> None:
        raise TimeOverError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def judged(assertion: Assertion, site: Site, most_s: float = _HOUR_S) -> Result:
    """Run one assertion, for so many seconds at most; whatever it raises is a failure."""
    begun = time.monotonic()
    if site.is_emulated and assertion.not_emulated:
        outcome, seen = Outcome.SKIPPED, assertion.not_emulated
    else:
        outcome, seen = _run(assertion, site, most_s)
    return Result(
        section=assertion.section,
        name=assertion.name,
        proves=assertion.proves,
        outcome=outcome,
        seen=masked(seen),
        seconds=round(time.monotonic() - begun, 1),
    )


def _run(assertion: Assertion, site: Site, most_s: float) -> tuple[Outcome, str]:
    try:
        with time_limit(most_s):
            return Outcome.PASSED, assertion.run(site)
    except NotSoError as problem:
        return Outcome.FAILED, str(problem)
    except SkippedError as problem:
        return Outcome.SKIPPED, str(problem)
    except OjsError as problem:
        return Outcome.FAILED, problem.message
    except TimeOverError:
        return Outcome.FAILED, "it was cut off: the time of the run was over"
    except Exception as problem:  # noqa: BLE001 - the others are to run, and then the teardown
        return Outcome.FAILED, f"{type(problem).__name__}: {problem}"


def run_all(
    assertions: Sequence[Assertion], site: Site, ends_at: float, note: Callable[[Result], None]
) -> None:
    """Run assertions; none runs after the first one failed, which deploys, or when time is over.

    :param ends_at: of the site's clock; an assertion that still runs then is cut off.
    :param note: gets each result.
    """
    for at, assertion in enumerate(assertions):
        if site.clock() > ends_at:
            note(unable("time", f"nothing ran from {assertion.name!r} on: the time was over"))
            return
        result = judged(assertion, site, ends_at - site.clock())
        note(result)
        if at == 0 and result.outcome is Outcome.FAILED:
            return


def unable(name: str, seen: str) -> Result:
    """Return the result that says why a run ended early."""
    return Result(
        section="run",
        name=name,
        proves="all assertions run",
        outcome=Outcome.FAILED,
        seen=seen,
        seconds=0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Holds what a run found.

    :ivar estimated_dollars: what it was expected to cost.
    :ivar left: what the teardown could not remove.
    """

    id: str
    version: str
    scale: str
    region: str
    is_emulated: bool
    started_at: str
    estimated_dollars: float
    results: Sequence[Result]
    left: Sequence[str]

    @property
    def is_well(self) -> bool:
        """Return whether nothing failed and nothing is left."""
        failed = any(each.outcome is Outcome.FAILED for each in self.results)
        return bool(self.results) and not failed and not self.left

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        document = {"ok": self.is_well, **asdict(self)}
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

    def show(self, out: Output) -> None:
        """Print it as a table, or as JSON."""
        document = {"ok": self.is_well, **asdict(self)}
        rows = [
            (each.section, each.name, str(each.outcome), f"{each.seconds:.0f} s", each.seen)
            for each in self.results
        ]
        rows += [("teardown", "left", "failed", "", each) for each in self.left]
        if not self.left:
            rows.append(("teardown", "nothing is left", "passed", "", ""))
        out.table(document, ("Section", "Assertion", "", "Took", "Seen"), rows, is_whole=True)
