"""Decides how often an idle worker asks for jobs."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.client.timer import Timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """Sets the pace of polling: at once after a find, then slower and slower, at random.

    :ivar first_s: pause after the first empty answer, in seconds.
    :ivar growth: how much longer each further one is.
    :ivar longest_s: the longest pause while there is nothing to do.
    :ivar longest_failing_s: the longest pause while the backend cannot be asked.
    """

    first_s: float = 0.1
    growth: float = 1.5
    longest_s: float = 2.0
    longest_failing_s: float = 15.0

    def start(self, timer: Timer) -> Polling:
        """Return the pace of one worker."""
        return Polling(self, timer)


@dataclass(slots=True)
class Polling:
    """Holds the present pace of one worker."""

    polls: Polls
    timer: Timer
    _empty: int = 0

    def pause_s(self, *, found: bool, failed: bool) -> float:
        """Return the seconds until the next poll: 0 after a find, else half to all of the pause."""
        if found:
            self._empty = 0
            return 0.0
        longest = self.polls.longest_failing_s if failed else self.polls.longest_s
        full = min(self.polls.first_s * self.polls.growth ** min(self._empty, 64), longest)
        self._empty += 1
        return full * (0.5 + self.timer.chance() / 2)
