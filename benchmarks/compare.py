"""What others cost for the same jobs: dollars a month by jobs a month, and where curves cross.

    python -m benchmarks.compare [--jobs 5000000] [--job-ms 250] [--docs]

By the estimate of ``ojs-aws cost``. ``--jobs`` compares a month with so many jobs of ``--job-ms``,
and draws nothing. With ``--docs`` the tables and the plot of the page about costs are made again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console

from benchmarks.alternatives import ALTERNATIVES, COMPARED, OURS, Alternative, break_even
from benchmarks.pages import PLOTS, PageTable
from benchmarks.plots import logarithmic, reproducible
from benchmarks.results import FOLDER, draw, show_table
from ojs_aws.pricing import (
    PRICED_ON,
    REGION,
    Workload,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "cost-comparison"
JOB_MS: Final = 100.0
MONTHLY: Final = (0, 100_000, 1_000_000, 10_000_000, 100_000_000)
COLUMNS: Final = ("no job", "100,000", "1 million", "10 million", "100 million")
DECADE: Final = 10
FIRST_DECADE: Final = 3
LAST_DECADE: Final = 9


def workload(jobs: float) -> Workload:
    """Return so many jobs of 0.5 KB and 100 ms, spread evenly over the month."""
    return Workload(jobs=jobs, job_ms=JOB_MS)


def row(each: Alternative) -> tuple[str, ...]:
    """Return what a system costs for each number of jobs, and when it is cheaper than ours."""
    dollars = (f"{each.dollars(workload(jobs)):,.2f}" for jobs in MONTHLY)
    cheaper = "" if each is OURS else str(break_even(workload(0), each))
    return each.name, *dollars, cheaper


def month(given: Workload) -> PageTable:
    """Return what a month costs with each system, and when each is cheaper than ours."""
    rows = [
        (
            each.name,
            f"{each.dollars(given):,.2f}",
            "" if each is OURS else str(break_even(given, each)),
            each.lacks,
        )
        for each in ALTERNATIVES
    ]
    return PageTable("month", ("system", "$ a month", "cheaper", "what it lacks"), rows)


def figure() -> Figure:
    """Plot dollars a month by jobs a month, a curve for each system."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - takes a second

    reproducible()
    drawn = Figure(figsize=(9, 6), layout="constrained")
    axes = drawn.subplots()
    points = range(FIRST_DECADE * DECADE, LAST_DECADE * DECADE + 1)
    jobs = [10 ** (point / DECADE) for point in points]
    for number, each in enumerate(ALTERNATIVES):
        is_ours = each.name.startswith("ojs-aws")
        axes.plot(
            jobs,
            [max(each.dollars(workload(count)), 0.1) for count in jobs],
            label=each.name,
            linewidth=2.4 if is_ours else 1.4,
            linestyle=("-", "--", ":")[number % 3] if is_ours else ("--", "-.", "-")[number % 3],
        )
    logarithmic(axes, [10.0**decade for decade in range(FIRST_DECADE, LAST_DECADE + 1)])
    axes.set_ylim(0.1, None)
    axes.set_xlabel("jobs a month, of 0.5 KB and 100 ms")
    axes.set_ylabel("dollars a month")
    axes.legend(fontsize="small")
    return drawn


def tables() -> Sequence[PageTable]:
    """Return the tables of the page: dollars, and what they are counted from."""
    columns = ("system", *COLUMNS, "cheaper than ojs-aws with Lambda workers")
    counted = [(each.name, each.counted, each.lacks) for each in ALTERNATIVES]
    return (
        PageTable("compare", columns, [row(each) for each in ALTERNATIVES]),
        PageTable("counted", ("system", "counted for each job", "what it lacks"), counted),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write into docs")
    parser.add_argument("--jobs", type=float, help="jobs a month")
    parser.add_argument("--job-ms", type=float, default=JOB_MS, help="duration of a job")
    options = parser.parse_args(arguments)
    console, is_for_docs = Console(), options.docs
    if options.jobs is not None:
        mine = month(Workload(jobs=options.jobs, job_ms=options.job_ms))
        title = f"{options.jobs:,.0f} jobs of 0.5 KB and {options.job_ms:g} ms"
        show_table(mine.name, title, mine.columns, mine.rows, console)
        return
    title = f"Dollars a month, jobs of 0.5 KB and 100 ms ({REGION}, {PRICED_ON})"
    for table in tables():
        show_table(table.name, title, table.columns, table.rows, console)
        if is_for_docs:
            table.write()
    draw(NAME, figure(), console, PLOTS if is_for_docs else FOLDER)
    console.print("Assumed: " + "; ".join(COMPARED) + ".")


if __name__ == "__main__":
    main()
