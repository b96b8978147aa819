"""Measure how easy the code is to find one's way in; print a table in Markdown.

make measure
"""

from __future__ import annotations

import ast
import functools
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import grimp

ROOT: Final = Path(__file__).resolve().parent.parent
PRODUCT: Final = ("ojs_aws", "functions", "infra")
SMALL: Final = 30
LARGE: Final = 300
LONGEST_NAME: Final = 70
LISTED: Final = 8
FIELD_WORDS: Final = frozenset(
    """
    logging tracing timing polling queue_routing routing encoding matching scheduling
    rate_limiting metering batching caching embedded sharding testing finding
    """.split()  # noqa: SIM905 - a list of so many texts is harder to read
)
"""Modules may be named by these participles: they are words of the field."""

FOREIGN: Final = re.compile(
    r"\b(told|let in|laid|anew|spoil\w*|mend(?:s|ed|ing)?|weathers?|faces?)\b", re.IGNORECASE
)
"""Words that are not of the field: there is a plainer one for each."""

FINITE: Final = frozenset(
    """
    is are was were be has have had does do did can cannot may must should will would might comes
    goes stays keeps gives takes makes says shows tells finds becomes begins ends happens holds
    means needs knows lets leads stands serves belongs contains decides depends describes exists
    fails follows gets puts raises refuses removes returns runs sends starts stops tries waits
    works wants brings carries changes checks costs differs asks fits uses sees
    """.split()  # noqa: SIM905 - a list of so many texts is harder to read
)
"""Verbs that make a sentence of a line, wherever they stand."""

IMPERATIVES: Final = frozenset(
    """
    accept acknowledge act activate adapt add adjust admit advance allow annotate answer append
    apply ask assert beat begin bind bring build call cancel carry cause change check choose claim
    clear close collect combine compare compete compile complete compose compress compute configure
    connect continue convert copy correct count create decide declare decode decrypt define delay
    delete deliver deploy derive describe destroy direct disable discard dispatch divide do drain
    draw drive empty enable encode encrypt end enforce enqueue ensure enter estimate execute expand
    expire export expose extend fail fetch fill filter find finish fire follow forget format forward
    freeze gather get give grant group guard hand handle have hide hold implement import increase
    inject insert inspect install invoke join judge keep know lay lead learn let limit link list
    listen load lock log look make manage mark match measure merge move name note notice offer open
    order override pack parse pass patch pause permit place plan point post prepare print process
    provide prune publish pull purge push put quiet raise raised reach read receive record redact
    refer refuse register reject release remember remove rename render repair repeat replace replay
    report represent reserve reset resolve restore resume retry return revoke roll route run save
    say schedule seal search see select send serve set settle shape share show shut sign signal skip
    sleep sort speak speed split stand start state stop store strip sum suspend sweep switch
    synthesise take tell terminate test throw time trace track transform translate trigger truncate
    try turn undo update upload use validate wait wake walk warn watch weigh wrap write yield
    """.split()  # noqa: SIM905 - a list of so many texts is harder to read
)
"""Verbs that a line may begin with, as they are or in the third person."""

BLANK: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
"""Tokens that are no code."""

Documented: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
KINDS: Final = (ast.Module, ast.ClassDef, *FUNCTIONS)
Files: TypeAlias = Mapping[Path, ast.Module]


def parsed(folders: Iterable[str]) -> Files:
    """Read the modules below some folders."""
    found = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in found}


def docstrings_of(tree: ast.Module, kinds: tuple[type[Documented], ...] = KINDS) -> list[str]:
    """Return the docstrings of a module, its classes and functions."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    return [text for node in nodes if (text := ast.get_docstring(node))]


def code_lines(file: Path, tree: ast.Module) -> int:
    """Count the lines of a module that hold code: no comments, docstrings or blank lines."""
    lines: set[int] = set()
    for token in tokens_of(file):
        if token.type not in BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and _is_text(node.value):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


@functools.cache
def tokens_of(file: Path) -> list[tokenize.TokenInfo]:
    """Read the tokens of a module."""
    with file.open("rb") as stream:
        return list(tokenize.tokenize(stream.readline))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def has_verb(line: str) -> bool:
    """Return whether a docstring's first line is a sentence: a heuristic by lists of verbs."""
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", line.lower())
    if not words:
        return False
    first = words[0]
    stems = {first, first.removesuffix("s"), first.removesuffix("es")}
    stems.add(re.sub("ies$", "y", first))
    return bool(stems & IMPERATIVES) or bool(set(words) & FINITE)


