"""What the interpreter prints about imports, read and summed up."""

from __future__ import annotations

from benchmarks.imports import STDLIB, Profile, parse

OUTPUT = """\
import time: self [us] | cumulative | imported package
import time:       120 |        120 |     json.decoder
import time:        30 |        150 |   json
something that a module printed
import time:      2000 |       2150 | botocore.session
import time:       500 |        500 | botocore.client
"""


def test_each_module_counts_for_its_package() -> None:
    profile = Profile("producer", parse(OUTPUT))
    assert profile.total_us == 2650
    assert profile.packages() == {"botocore": 2500, STDLIB: 150}
