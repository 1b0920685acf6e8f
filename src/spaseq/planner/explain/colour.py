"""Query text as HTML with its words coloured by kind. Only for the eye: nothing is parsed here."""

from __future__ import annotations

import re
from html import escape

KEYWORDS = (
    "PREFIX|BASE|SELECT|DISTINCT|REDUCED|CONSTRUCT|ASK|WITHIN|TUMBLING|SLIDING|STARTING|AT|FROM|STREAM|"
    "PARTITION|BY|WHERE|SEQ|DEFINE|GPM|ON|FILTER|BIND|AS|OPTIONAL|UNION|MINUS|GRAPH|VALUES|UNDEF|EXISTS|NOT|IN|"
    "MILLISECONDS?|SECONDS?|MINUTES?|HOURS?|DAYS?|EVENTS?|GROUP|ORDER|HAVING|LIMIT|OFFSET|ASC|DESC|"
    "COUNT|SUM|AVG|MIN|MAX|FIRST|LAST|PREV|GROUP_CONCAT|SAMPLE|SEPARATOR"
)
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>\"{3}.*?\"{3} | '{3}.*?'{3} | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
      | (?P<iri><[^\s<>"{}|^`\\]*>)
      | (?P<variable>[?$]\w+)
      | (?P<keyword>\b(?:"""
    + KEYWORDS
    + r""")\b(?!:))
      | (?P<name>(?:[A-Za-z][\w-]*)?:[A-Za-z_][\w-]*)
      | (?P<number>\b\d+(?:\.\d+)?\b)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def coloured(text: str) -> str:
    """The text, escaped, with a ``span`` around every word of a known kind."""
    parts: list[str] = []
    position = 0
    for found in _TOKEN.finditer(text):
        parts.append(escape(text[position : found.start()], quote=False))
        parts.append(f'<span class="{found.lastgroup}">{escape(found[0], quote=False)}</span>')
        position = found.end()
    return "".join(parts) + escape(text[position:], quote=False)


def numbered(text: str) -> str:
    """Coloured text, each line in an element that a style sheet can number."""
    return "\n".join(f'<span class="line">{line}</span>' for line in _whole_lines(coloured(text)))


def _whole_lines(html: str) -> list[str]:
    """Lines in which every span is closed; a string over several lines is opened again in each."""
    lines: list[str] = []
    open_span = ""
    for line in html.split("\n"):
        full = open_span + line
        opened = re.findall(r"<span class=\"\w+\">|</span>", full)
        open_span = opened[-1] if opened and opened[-1] != "</span>" else ""
        lines.append(full + ("</span>" if open_span else ""))
    return lines
