"""GitHub's ``${{ }}``: names with dots, texts in quotes, ``==``, ``!=``, ``&&``, ``||``, ``!`` and a few functions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

EXPRESSION = re.compile(r"\$\{\{((?:(?!\}\}).)*)\}\}")
TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|([A-Za-z_][\w.-]*)|(==|!=|&&|\|\||[!()]))")


def fill_in(value: Any, names: Mapping[str, Any]) -> Any:
    """A value of a workflow file with its expressions evaluated; one that is an expression as a whole keeps its type.
    ValueError for what is none."""
    if isinstance(value, dict):
        return {key: fill_in(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill_in(inner, names) for inner in value]
    if not isinstance(value, str):
        return value
    if whole := EXPRESSION.fullmatch(value):
        return evaluate(whole[1], names)
    return EXPRESSION.sub(lambda match: _text(evaluate(match[1], names)), value)


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    tokens, place = [], 0
    while text[place:].strip():
        match = TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"no expression of GitHub's that is known here: {text.strip()}")
        tokens.append(match[0].strip())
        place = match.end()
    value = _either(tokens, names)
    if tokens:
        raise ValueError(f"not understood from '{tokens[0]}' on: {text.strip()}")
    return value


def _either(tokens: list[str], names: Mapping[str, Any]) -> Any:
    value = _both(tokens, names)
    while tokens[:1] == ["||"]:
        tokens.pop(0)
        other = _both(tokens, names)
        value = value or other
    return value


def _both(tokens: list[str], names: Mapping[str, Any]) -> Any:
    value = _compared(tokens, names)
    while tokens[:1] == ["&&"]:
        tokens.pop(0)
        other = _compared(tokens, names)
        value = value and other
    return value


def _compared(tokens: list[str], names: Mapping[str, Any]) -> Any:
    value = _single(tokens, names)
    while tokens[:1] in (["=="], ["!="]):
        equal = tokens.pop(0) == "=="
        value = (value == _single(tokens, names)) == equal
    return value


def _single(tokens: list[str], names: Mapping[str, Any]) -> Any:
    if not tokens:
        raise ValueError("an expression ends too early")
    token = tokens.pop(0)
    if token == "!":
        return not _single(tokens, names)
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    if tokens[:1] == ["("]:
        return _call(token, tokens, names)
    if token == "(":
        value = _either(tokens, names)
        _expect(tokens, ")")
        return value
    return _named(token, names)


def _call(name: str, tokens: list[str], names: Mapping[str, Any]) -> Any:
    _expect(tokens, "(")
    argument = None if tokens[:1] == [")"] else _either(tokens, names)
    _expect(tokens, ")")
    if name == "fromJSON":
        return json.loads(str(argument))
    if name in ("always", "success", "failure"):
        return names["status"][name]
    raise ValueError(f"no function that is known here: {name}")


def _named(name: str, names: Mapping[str, Any]) -> Any:
    """What is not there is an empty text."""
    value: Any = names
    for part in name.split("."):
        value = value.get(part, "") if isinstance(value, Mapping) else ""
    return value


def _expect(tokens: list[str], wanted: str) -> None:
    if tokens[:1] != [wanted]:
        raise ValueError(f"'{wanted}' is missing")
    tokens.pop(0)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
