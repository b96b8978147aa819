"""Stores what an execution leaves: progress, checkpoints, and how long its outcome stays."""

from __future__ import annotations

from typing import TypedDict

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.jobs.documents import document_value, read_document
from ojs_aws.adapters.dynamodb.values import (
    Item,
    number,
    packed,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.domain.job import Checkpoint, JobRecord
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.progress import Progress
from ojs_aws.domain.timestamps import Instant


class Outcome(TypedDict):
    """Holds the attributes of a job that this module stores."""

    kept_until: Instant | None
    progress: Progress | None
    checkpoint: Checkpoint | None
    checkpoints: int


def outcome_values(job: JobRecord) -> Item:
    """Return the attributes; nothing for the many jobs without any."""
    item: Item = {}
    if job.progress is not None:
        item[n.PROGRESS] = {"M": _progress(job.progress)}
    if job.checkpoint is not None:
        item[n.CHECKPOINT] = {"M": _checkpoint(job.checkpoint)}
    if job.checkpoints:
        item[n.CHECKPOINTS] = number(job.checkpoints)
    return item


def _checkpoint(saved: Checkpoint) -> Item:
    kept: Item = {
        "d": document_value(saved.state),
        "s": number(saved.sequence),
        "a": number(saved.created_at),
    }
    if saved.has_notes:
        kept["n"] = {"BOOL": True}
    return kept


def _progress(progress: Progress) -> Item:
    kept: Item = {"n": number(progress.attempt), "a": number(progress.updated_at)}
    if progress.fraction is not None:
        kept["f"] = string(repr(progress.fraction))
    if progress.data is not None:
        kept["d"] = packed(progress.data)
    if progress.message:
        kept["m"] = string(progress.message)
    return kept


def read_outcome(item: Item) -> Outcome:
    """Read what :func:`outcome_values` wrote."""
    ttl = read_number(item, n.TTL)
    return {
        "kept_until": None if ttl is None else Instant(ttl * 1000),
        "progress": _read_progress(item),
        "checkpoint": _read_checkpoint(item),
        "checkpoints": read_number(item, n.CHECKPOINTS) or 0,
    }


def _read_progress(item: Item) -> Progress | None:
    if n.PROGRESS not in item:
        return None
    kept: Item = item[n.PROGRESS]["M"]
    fraction = read_string(kept, "f")
    return Progress(
        attempt=read_number(kept, "n") or 0,
        updated_at=Instant(read_number(kept, "a") or 0),
        fraction=float(fraction) if fraction else None,
        data=RawJson(unpacked(kept["d"])) if "d" in kept else None,
        message=read_string(kept, "m"),
    )


def _read_checkpoint(item: Item) -> Checkpoint | None:
    if n.CHECKPOINT not in item:
        return None
    kept: Item = item[n.CHECKPOINT]["M"]
    return Checkpoint(
        state=read_document(kept["d"]),
        sequence=read_number(kept, "s") or 0,
        created_at=Instant(read_number(kept, "a") or 0),
        has_notes="n" in kept,
    )
