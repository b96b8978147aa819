"""Where the recordings are, and how one is made."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Final

from tests.aws import EmbeddedAws
from tests.transcript import features
from tests.transcript.session import Session, aliases_of
from tests.transcript.steps import Feature
from tests.transcript.text import Recording

FOLDER: Final = Path(__file__).parent / "recorded"


def all_features() -> dict[str, Feature]:
    """Return what the modules of ``features`` declare, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(features.__path__))
    modules = [importlib.import_module(f"{features.__name__}.{name}") for name in names]
    found = [feature for module in modules for feature in module.FEATURES]
    return {feature.name: feature for feature in found}


def file_of(name: str) -> Path:
    """Return the file with a feature's recording."""
    return FOLDER / f"{name}.txt"


def recorded(name: str) -> str:
    """Return a feature's recording as it was written; empty if there is none."""
    file = file_of(name)
    return file.read_text(encoding="utf-8") if file.exists() else ""


def record(feature: Feature, aws: EmbeddedAws, *, uses_job_endpoint: bool = False) -> str:
    """Send a feature's requests to a new deployment, and return the text of its recording.

    :param uses_job_endpoint: what the job endpoint serves is sent there.
    """
    counts = [aliases_of(step) for step in feature.steps]
    runs = 1 + (max(counts, default=0) if feature.by_alias else 0)
    exchanges = []
    for alias in range(runs):
        deployment = Session(aws, feature, uses_job_endpoint=uses_job_endpoint)
        exchanges.append([deployment.send(step, alias) for step in feature.steps])
    recording = Recording(is_in_full=feature.is_in_full)
    for own, *others in zip(*exchanges, strict=True):
        recording.add(own, [other for other in others if other.path != own.path])
    return recording.text()
