"""Write the reference of the command line into docs/cli.md: ``python scripts/cli_reference.py``."""

from __future__ import annotations

from pathlib import Path

from ojs_aws.cli.app import app, in_document

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"

if __name__ == "__main__":
    PAGE.write_text(in_document(PAGE.read_text(encoding="utf-8"), app), encoding="utf-8")
    print(f"Wrote {PAGE.name}.")
