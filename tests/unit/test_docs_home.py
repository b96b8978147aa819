"""The first page of the site: each number is the one of the page that it comes from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
HOME: Final = (ROOT / "docs" / "index.md").read_text("utf-8")


def page(name: str) -> str:
    """Return the text of a page, each run of white space a single space."""
    return " ".join((ROOT / "docs" / f"{name}.md").read_text("utf-8").split())


def row(name: str, title: str) -> list[str]:
    """Return the cells of the row of a page's table that begins with a title; the first one."""
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    line, *_ = re.findall(rf"^\| {re.escape(title)} \|(.*)\|$", text, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


def test_the_code_of_the_first_page_is_that_of_the_readme() -> None:
    """Which its own tests run."""
    readme = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    shown = re.findall(r"```python\n(.*?)```", HOME, re.DOTALL)
    assert shown
    assert not [block for block in shown if block not in readme]


def test_the_prices_are_those_of_the_costs() -> None:
    idle = float(row("costs-compared", "ojs-aws, Lambda workers")[0])
    busy = float(row("costs", "Lambda worker, 0.5 KB")[-2])
    rare = float(row("costs", "HTTP worker, 0.5 KB")[-1])
    assert f"| **${idle:.0f}** | a month without a job |" in HOME
    assert f"| **${busy:.0f} to ${rare:.0f}** | a million jobs of 0.5 KB" in HOME


def test_the_share_of_sqs_and_lambda_is_a_sixth_or_less() -> None:
    """At each number of jobs of the table."""
    ours = row("costs-compared", "ojs-aws, Lambda workers")[1:5]
    theirs = row("costs-compared", "SQS and Lambda")[1:5]
    shares = [
        float(cheap.replace(",", "")) / float(all_of_it.replace(",", ""))
        for cheap, all_of_it in zip(theirs, ours, strict=True)
    ]
    assert 1 / 7 < max(shares) < 1 / 6
    assert "**a sixth** or less" in HOME


def test_servers_are_cheaper_from_where_the_costs_say() -> None:
    celery = row("costs-compared", "Celery on SQS and Fargate")[-1]
    sidekiq = row("costs-compared", "Sidekiq or BullMQ on ElastiCache and Fargate")[-1]
    for cell in (celery, sidekiq):
        found = re.fullmatch(r"above ([\d,]+) jobs", cell)
        assert found is not None
        assert f"**{int(found[1].replace(',', '')) / 1e6:g} million**" in HOME
    found = re.search(r"Above ([\d.]+) million jobs a month a server", HOME)
    assert found is not None
    assert f"above {found[1].replace('.', ',')}00,000 jobs" == celery


def test_the_proofs_have_the_numbers_of_their_pages() -> None:
    assert "some 7,500 faults" in page("faults")
    assert "**7,500** faults" in HOME
    broken = (
        page("simulation-mutations").partition("<!-- mutations -->")[2].partition("<!-- /mut")[0]
    )
    assert f"**{len(re.findall(r'[|] [0-9]+ [|]', broken))}** errors" in HOME
    _, removed, noticed, explained, untried = row("mutation", "all")
    assert untried == "0"
    assert f"**{removed}** guards" in HOME
    assert f"A test noticed **{noticed}**; **{explained}** change nothing" in HOME


def test_the_calls_of_clients_are_those_of_the_table() -> None:
    passed = re.findall(r"^\| ojs-[\w-]+ \| (\d+) of (\d+) \|", raw_clients(), re.MULTILINE)
    ended, all_of_them = (sum(int(pair[at]) for pair in passed) for at in (0, 1))
    assert f"**{ended} of {all_of_them}** calls" in HOME


def raw_clients() -> str:
    """Return the page of the official clients, line by line."""
    return (ROOT / "docs" / "clients.md").read_text("utf-8")


def test_what_it_is_not_for_has_the_numbers_of_the_comparison() -> None:
    text = page("comparison")
    assert "70 ms with a warm Lambda worker" in text
    assert "Here it is 70 ms with a warm Lambda worker" in HOME
    assert "one queue handles 500 jobs a second" in text
    assert "a queue handles 500 a second" in HOME
