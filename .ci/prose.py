"""Hold prose and names to the rules of docs/glossary.md: ``python .ci/prose.py [PATH ...]``.

Docstrings are sentences, replaced words stay replaced, a class name is defined once, and documents keep their sentences
short. ruff's pydocstyle rules hold the rest. Exit code 1 with a line for each finding, which says what to write.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "harness" / "bitgate"
CODE = ("harness/bitgate", "kernels", "suites", "examples", "tests", "benchmarks", "ci", ".ci", "docs")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs")
LONGEST_SENTENCE = 30
"""Words. Code, links and table cells do not count."""

_RELATIVE = "That Of Who What Which Whether Where When Why How By As For From With Without In On At If"
RELATIVE = frozenset(re.findall(r"\w+", _RELATIVE))
"""First words of a fragment: a clause without its main clause."""
_NO_VERB = "The A An One All Every Each None Its Those These This Only Is Are Does Has Have Can Nothing Two It There"
NO_VERB = RELATIVE | frozenset(re.findall(r"\w+", _NO_VERB))
"""First words that no function's docstring has, since it begins with a verb."""

REPLACED = {
    r"nobody|somebody": "no ..., a caller",
    r"mend(?:s|ed|ing)?": "fix, fixed",
    r"told|tells?": "reported, prints, documents",
    r"behind": "after",
    r"on end": "in a row",
    r"in turns": "interleaved",
    r"(?:ever )?so (?:many|often)": "the number, often",
    r"ado": "leave it out",
    r"of (?:its|their|his) own": "separate, dedicated",
    r"museum|exhibits?": "adversarial kernels",
}
_REPLACED = re.compile(r"\b(?:" + "|".join(f"({pattern})" for pattern in REPLACED) + r")\b", re.IGNORECASE)


def main(paths: Sequence[str]) -> int:
    """Print the findings in the paths, or everywhere, and return the exit code."""
    places = [Path(path).resolve() for path in paths] or [ROOT / name for name in (*CODE, *DOCUMENTS)]
    found = [line for place in places for path in _files(place) for line in _findings(path)]
    if not paths:
        found += _doubles()
    print(*found, sep="\n")
    print(f"{len(found)} findings" if found else "prose: all right", file=sys.stderr)
    return 1 if found else 0


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    found = (path for path in place.rglob("*") if path.suffix in (".py", ".md"))
    return sorted(path for path in found if "__pycache__" not in path.parts)


def _findings(path: Path) -> Iterator[str]:
    if path == Path(__file__).resolve() or path.name == "glossary.md":
        return  # they name the words
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
    of_file = _in_document(path) if path.suffix == ".md" else _in_code(path)
    for line, finding in of_file:
        yield f"{name}:{line}: {finding}"


def _in_code(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _in_docstring(node, path.is_relative_to(PACKAGE))
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield from _replaced(token.string, token.start[0])


def _in_docstring(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, in_package: bool
) -> Iterator[tuple[int, str]]:
    text = ast.get_docstring(node)
    if not text:
        return
    line = node.body[0].lineno
    yield from _replaced(text, line)
    if not in_package:
        return
    first = text.split()[0].strip(".,:;")
    of_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not _is_property(node)
    if first.startswith("`") and not isinstance(node, ast.Module):
        yield line, f"docstring begins with {first}: begin with a word of a sentence"
    elif first in (NO_VERB if of_function else RELATIVE):
        advice = "begin with a verb (Return ..., Build ...)" if of_function else "write a noun phrase or a sentence"
        yield line, f"docstring begins with '{first}': {advice}"


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in node.decorator_list)
    return any("property" in name or "fixture" in name for name in names)


def _replaced(text: str, line: int) -> Iterator[tuple[int, str]]:
    without_code = re.sub(r"``[^`]*``|`[^`]*`", "", text)
    for match in _REPLACED.finditer(without_code):
        advice = list(REPLACED.values())[(match.lastindex or 1) - 1]
        yield line + without_code.count("\n", 0, match.start()), f"'{match[0]}': write {advice}"


def _in_document(path: Path) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced or line.startswith(("    ", "|", "#")):
            continue
        plain = re.sub(r"`[^`]*`|\[([^\]]*)\]\([^)]*\)", lambda match: match[1] or "x", line)
        yield from _replaced(plain, number)
        for sentence in re.split(r"(?<=[.:;!?])\s+", plain):
            if len(words := sentence.split()) > LONGEST_SENTENCE:
                yield number, f"a sentence of {len(words)} words, at most {LONGEST_SENTENCE}: {' '.join(words[:6])} ..."


def _doubles() -> list[str]:
    """Return a line for each class name that the package defines more than once."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in _files(PACKAGE):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    doubles = ((name, found) for name, found in places.items() if found[1:])
    return [f"{found[0]}: class {name} is also in {', '.join(found[1:])}" for name, found in doubles]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
