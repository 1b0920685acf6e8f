"""What can be wrong with the text of a query: SPQ0xx for its letters and grammar, SPQ1xx for SPARQL's rules.

Each class is one row of the error catalogue; its docstring is the row's explanation.
"""

from __future__ import annotations

from spaseq.errors import QueryError

# --- letters and grammar ------------------------------------------------------------------------


class UnexpectedToken(QueryError):
    """A word or sign stands where the grammar has no place for it."""

    code = "SPQ001"
    message_template = "unexpected {found}"
    label_template = "expected {expected}"
    cure_template = "{hint}"


class UnexpectedEnd(QueryError):
    """The query stops before it is complete, often because a bracket is not closed."""

    code = "SPQ002"
    message_template = "the query ends too early"
    label_template = "expected {expected}"
    cure_template = "{hint}"


class BadCharacter(QueryError):
    """A character that begins no word or sign of the language."""

    code = "SPQ003"
    message_template = "unexpected character {character}"
    label_template = "means nothing {where}"
    cure_template = "{hint}"


class UnterminatedString(QueryError):
    """A string without its closing quote."""

    code = "SPQ004"
    message_template = "the string that starts here is not closed"
    label_template = "no closing {quote}"
    cure_template = "close it with {quote}; a string over several lines needs three quotes on each side"


class BadEscape(QueryError):
    """A backslash in a string is followed by something that is not an escape."""

    code = "SPQ005"
    message_template = "`{escape}` is not an escape sequence"
    label_template = "unknown escape"
    cure_template = (
        "the escapes are \\t \\b \\n \\r \\f \\\" \\' \\\\ and, for a Unicode character that is no "
        "surrogate, \\uXXXX and \\UXXXXXXXX; write \\\\ for a backslash"
    )


class BadIri(QueryError):
    """An IRI is not closed, or holds characters that no IRI may hold."""

    code = "SPQ006"
    message_template = "{iri} is not a valid IRI: {reason}"
    label_template = "here"
    cure_template = 'an IRI is written <http://…> without spaces and without any of < > " {{ }} | ^ ` \\'


class RelativeIri(QueryError):
    """A relative IRI in a query that declares no BASE."""

    code = "SPQ007"
    message_template = "the relative IRI <{iri}> has no base"
    label_template = "relative"
    cure_template = "write the whole IRI, or begin the query with BASE <http://…>"


class BadLanguageTag(QueryError):
    """The tag after `@` is not a language tag of BCP 47."""

    code = "SPQ008"
    message_template = "`@{tag}` is not a language tag: {reason}"
    label_template = "no such tag"
    cure_template = "write a tag such as @en or @de-AT"


class TooDeep(QueryError):
    """Brackets or operators nest deeper than any machine stage can follow."""

    code = "SPQ009"
    message_template = "the query nests more than {limit} levels deep"
    label_template = "too deep from here on"
    cure_template = (
        "split a long chain of || or + into several parts; `?x IN (…)` replaces a chain of `?x = …`"
    )


class NumberTooLong(QueryError):
    """An integer with more digits than any count needs."""

    code = "SPQ010"
    message_template = "a number of {digits} digits"
    label_template = "too long"
    cure_template = "at most {limit} digits are read"


class WrongArgumentCount(QueryError):
    """A built-in function is called with too many or too few arguments."""

    code = "SPQ011"
    message_template = "{function} takes {wanted}, not {given}"
    label_template = "{given} given"
    cure_template = "write {function} with {wanted}"


class BoundNeedsVariable(QueryError):
    """BOUND asks whether a variable has a value, so its argument is a variable."""

    code = "SPQ012"
    message_template = "BOUND takes a variable"
    label_template = "not a variable"
    cure_template = "write BOUND(?v); every other expression is its own test"


class PathInsteadOfQuery(QueryError):
    """The text is the path of a file, not a query."""

    code = "SPQ013"
    message_template = "`{path}` is a path, not a query"
    label_template = "names a file"
    cure_template = "read the file first: Path({path!r}).read_text()"


# --- SPARQL's rules -----------------------------------------------------------------------------


class UndefinedPrefix(QueryError):
    """A prefixed name whose prefix no PREFIX line declares."""

    code = "SPQ101"
    message_template = "the prefix `{prefix}:` is not declared{hint}"
    label_template = "declared here: {known}"
    cure_template = "add PREFIX {prefix}: <http://…> at the top of the query"


class BlankNodeReused(QueryError):
    """A blank node label belongs to one basic graph pattern only (SPARQL 1.1, 5.1.1)."""

    code = "SPQ102"
    message_template = "the blank node `{label}` is used in two basic graph patterns"
    label_template = "used before, in another pattern"
    cure_template = "use a variable to say that both are the same node, or another label"


class BindInScope(QueryError):
    """BIND gives a value to a variable that the group has already used (SPARQL 1.1, 18.2.1)."""

    code = "SPQ103"
    message_template = "BIND cannot set ?{variable}: the group uses it before"
    label_template = "already in scope"
    cure_template = (
        "bind to a new variable and compare: BIND(… AS ?{variable}2) FILTER(?{variable} = ?{variable}2)"
    )


class DuplicateAlias(QueryError):
    """Two results of one SELECT have the same name."""

    code = "SPQ104"
    message_template = "SELECT gives the name ?{variable} twice"
    label_template = "named before"
    cure_template = "choose another name after AS"


class AliasInScope(QueryError):
    """A name after AS is already a variable of the pattern (SPARQL 1.1, 18.2.1)."""

    code = "SPQ105"
    message_template = "{clause} cannot name an expression ?{variable}: the pattern has that variable"
    label_template = "already in scope"
    cure_template = "choose another name after AS"


class UngroupedVariable(QueryError):
    """In a grouped query a variable is either a group key or inside an aggregate (SPARQL 1.1, 11.4)."""

    code = "SPQ106"
    message_template = "?{variable} is neither a group key nor aggregated"
    label_template = "not the same for the whole group"
    cure_template = "add GROUP BY ?{variable}, or write SAMPLE(?{variable})"


class SelectStarGrouped(QueryError):
    """`SELECT *` cannot be used with groups, since not every variable has one value per group."""

    code = "SPQ107"
    message_template = "SELECT * cannot be combined with grouping"
    label_template = "this query has groups"
    cure_template = "list the group keys and the aggregates"


class NestedAggregate(QueryError):
    """An aggregate inside the argument of an aggregate."""

    code = "SPQ108"
    message_template = "{inner} stands inside {outer}"
    label_template = "aggregates do not nest"
    cure_template = "compute the inner aggregate in a sub-SELECT"


class MisplacedAggregate(QueryError):
    """An aggregate where no groups exist."""

    code = "SPQ109"
    message_template = "the aggregate {aggregate} cannot be used in {where}"
    label_template = "no groups here"
    cure_template = "{hint}"


class ValuesRowLength(QueryError):
    """A row of VALUES has more or fewer values than there are variables."""

    code = "SPQ110"
    message_template = "this row of VALUES has {found}, but there are {wanted}"
    label_template = "{found}"
    cure_template = "write one value for each variable; UNDEF leaves one open"


class ValuesVariableTwice(QueryError):
    """VALUES lists a variable twice, but a solution gives a variable one value."""

    code = "SPQ111"
    message_template = "VALUES lists ?{variable} twice"
    label_template = "listed before"
    cure_template = "use two variables and compare them in a FILTER"
