"""Terms as SQL values, for use without RDF (`match(..., native=...)`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spaseq.errors import InvalidArgument, described, listed
from spaseq.model.forms import ResultForm
from spaseq.planner.value_types import COUNT
from spaseq.spark.schemas import column_names

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_TYPES: Final = {
    "boolean": ("boolean",),
    "decimal(38,0)": (
        "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
        "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
    ),
    "decimal(38,18)": ("decimal",),
    "double": ("double", "float"),
    "timestamp_ltz": ("dateTime", "dateTimeStamp"),
    "date": ("date",),
}  # fmt: skip
"""SQL types and the XML Schema types whose literals become such values."""


_ZONE: Final = "(Z|[+-][0-9]{2}:[0-9]{2})$"
_DAY: Final = f"^([0-9-]+[0-9]{{2}}){_ZONE[:-1]}?$"
_SQL: Final = {name: kind for kind, names in _TYPES.items() for name in names} | {COUNT: "bigint"}


def as_native(
    answers: DataFrame,
    form: ResultForm,
    native: bool | Mapping[str, str],
    certain: Mapping[str, str],
    *,
    provenance: bool,
) -> DataFrame:
    """The answers with some columns as SQL values; a term that the type cannot hold is NULL.

    ``native=True`` means the SQL type of every variable whose values are ``certain`` to be of one, and texts otherwise.
    """
    if not isinstance(native, (bool, Mapping)):
        raise InvalidArgument(
            f'`native=` is True, or a mapping from variables to SQL types such as {{"v": "double"}}, not {described(native)}'
        )
    if not native or form.kind != "select":
        return answers
    variables = list(form.variables)
    columns = dict(zip(variables, column_names(variables, provenance=provenance), strict=True))
    inferred = {name: _SQL.get(certain.get(name, ""), "string") for name in variables}
    wanted = native if isinstance(native, Mapping) else inferred
    unknown = [name for name in wanted if name not in columns]
    if unknown:
        raise InvalidArgument(f"native= names {listed(unknown)}, which the query does not select")
    for name, kind in wanted.items():
        column = columns[name]
        term = answers[f"`{column}`"]
        answers = answers.withColumn(column, variant(term) if kind == "variant" else typed(term, kind))
    return answers


def typed(term: Column, kind: str) -> Column:
    """The value of a term as one SQL type."""
    return _cast(lexical(term), kind)


def _cast(text: Column, kind: str) -> Column:
    """A lexical form as a SQL type. Without zone it is in UTC, as everywhere; SQL knows no zones of dates."""
    match kind.lower():
        case "date":
            text = F.regexp_replace(text, _ZONE, "")
        case "timestamp" | "timestamp_ltz":
            whole = F.regexp_replace(text, _DAY, "$1T00:00:00$2")
            text = F.when(whole.rlike(_ZONE), whole).otherwise(F.concat(whole, F.lit("Z")))
        case _:
            pass
    return text.try_cast(kind)


def variant(term: Column) -> Column:
    """The value of a term as the SQL type of its datatype; IRIs and all other literals are strings."""
    datatype = F.regexp_extract(term, r"\^\^<" + _XSD + r"([A-Za-z]+)>$", 1)
    value = F.when(F.lit(False), F.lit(None).cast("variant"))
    for kind, names in _TYPES.items():
        cast = typed(term, kind)
        value = value.when(datatype.isin(*names) & cast.isNotNull(), cast.cast("variant"))
    return value.otherwise(lexical(term).cast("variant"))


def lexical(term: Column) -> Column:
    """The text of a term: an IRI without its brackets, a literal's lexical form, a blank node's label."""
    quoted = F.regexp_extract(term, r'^"((?s:.*))"(?:@[A-Za-z0-9-]+|\^\^<[^>]*>)?$', 1)
    # The escapes of canonical N-Triples are those of JSON.
    listed_ = F.concat(F.lit('["'), quoted, F.lit('"]'))
    unescaped = F.from_json(listed_, "array<string>", {"allowUnquotedControlChars": "true"})[0]
    return (
        F.when(term.startswith("<"), F.substring(term, F.lit(2), F.length(term) - 2))
        .when(term.startswith('"'), F.when(quoted.contains("\\"), unescaped).otherwise(quoted))
        .otherwise(term)
    )
