"""Describes a line of a bill."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.pricing.prices import PRICES


@dataclass(frozen=True, slots=True)
class Line:
    """Holds one line of an estimate.

    :ivar what: what is paid for.
    :ivar amount: how many units in a month.
    :ivar unit: name of the price.
    """

    what: str
    amount: float
    unit: str

    @property
    def dollars(self) -> float:
        """Return the dollars a month."""
        return self.amount * PRICES[self.unit]
