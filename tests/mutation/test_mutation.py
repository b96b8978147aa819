"""The tool finds what it is to remove, changes the code, and its list of exceptions is true."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.timestamps import Instant
from tests.mutation.clauses import key_removals, parse, removals
from tests.mutation.enumeration import LIFECYCLE, all_mutants, mutants_of
from tests.mutation.flow import except_removals
from tests.mutation.mutants import CHECKOUT, Kind, Mutant, Source, path_of, read_source
from tests.mutation.patching import apply, notes_of
from tests.mutation.processes import Task, run_all
from tests.mutation.report import PAGE, explained, listed, table
from tests.mutation.rows import named_parts, place_of, row_removals
from tests.mutation.writes import action_makers, element_removals, update_branches

pytestmark = pytest.mark.thorough

HERE = CHECKOUT / "ojs_aws" / "adapters" / "made_up.py"


@pytest.fixture(scope="module")
def mutants() -> tuple[Mutant, ...]:
    """Everything that can be removed today."""
    return all_mutants()


def source(text: str) -> Source:
    return read_source(HERE, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#v = :v", ["((#v = :v) OR NOT (#v = :v))"]),
        (
            "#v = :v AND #c <= :c",
            [
                "((#v = :v) OR NOT (#v = :v)) AND #c <= :c",
                "#v = :v AND ((#c <= :c) OR NOT (#c <= :c))",
            ],
        ),
        (
            "(contains(#a, :a) OR #b > :b)",
            [
                "((contains(#a, :a) OR #b > :b) OR NOT (contains(#a, :a) OR #b > :b))",
                "(((contains(#a, :a)) AND NOT (contains(#a, :a))) OR #b > :b)",
                "(contains(#a, :a) OR ((#b > :b) AND NOT (#b > :b)))",
            ],
        ),
    ],
)
def test_each_clause_of_a_condition_is_removed_once(text: str, expected: list[str]) -> None:
    """One that must hold always holds; one of several alternatives never does."""
    assert [each.text for each in removals(text)] == expected


def test_alternatives_of_several_clauses_are_taken_apart() -> None:
    """The whole condition, each alternative, and each clause of the second one."""
    found = [each.what for each in removals("attribute_not_exists(#p) OR (#j = :j AND #t = :t)")]
    assert found == [
        "attribute_not_exists(#p) OR (#j = :j AND #t = :t) need not hold",
        "attribute_not_exists(#p) is not enough",
        "(#j = :j AND #t = :t) is not enough",
        "#j = :j need not hold",
        "#t = :t need not hold",
    ]


def test_each_bound_of_between_is_removed_once() -> None:
    """AND inside of BETWEEN joins no clauses."""
    assert [each.text for each in removals("#a BETWEEN :b AND :c")][1:] == ["#a <= :c", "#a >= :b"]


@pytest.mark.parametrize("text", ["SET #a = :a", "#a", "Cannot send: a = b", "", "REMOVE #k"])
def test_other_texts_are_no_conditions(text: str) -> None:
    assert parse(text) is None


def test_a_key_condition_keeps_its_partition() -> None:
    assert [each.text for each in key_removals("#pk = :pk")] == []
    assert [each.text for each in key_removals("#pk = :pk AND #sk > :a")] == ["#pk = :pk"]
    assert [each.text for each in key_removals(" AND #sk > :a")] == [""]


TRANSACTIONS = """
def taking(table, key):
    return {"Update": {"TableName": table, "Key": key}}

class Store:
    def save(self, own, keys):
        parts = [taking("t", key) for key in keys]
        parts.append({"Put": own})
        self.client.transact_write_items(TransactItems=[own, *parts])
"""


def test_each_element_of_a_transaction_is_removed_once() -> None:
    """Of several made alike, the first and the others."""
    made = source(TRANSACTIONS)
    found = [each.what for each in element_removals(made, action_makers([made]))]
    assert sorted(found) == [
        "*parts removed",
        "all but the first of [taking('t', key) for key in keys]",
        "only the first of [taking('t', key) for key in keys]",
        "own removed",
        "parts.append({'Put': own}) removed",
    ]


BRANCHES = """
def change(update: Update, job):
    if job.result:
        update.set("r", job.result)
    update.set_if_absent("c", "c", job.now)

def other(job):
    if job.result:
        return 1
