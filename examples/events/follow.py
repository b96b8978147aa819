"""Follow the lifecycle events over HTTP, and continue where the last run ended.

Start a backend with `ojs-aws local`, then

    python examples/events/follow.py --types 'job.*'

and give it jobs with `python examples/enqueue.py`. The cursor is stored in a file, after the
events before it were handled. So if a run is interrupted, the next one handles some events again,
and misses none. If it matters that no event is handled twice, drop repeats by the events' ids.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx


def pages(http: httpx.Client, place: dict[str, str], types: str) -> Iterator[dict[str, Any]]:
    """Yield pages from a place on, for ever; ask for new events twice a second."""
    while True:
        answer = http.get("events", params={**place, "types": types, "limit": 500})
        page: dict[str, Any] = answer.raise_for_status().json()
        yield page
        place = {"cursor": page["cursor"]}
        if not page["has_more"]:
            time.sleep(0.5)


def handle(event: dict[str, Any]) -> None:
    """Handle an event: replace this by your own code."""
    print(event["time"], event["type"], event["subject"], json.dumps(event["data"]))


def main() -> None:
    """Handle events until Ctrl-C, or with --once until there are no more."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--types", default="*")
    parser.add_argument("--cursor-file", type=Path, default=Path("events.cursor"))
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    url = os.environ.get("OJS_URL", "http://127.0.0.1:8080")
    place = {"since": "1970-01-01T00:00:00Z"}  # the first run begins with the oldest event kept
    if options.cursor_file.exists():
        place = {"cursor": options.cursor_file.read_text()}
    with httpx.Client(base_url=f"{url}/ojs/v1/") as http:
        for page in pages(http, place, options.types):
            for event in page["events"]:
                handle(event)
            options.cursor_file.write_text(page["cursor"])
            if options.once and not page["has_more"]:
                return


if __name__ == "__main__":
    main()
