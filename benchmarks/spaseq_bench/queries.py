"""The query of a cell: assembled from the parts that a `.bench` file declares, with its parameters put in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from spaseq.errors import InvalidArgument, listed
from spaseq_bench.declared import Params, label

_PARAMETER = re.compile(r"\$\{(\w+)\}")


def filled(text: str, params: Params) -> str:
    """The text with its parameters.

    >>> filled("WITHIN ${window} MINUTES", {"window": 10})
    'WITHIN 10 MINUTES'
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in params:
            raise InvalidArgument(f"`${{{found[1]}}}` has no value; there are {listed(sorted(params))}")
        # A parameter may itself be written with parameters (a sequence with its operator).
        return filled(label(params[found[1]]), params)

    return _PARAMETER.sub(value, text)


def query_text(parts: Mapping[str, object], params: Params) -> str:
    """The whole query; GPMs that the sequence does not name are left out, since they must all be used."""
    if "text" in parts:
        return filled(str(parts["text"]), params)

    def part(name: str, default: str = "") -> str:
        return filled(str(parts.get(name, default)), params)

    sequence = part("seq")
    used = set(re.findall(r"[A-Za-z_]\w*", sequence))
    lines = [part("prefixes"), part("form") or f"SELECT {part('select', '*')}"]
    if "within" in parts:
        lines.append(f"WITHIN {part('within')}")
    lines += [f"FROM STREAM {alias} <{iri}>" for alias, iri in streams_of(parts).items()]
    if partition := part("partition"):
        lines.append(f"PARTITION BY {partition}")
    lines += ["WHERE {", f"  SEQ ({sequence})"]
    gpms = parts.get("gpm", {})
    assert isinstance(gpms, dict)
    lines += [f"  DEFINE GPM {name} {filled(text, params)}" for name, text in gpms.items() if name in used]
    return "\n".join([line for line in lines if line] + ["}", ""])


def named_queries(text: str, params: Params) -> dict[str, str]:
    """The queries of a cell by name: one, or as many as ``queries`` says, each with a window one second longer.

    >>> named_queries("… WITHIN 5 SECONDS …", {"queries": 2})
    {'q0': '… WITHIN 5 SECONDS …', 'q1': '… WITHIN 6 SECONDS …'}
    """
    if "queries" not in params:
        return {"query": text}
    return {
        f"q{n}": re.sub(r"(?<=WITHIN )\d+(?= SECONDS)", lambda found, n=n: str(int(found[0]) + n), text)  # type: ignore[misc]
        for n in range(int(params["queries"]))
    }


def streams_of(parts: Mapping[str, object]) -> dict[str, str]:
    """Aliases and IRIs of the declared streams."""
    streams = parts.get("streams", {})
    assert isinstance(streams, dict)
    return {str(alias): str(iri) for alias, iri in streams.items()}
