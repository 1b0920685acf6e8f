"""What can be wrong with joins over time, rules and policies: SPQ8xx, and what never comes true: SPW8xx."""

from __future__ import annotations

from spaseq.errors import QueryError, QueryWarning


class BareName(QueryError):
    """A name without prefix, as the EP-SPARQL paper writes its predicates."""

    code = "SPQ801"
    message_template = "`{name}` is not the name of a resource: a name has a prefix"
    label_template = "no prefix"
    cure_template = "write :{name}, and declare the prefix before: PREFIX : <http://example.org/>"


class OperandNeedsBraces(QueryError):
    """A join over time or a UNION whose left side is not a group in braces, or not the whole of what stands before it."""

    code = "SPQ802"
    message_template = "{operator} stands between two groups in braces"
    label_template = "no group directly before it"
    cure_template = "put braces around what comes before: {{ … }} {operator} {{ … }}"


class UpdateUnsupported(QueryError):
    """A SPARQL update; the stream is an input, and what rules produce joins it."""

    code = "SPQ803"
    message_template = "{word} is an update, and a query changes no data"
    label_template = "an update"
    cure_template = "write a rule, CONSTRUCT {{ … }} WHERE {{ … }}, whose triples join the stream"


class NoStatement(QueryError):
    """A file without SELECT, ASK or CONSTRUCT."""

    code = "SPQ804"
    message_template = "there is no statement"
    label_template = "nothing to run"
    cure_template = "write a SELECT or ASK query, or a rule: CONSTRUCT {{ … }} WHERE {{ … }}"


class RuleModifiers(QueryError):
    """ORDER BY, LIMIT, OFFSET, GROUP BY or HAVING behind a rule, which has no order and no end."""

    code = "SPQ805"
    message_template = "a rule takes no {modifier}"
    label_template = "a rule"
    cure_template = (
        "put a sub-SELECT with {modifier} inside its WHERE: CONSTRUCT {{ … }} WHERE {{ {{ SELECT … }} }}"
    )


class InputInQuery(QueryError):
    """FROM: inputs are named when a query is run."""

    code = "SPQ806"
    message_template = (
        "FROM {iri} is not part of EP-SPARQL: streams and graphs are named when the query is run"
    )
    label_template = "an input"
    cure_template = "take it out, and give the data with --stream NAME=PATH or --kb IRI=PATH"


class ItemWithoutName(QueryError):
    """An expression in SELECT that no AS names."""

    code = "SPQ807"
    message_template = "an expression in SELECT needs a name"
    label_template = "no AS ?name"
    cure_template = "write (… AS ?name)"


class MisplacedAs(QueryError):
    """AS in SELECT without an expression on one side and a variable on the other."""

    code = "SPQ808"
    message_template = "AS stands between an expression and a variable"
    label_template = "{problem}"
    cure_template = "write (… AS ?name) for each expression"


class NegativeDependence(QueryError):
    """Rules that depend on each other, one of them on what the others do *not* produce at the same instant."""

    code = "SPQ809"
    message_template = "{rules} on the absence of what {produced}"
    label_template = "the first of them"
    cure_template = (
        "test for absence on the left of a SEQ, where all has ended before, or let the rules produce triples that the test "
        "does not match"
    )


class PolicyImpossible(QueryError):
    """A policy other than `unrestricted` for a query with grouping, LIMIT or OFFSET."""

    code = "SPQ810"
    message_template = "a query with {clause} cannot be run with the policy `{policy}`"
    label_template = "has {clause}"
    cure_template = "take {clause} out, or run the query with the policy `unrestricted`"


class NeverTrueOfTime(QueryWarning):
    """A duration or an instant that is compared with a number, a text or an ill-formed literal."""

    code = "SPW802"
    message_template = "`{function}` is {wanted}, and {given} is not: they do not compare"
    label_template = "never true"
    cure_template = "write {written}"


class UnboundTemplateVariable(QueryWarning):
    """A variable in the template of a rule that the rule's WHERE does not bind."""

    code = "SPW803"
    message_template = "the rule produces nothing: its WHERE never binds ?{name}"
    label_template = "never bound"
    cure_template = "bind ?{name} in WHERE{near}"
