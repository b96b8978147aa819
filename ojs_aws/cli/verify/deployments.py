"""Deploys what a run verifies, under names of its own, and removes all of it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ojs_aws.cli.deployment.deploy_choices import Wanted
from ojs_aws.cli.deployment.deploy_plans import planned, prepared
from ojs_aws.cli.deployment.deploy_reports import DANGEROUS, WENT_WELL
from ojs_aws.cli.verify.scales import DECLARED
from ojs_aws.domain.errors import OjsError
from ojs_aws.topology import QUEUE_SEPARATOR

if TYPE_CHECKING:
    from ojs_aws.adapters.evidence import Evidence
    from ojs_aws.adapters.removal import DataRemoval
    from ojs_aws.adapters.stacks import Change, Stacks, StackState

TAG: Final = "ojs-aws:verify"
"""Tag of all that a run makes; its value is the run's id."""

_LOOKS: Final = 24
_LOOK_S: Final = 5.0
"""How often, and after how many seconds each, it is looked for what is left. Queues are listed for
a minute after their deletion: it is enough that AWS took that."""
_DATA: Final = frozenset({"AWS::DynamoDB::GlobalTable", "AWS::S3::Bucket", "AWS::SQS::Queue"})


def stack_of(run: str) -> str:
    """Return the name of the stack of a run."""
    return f"OjsVerify-{run}"


def prefix_of(run: str) -> str:
    """Return the prefix of the queues of a run."""
    return f"ojs-verify-{run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """Says what a deployment did.

    :ivar changes: what was changed; none, where all was as it should be.
    :ivar problem: why it failed; empty, if it did not.
    """

    status: str
    changes: Sequence[Change]
    problem: str = ""

    @property
    def loses_data(self) -> list[str]:
        """Return the tables, buckets and queues that were replaced or removed."""
        return [
            each.resource
            for each in self.changes
            if each.action in DANGEROUS and each.kind in _DATA
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployments:
    """Deploys the published template as ``ojs-aws deploy`` does, with a Lambda worker.

    :ivar run: the run's id.
    :ivar wanted: the processor, the Python and the bundles that somebody chose.
    """

    run: str
    stacks: Stacks
    evidence: Evidence
    removal: DataRemoval
    wanted: Wanted

    @property
    def stack(self) -> str:
        """Return the name of the stack."""
        return stack_of(self.run)

    @property
    def prefix(self) -> str:
        """Return what the names of the queues begin with."""
        return prefix_of(self.run) + QUEUE_SEPARATOR

    @property
    def bucket(self) -> str:
        """Return the bucket that the code and the templates are uploaded to."""
        return f"{self.stack.lower()}-{self.stacks.account}-{self.stacks.region}"

    def wants(self, parameters: Mapping[str, str], queues: Sequence[str] = DECLARED) -> Wanted:
        """Return what is to be deployed: the published template with these parameters."""
        return replace(
            self.wanted,
            stack=self.stack,
            queues=queues,
            runs_demo=True,
            parameters={"Prefix": prefix_of(self.run), **parameters},
            tags={TAG: self.run},
            bucket=self.bucket,
        )

    def deploy(self, parameters: Mapping[str, str], queues: Sequence[str] = DECLARED) -> Deployed:
        """Deploy the template of this version with these parameters.

        :raises OjsError: AWS refused a call.
        """
        self.stacks.own_bucket(self.bucket, is_named=False)
        self.evidence.tag_bucket(self.bucket, {TAG: self.run})
        plan = planned(prepared(self.wants(parameters, queues), self.stacks), self.stacks)
        if not plan.changes:
            return Deployed(status="", changes=())
        return self._ended(self.stacks.execute(self.stack, plan.change_set), plan.changes)

    def _ended(self, ended: StackState, changes: Sequence[Change]) -> Deployed:
        if ended.status in WENT_WELL:
            return Deployed(status=ended.status, changes=changes)
        causes = [f"{it.resource}: {it.reason}" for it in self.stacks.failures(ended.name)[:3]]
        return Deployed(
            status=ended.status, changes=changes, problem="; ".join(causes) or ended.reason
        )

    def outputs(self) -> Mapping[str, str]:
        """Return the outputs of the stack; none before it is deployed."""
        found = self.stacks.state(self.stack)
        return found.outputs if found else {}

    def resources(self) -> dict[str, tuple[str, str]]:
        """Return kind and name of the stack's resources by their logical ids."""
        return {logical: (kind, name) for logical, kind, name in self.stacks.resources(self.stack)}

    def remove(self, say: Callable[[str], None]) -> list[str]:
        """Remove all that the run made, as far as it goes; return what is left, and why.

        It finds things by the run's names alone, so it also ends what another process began.
        """
        problems: list[str] = []

        def attempt(what: str, act: Callable[[], object]) -> None:
            say(f"removing {what}")
            try:
                act()
            except OjsError as problem:
                problems.append(f"{what}: {problem.message}")

        attempt(f"the stack {self.stack}", self._delete)
        acts: Mapping[str, Callable[[str], None]] = {
            "table": self.removal.table,
            "bucket": self.removal.bucket,
            "log group": self.evidence.remove_log_group,
        }
        for kind, name in [*self._left()]:
            if kind in acts:
                attempt(f"the {kind} {name}", partial(acts[kind], name))
        attempt("the queues", lambda: self.removal.queues(self.prefix))
        rest = list[str]()
        for _ in range(_LOOKS):  # a table is listed until it is gone
            rest = [f"{kind} {name}" for kind, name in self._left() if kind != "queue"]
            if not rest:
                break
            self.evidence.sleep(_LOOK_S)
        return [*problems, *rest]

    def _delete(self) -> None:
        found = self.stacks.state(self.stack)
        if found is not None and found.status.startswith("UPDATE_"):
            found = self.stacks.settled(self.stack)  # CloudFormation deletes none that it updates
        if found is not None:
            self.stacks.delete(self.stack)

    def _left(self) -> Iterator[tuple[str, str]]:
        if self.stacks.state(self.stack) is not None:
            yield "stack", self.stack
        yield from self.evidence.left(self.stack, self.prefix)
