"""Exports ended jobs as lines of files, which stay after the table has removed them.

At least once: a batch that is repeated writes the same file again, one that is cut differently
writes a line into a second file. ``id`` and ``ended_at`` together identify repeated lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import BackendError, DocumentMissingError, JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.outcomes import ended_at
from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.services.jobs.render import render_job, summarise_job
from ojs_aws.topology import EXPORT_PREFIX

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

_DATE: Final = 10
_NAME: Final = 32


@dataclass(frozen=True, slots=True)
class Exported:
    """Counts what one call wrote.

    :ivar files: how many files.
    :ivar jobs: how many of the jobs, from the first on, are in files; the others are to be written
        again.
    """

    files: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Export:
    """Exports jobs.

    :ivar put: writes a file under a key.
    :ivar store: where documents kept elsewhere are read; None leaves args, meta and results out.
    """

    put: Callable[[str, str], None]
    store: JobStore | None = None

    def __call__(
        self, jobs: Sequence[JobRecord], has_time: Callable[[], bool] = lambda: True
    ) -> Exported:
        """Write ended jobs to files: one for each day and queue.

        One call for each file; and a read for each document kept elsewhere.

        :param has_time: whether another job may be read, or another file written.
        :raises BackendError: not all of it is written; the same jobs again write the same files.
        """
        files: dict[tuple[str, str], dict[str, RawJson]] = {}
        begins: dict[tuple[str, str], int] = {}
        done = len(jobs)
        for index, job in enumerate(jobs):
            if index and not has_time():
                done = index
                break
            ended = ended_at(job)
            if ended is not None:
                at = format_instant(ended)
                begins.setdefault((at[:_DATE], job.queue), index)
                lines = files.setdefault((at[:_DATE], job.queue), {})
                lines[f"{job.id} {at}"] = self._line(job, at)
        for count, ((date, queue), lines) in enumerate(files.items()):
            if count and not has_time():
                return Exported(count, begins[date, queue])
            name = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_NAME]
            key = f"{EXPORT_PREFIX}/date={date}/queue={queue}/{name}.jsonl.gz"
            self.put(key, "".join(f"{line}\n" for line in lines.values()))
        return Exported(len(files), done)

    def _line(self, job: JobRecord, ended: str) -> RawJson:
        whole = None if self.store is None else self._whole(job, self.store)
        if whole is None:
            members: dict[str, JsonValue] = {**summarise_job(job), "ended_at": ended}
            return encode(members)
        return assemble({**render_job(whole), "ended_at": encode(ended)})

    def _whole(self, job: JobRecord, store: JobStore) -> JobRecord | None:
        """Return the job with its documents; None if they were deleted meanwhile, or are lost."""
        try:
            return store.fill(job)
        except DocumentMissingError:
            return None
        except BackendError:
            if store.load(job.id) is not None:
                raise
            return None