def repeated_classes(files: Files) -> dict[str, list[str]]:
    """Return the class names that a layer of ``ojs_aws`` has more than once, by layer."""
    names: dict[str, Counter[str]] = defaultdict(Counter)
    for file, tree in files.items():
        package, *inner = file.relative_to(ROOT).parts
        layer = inner[0] if package == "ojs_aws" and len(inner) > 1 else package
        names[layer].update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    repeated = {
        layer: sorted(f"{name} x{count}" for name, count in found.items() if count > 1)
        for layer, found in names.items()
    }
    return {layer: found for layer, found in repeated.items() if found}


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of more than one node that reach each other (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            begin = stack.index(node)
            found.append(sorted(stack[begin:]))
            del stack[begin:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return sorted(group for group in found if len(group) > 1)


def import_edges() -> dict[str, set[str]]:
    """Return which module imports which, lazily and for types included."""
    graph = grimp.build_graph(*PRODUCT, cache_dir=None)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def by_package(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return which package imports which; a package's own ``__init__`` belongs to it.

    What a package imports from above or below itself is left out: the parts of a whole know it.
    """
    packages = {name for name in edges if any(other.startswith(f"{name}.") for other in edges)}

    def home(name: str) -> str:
        return name if name in packages else name.rpartition(".")[0]

    found: dict[str, set[str]] = defaultdict(set)
    for name, imported in edges.items():
        here = home(name)
        others = {home(other) for other in imported}
        found[here] |= {each for each in others if not _is_part(each, here)}
    return found


def _is_part(one: str, other: str) -> bool:
    """Return whether a package is the other one, or a part of it, or the other way round."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def foreign_words(files: Files) -> Counter[str]:
    """Count words that are not of the field, in docstrings, comments and the docs."""
    found: Counter[str] = Counter()
    for file, tree in files.items():
        texts = [*docstrings_of(tree), *_comments(file)]
        found.update(word.lower() for text in texts for word in FOREIGN.findall(text))
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        found.update(word.lower() for word in FOREIGN.findall(text))
    return found


def _comments(file: Path) -> Iterator[str]:
    return (token.string for token in tokens_of(file) if token.type == tokenize.COMMENT)


def is_participle(stem: str) -> bool:
    """Return whether a module is named by a participle that is no word of the field."""
    last = stem.rpartition("_")[2]
    return bool(re.fullmatch(r"\w+(ing|ed)", last)) and not {stem, last} & FIELD_WORDS


def listed(names: Iterable[str]) -> str:
    """Return the first of some names, and how many follow."""
    all_names = list(names)
    more = f" and {len(all_names) - LISTED} more" if len(all_names) > LISTED else ""
    return ", ".join(all_names[:LISTED]) + more


def rows() -> Iterator[tuple[str, object, str]]:
    """Yield what is measured, the number, and what it is made of."""
    product, tests = parsed(PRODUCT), parsed(["tests"])
    folders = Counter(str(file.parent.relative_to(ROOT)) for file in product)
    sizes = {file: file.read_text(encoding="utf-8").count("\n") for file in product}
    largest = [f"{name} {count}" for name, count in folders.most_common()]
    yield "modules", len(product), listed(largest)
    git = shutil.which("git") or "git"
    tracked = subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, check=False)
    yield "files in all", len(tracked.stdout.splitlines()), ""
    yield "code lines", sum(code_lines(*pair) for pair in product.items()), ", ".join(PRODUCT)
    small = [file for file, size in sizes.items() if size < SMALL and file.stem != "__init__"]
    yield f"modules under {SMALL} lines", len(small), listed(file.stem for file in small)
    large = [file for file, size in sizes.items() if size > LARGE]
    yield f"modules over {LARGE} lines", len(large), listed(file.stem for file in large)
    repeated = [
        f"{layer}: {name}" for layer, found in repeated_classes(product).items() for name in found
    ]
    yield "class names repeated in a layer", len(repeated), listed(repeated)
    participles = sorted(file.stem for file in product if is_participle(file.stem))
    yield "modules named by a participle", len(participles), listed(participles)
    edges = import_edges()
    for kind, graph in (("modules", edges), ("packages", by_package(edges))):
        found = circles(graph)
        yield f"import circles of {kind}", len(found), "; ".join(listed(group) for group in found)
    for what, kinds in (("functions", FUNCTIONS), ("modules and classes", KINDS[:2])):
        docstrings = [text for tree in product.values() for text in docstrings_of(tree, kinds)]
        verbless = [text for text in docstrings if not has_verb(text.partition("\n")[0])]
        yield f"docstrings of {what} without a verb", len(verbless), f"of {len(docstrings)}"
    lazy = Counter(str(file.relative_to(ROOT).parent) for file in product for _ in _lazy(file))
    yield "`noqa` of lazy imports", lazy.total(), listed(f"{k} {v}" for k, v in lazy.most_common())
    names = [name for tree in tests.values() for name in _tests_of(tree)]
    long = [name for name in names if len(name) > LONGEST_NAME]
    yield f"test names over {LONGEST_NAME} characters", len(long), f"of {len(names)}"
    words = foreign_words({**product, **tests})
    most = listed(f"{k} {v}" for k, v in words.most_common())
    yield "words not of the field", words.total(), most


def _lazy(file: Path) -> Iterator[str]:
    return (line for line in _comments(file) if "noqa" in line and "PLC0415" in line)


def _tests_of(tree: ast.Module) -> Iterator[str]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
    return (node.name for node in nodes if node.name.startswith("test_"))


def main() -> int:
    """Print the table."""
    sys.path.insert(0, str(ROOT))
    from tests.hops import hops_of_operations  # noqa: PLC0415 - found by the line above

    hops = hops_of_operations()
    shown = ", ".join(f"{name.upper()} {count}" for name, count in hops.items())
    print("| what | number | which |\n|---|---|---|")
    for what, number, which in [*rows(), ("hops from handler to AWS", max(hops.values()), shown)]:
        print(f"| {what} | {number} | {which} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
