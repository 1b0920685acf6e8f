"""Parsing tables: Lark turns a grammar into an LALR(1) automaton once; later starts read it from a cache.

Only the automaton is kept, as plain JSON: which token shifts or reduces in which state, and what each rule
does with its parts. It depends on nothing but the grammar's text, so that text's digest names the file. The
cache is in the user's cache directory; where it cannot be read or written, the table is built again.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spaseq.caches import cache_directory

FORMAT = "2"
"""Changes with the layout of the file, so that an old file is not misread."""

KEEP, DROP, SPLICE = 1, 0, 2
_REDUCE = 1
"""How Lark marks a reduction."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A reduction: ``size`` parts become one ``origin``, made by the builder's method ``action``.

    ``parts`` says for each part whether to keep it, to drop it (a word or sign of the grammar) or to
    splice its own parts in. A rule without action is a list; ``expand`` hands a single part through.
    """

    origin: str
    size: int
    action: str
    parts: tuple[int, ...]
    expand: bool


@dataclass(frozen=True, slots=True)
class LalrTable:
    """An LALR(1) automaton: ``rows[state][symbol]`` is the next state, or ``-1 - rule`` to reduce."""

    rows: tuple[dict[str, int], ...]
    rules: tuple[Rule, ...]
    start: int
    accept: int
    literals: tuple[str, ...]
    """The words and signs of the grammar, which are their own token types."""


@cache
def load_table(files: tuple[Path, ...], start: str) -> LalrTable:
    """The table of the grammar that these files make up, from the cache if it is there."""
    grammar = "\n".join(path.read_text("utf-8") for path in files)
    digest = hashlib.sha256(f"{FORMAT}\0{start}\0{grammar}".encode()).hexdigest()[:24]
    path = cache_directory() / f"grammar-{digest}.json"
    try:
        return _read(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        plain = compile_grammar(grammar, start)
    _store(path, plain)
    return _read(plain)


def _store(path: Path, plain: dict[str, Any]) -> None:
    """Write the file whole or not at all; a cache that cannot be written is no error."""
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(plain, file, separators=(",", ":"))
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError:
        pass


def _read(plain: dict[str, Any]) -> LalrTable:
    rules = tuple(
        Rule(origin, size, action, tuple(parts), expand)
        for origin, size, action, parts, expand in plain["rules"]
    )
    return LalrTable(tuple(plain["rows"]), rules, plain["start"], plain["accept"], tuple(plain["literals"]))


# --- building, the only place that needs Lark ---------------------------------------------------------


def compile_grammar(grammar: str, start: str) -> dict[str, Any]:
    """The automaton of a Lark grammar as plain data; a grammar with conflicts is refused."""
    from lark import Lark
    from lark.grammar import Rule as LarkRule
    from lark.lexer import Lexer, TerminalDef

    class NoLexer(Lexer):
        """Lark wants a lexer; `spaseq.syntax.lexer` makes the tokens."""

        def __init__(self, _: Any) -> None:
            pass

        def lex(self, *_: Any) -> Any:
            raise NotImplementedError

    built = Lark(grammar, parser="lalr", lexer=NoLexer, start=start, maybe_placeholders=False, strict=True)
    data, memo = built.memo_serialize([TerminalDef, LarkRule])
    table = data["parser"]["parser"]
    spelled = {t["name"]: t["pattern"]["value"] for t in memo.values() if t["__type__"] == "TerminalDef"}
    symbols = {index: spelled.get(name, name) for index, name in table["tokens"].items()}
    states = {
        state: {
            symbols[symbol]: move for symbol, move in sorted(row.items(), key=lambda item: symbols[item[0]])
        }
        for state, row in table["states"].items()
    }
    start_state = table["start_states"][start]
    numbers = _numbered(start_state, states)
    used = {target["@"] for row in states.values() for action, target in row.values() if action == _REDUCE}
    rules = sorted((_plain_rule(memo[key]), key) for key in used)
    reductions = {key: -1 - index for index, (_, key) in enumerate(rules)}
    return {
        "rows": [
            {
                symbol: reductions[target["@"]] if action == _REDUCE else numbers[target]
                for symbol, (action, target) in states[state].items()
            }
            for state in numbers
        ],
        "rules": [rule for rule, _ in rules],
        "start": numbers[start_state],
        "accept": numbers[table["end_states"][start]],
        "literals": sorted(spelled.values()),
    }


def _numbered(start: int, states: dict[int, dict[str, Any]]) -> dict[int, int]:
    """Lark's states in the order in which a walk from the start meets them: the same for every build."""
    order = [start]
    seen = {start}
    for state in order:
        for action, target in states[state].values():
            if action != _REDUCE and target not in seen:
                seen.add(target)
                order.append(target)
    return {state: number for number, state in enumerate(order)}


def _plain_rule(rule: dict[str, Any]) -> list[Any]:
    """What Lark's tree builder would do with the parts of a rule, as flags."""
    name, options = rule["origin"]["name"], rule["options"]
    parts = []
    for symbol in rule["expansion"]:
        if symbol["__type__"] == "Terminal":
            parts.append(DROP if symbol["filter_out"] and not options["keep_all_tokens"] else KEEP)
        else:
            parts.append(SPLICE if symbol["name"].startswith("_") else KEEP)
    action = "" if name.startswith("_") else rule["alias"] or name
    return [name, len(parts), action, parts, bool(options["expand1"] and not rule["alias"])]
