"""Write the recordings again: ``python -m tests.transcript --write [feature ...]``.

Without ``--write`` it says which of them differ from what is answered now.
"""

from __future__ import annotations

import argparse
import sys

from tests.transcript.recordings import FOLDER, all_features, file_of, record, recorded
from tests.transcript.session import emulated_aws


def main() -> int:
    """Record the features; return 1 if one differs and was not written."""
    parser = argparse.ArgumentParser(prog="python -m tests.transcript", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files again")
    parser.add_argument(
        "names", nargs="*", metavar="feature", help="features; all if none is named"
    )
    options = parser.parse_args()
    features = all_features()
    if unknown := [name for name in options.names if name not in features]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(features)}")
    with emulated_aws() as aws:
        texts = {name: record(features[name], aws) for name in options.names or features}
    differing = [name for name, text in texts.items() if text != recorded(name)]
    for name in differing:
        print(f"transcript: {name} differs")
        if options.write:
            file_of(name).write_text(texts[name], encoding="utf-8")
    if options.write and not options.names:
        for file in FOLDER.glob("*.txt"):
            if file.stem not in features:
                file.unlink()
    return 1 if differing and not options.write else 0


if __name__ == "__main__":
    sys.exit(main())