"""


def test_each_branch_of_a_function_that_writes_is_removed_once() -> None:
    found = [each.what for each in update_branches(source(BRANCHES))]
    assert found == [
        "if job.result: never",
        "update.set_if_absent('c', 'c', job.now) in any case",
    ]


def test_each_exception_of_a_handler_is_removed_once() -> None:
    made = source(
        "try:\n    a()\nexcept (KeyError, ValueError):\n    b()\nexcept OSError:\n    c()\n"
    )
    assert [each.what for each in except_removals(made)] == [
        "except KeyError",
        "except ValueError",
        "except OSError",
    ]


ROWS = """
_PLACE: Final[c.Columns] = {c.TEXT: {n.SK: "id", "d": "digest"}, c.NUMBER: n.SIZES, **OTHERS}
_OTHER: Final = {"a": "b"}
"""


def test_each_row_of_a_table_of_attributes_is_removed_once() -> None:
    """Parts of tables that have names of their own are looked for where the names are."""
    made = source(ROWS)
    found = [each.what for each in row_removals(made, frozenset())]
    assert found == ["_PLACE without n.SK: 'id'", "_PLACE without 'd': 'digest'"]
    assert named_parts([made]) == {"SIZES"}


def test_each_row_is_found_in_the_tables_of_the_running_code(mutants: Sequence[Mutant]) -> None:
    rows = [each for each in mutants if each.removal.kind is Kind.ROW]
    assert len({(id(part), name) for part, name in map(place_of, rows)}) == len(rows) > 100
    assert {each.module.rpartition(".")[2] for each in rows} >= {"names", "codec", "reservations"}


def test_names_of_removals_differ(mutants: Sequence[Mutant]) -> None:
    assert len({each.id for each in mutants}) == len(mutants)


@pytest.mark.parametrize(
    "name",
    [
        "transitions:completing clause: {update.name(n.EXECUTION_ENDS)} > {moment} need not hold",
        "jobs.store:JobStore.acknowledge element: only the first of [releasing(",
        "jobs.store:JobStore.save element: only the first of [releasing(",
        "lifecycle:<module> transition: (S.ACTIVE, S.COMPLETED) removed",
        "ack:Ack.__call__ except: except StaleJobError",
    ],
)
def test_what_once_survived_is_found(mutants: Sequence[Mutant], name: str) -> None:
    """ACK past the deadline; places in several buckets; a row of the table; a handler."""
    assert any(name in each.id for each in mutants)


def _in_a_process(work: Any) -> Any:
    (answer,) = run_all([Task("", work, 60)], workers=1)
    assert not answer.problem, answer.problem
    return answer.value


def test_a_removal_changes_a_function_for_whoever_has_it() -> None:
    """The condition of the claim's update, without its clause on the state."""
    from ojs_aws.adapters.dynamodb.jobs.transitions import claiming
    from ojs_aws.domain.job import Reservation
    from ojs_aws.domain.timestamps import Instant

    def condition() -> str:
        held = Reservation(worker_id="w", expires_at=Instant(9), execution_ends_at=Instant(9))
        update = claiming("q", "id", held, Instant(1))
        return str(update.arguments()["ConditionExpression"])

    def work() -> str:
        made = read_source(path_of("ojs_aws.adapters.dynamodb.jobs.transitions"))
        apply(made, next(each for each in mutants_of(made) if "JobState.AVAILABLE" in each.id))
        return condition()

    assert " OR NOT (#" in _in_a_process(work)
    assert " OR NOT (#" not in condition()


def test_a_removal_changes_a_constant_for_whoever_imported_it() -> None:
    """A row of the table of transitions."""
    from ojs_aws.domain.jobs.lifecycle import TRANSITIONS

    def work() -> list[int]:
        from ojs_aws.domain.jobs import lifecycle

        made = read_source(LIFECYCLE)
        apply(made, next(each for each in mutants_of(made) if not each.function))
        return [len(lifecycle.TRANSITIONS)]

    assert _in_a_process(work) == [len(TRANSITIONS) - 1]


@pytest.mark.slow
def test_every_place_can_be_changed_and_noted(mutants: Sequence[Mutant]) -> None:
    """Each function is found again in its module, under its decorators."""

    def work() -> int:
        modules = sorted({each.module for each in mutants})
        made = [read_source(path_of(module)) for module in modules]
        found = [mutant for each in made for mutant in mutants_of(each)]
        notes_of(made, enumerate(found)).install(set())
        return len(found)

    assert _in_a_process(work) == len(mutants)


def test_what_is_explained_is_still_there(mutants: Sequence[Mutant]) -> None:
    """An explanation goes with the code that it is about."""
    assert set(explained()) <= {each.id for each in mutants}
    assert all(len(reason) > 20 for reason in explained().values())


def test_the_docs_list_what_is_explained() -> None:
    """`make mutate` writes them."""
    assert listed(explained()) in PAGE.read_text("utf-8")


def test_the_table_counts_each_removal_once(mutants: Sequence[Mutant]) -> None:
    ids = [each.id for each in mutants]
    last = table(mutants, ids[3:], ids[:1]).splitlines()[-1]
    assert last == f"| all | | {len(ids)} | {len(ids) - 3} | 1 | 2 |"
    assert {each.removal.kind for each in mutants} == set(Kind)


def test_a_row_is_left_out_where_tables_nest(mutants: Sequence[Mutant]) -> None:
    """The message of a job's progress: a row of a table within another module's table."""
    from ojs_aws.adapters.dynamodb import columns as c
    from ojs_aws.adapters.dynamodb.jobs.reservations import OUTCOME

    (row,) = (each for each in mutants if "_PROGRESS without 'm'" in each.id)

    def written(message: str) -> list[str]:
        progress = Progress(attempt=1, updated_at=Instant(5), fraction=0.5, message=message)
        stored = c.attributes(SimpleNamespace(progress=progress, checkpoint=None), OUTCOME)
        return [*stored["pg"]["M"]]

    def work() -> list[object]:
        reached = set[int]()
        notes_of([], [(0, row)]).install(reached)
        before = [written(""), [*reached], written("half"), [*reached]]
        apply(source(""), row)
        return [*before, written("half")]

    plain = ["n", "a", "f"]
    assert _in_a_process(work) == [plain, [], [*plain, "m"], [0], plain]
