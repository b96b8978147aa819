"""Says what the completion of a job leaves to whoever reads the table's stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LeftToStream:
    """Says what ACK leaves to whoever reads the table's stream.

    :ivar message: to delete the job's message.
    :ivar listing: to list the completed job.
    """

    message: bool = False
    listing: bool = False


NOTHING_LEFT: Final = LeftToStream()
