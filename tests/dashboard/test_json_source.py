"""The page's reader of JSON text: nothing of what was sent is changed by it."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.dashboard.test_build import NODE, WEB

PROGRAM: Final = """
import { readFileSync } from "node:fs";
import { build } from "esbuild";
const entryPoints = ["src/json_source.ts"];
const built = await build({ entryPoints, bundle: true, format: "esm", write: false });
const code = Buffer.from(built.outputFiles[0].contents).toString("base64");
const { indented, readSource } = await import(`data:text/javascript;base64,${code}`);
const answers = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  try {
    const source = readSource(text);
    return {
      whole: source.text,
      members: [...source.members].map(([name, each]) => [name, each.text]),
      items: source.items.map((each) => each.text),
      indented: indented(text),
    };
  } catch (problem) {
    return { problem: problem.name };
  }
});
console.log(JSON.stringify(answers));
"""
NAMES: Final = ("10", "2", "a", "\\u0062")
SPACES: Final = ("", "", " ", "\n  ", "\t")
SCALARS: Final = (
    '""', '"\\""', '"\\\\"', '"\\u0041\\ud83d\\ude00"', '"{[,:]}"', '"\\\\\\""', '"é\u2028"',
    "0", "-0", "1.50", "1e3", "-1E+400", "123456789012345678901234567890", "true", "false", "null",
)  # fmt: skip


def read(texts: list[str]) -> list[dict[str, Any]]:
    """Return what the page's reader finds in each text."""
    if NODE is None or not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("running the page's code needs Node 18 and `make dashboard`'s packages")
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", PROGRAM],
        input=json.dumps(texts),
        cwd=Path(WEB),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def written(chance: random.Random, depth: int = 0) -> tuple[str, list[str]]:
    """Return a JSON text, and its tokens without the space between them."""
    kind = chance.randrange(3) if depth < 4 else 2
    if kind == 2:
        scalar = chance.choice(SCALARS)
        return scalar, [scalar]
    text, tokens = ("{", ["{"]) if kind else ("[", ["["])
    for index in range(chance.randrange(4)):
        begin = [","] * bool(index)
        if kind:
            begin += [f'"{chance.choice(NAMES)}{index}"', ":"]
        inner, inner_tokens = written(chance, depth + 1)
        spaced = "".join(token + chance.choice(SPACES) for token in begin)
        text += chance.choice(SPACES) + spaced + inner + chance.choice(SPACES)
        tokens += [*begin, *inner_tokens]
    end = "}" if kind else "]"
    return text + chance.choice(SPACES) + end, [*tokens, end]


def test_each_value_is_the_text_that_was_sent() -> None:
    """Members in their order, and every number and string as it was written."""
    chance = random.Random(18)
    texts = [written(chance) for _ in range(300)]
    for (text, tokens), found in zip(texts, read([text for text, _ in texts]), strict=True):
        assert found["whole"] == text
        parts = [part for _, part in found["members"]] + found["items"]
        at = 0
        for part in parts:
            at = text.index(part, at) + len(part)
        if text.startswith("{"):
            assert [name for name, _ in found["members"]] == list(json.loads(text))
        assert "".join(found["indented"].split()) == "".join("".join(tokens).split())


def test_a_string_of_millions_of_characters_is_read() -> None:
    """With an escape at its end, where a reader that counts wrongly would go on."""
    large = '"' + "x" * 3_000_000 + '\\\\"'
    (found,) = read([f'{{"a":{large},"b":1}}'])
    assert found["members"] == [["a", large], ["b", "1"]]


@pytest.mark.parametrize("text", ["", "{", '{"a"}', '{"a":1,', "[1", '"open', '{"a":1} x', "nope"])
def test_what_is_no_json_is_refused(text: str) -> None:
    """An envelope that somebody is still typing is not sent as something else."""
    assert read([text]) == [{"problem": "SyntaxError"}]
