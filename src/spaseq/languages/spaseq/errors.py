"""What can be wrong with a SPAseq query that parses: one class, one code, one cure each.

Codes: SPQ2xx its parts, SPQ3xx its variables, SPQ5xx its sequence and repetitions, SPQ6xx its window.
The classes are the catalogue that `docs/reference/errors.md` is generated from.
"""

from __future__ import annotations

from spaseq.errors import QueryError, QueryWarning

# --- parts --------------------------------------------------------------------------------------


class MissingSequence(QueryError):
    """A query without a SEQ clause: nothing says which events follow each other."""

    code = "SPQ201"
    message_template = "the query has no SEQ"
    label_template = "expected `SEQ ( … )` in WHERE"
    cure_template = "add a sequence over the defined patterns, for example `SEQ ({names})`"


class SecondSequence(QueryError):
    """More than one SEQ clause in a query."""

    code = "SPQ202"
    message_template = "the query has more than one SEQ"
    label_template = "second SEQ"
    cure_template = "write one SEQ; join two alternatives with `|`, or run them as two queries"


class UndefinedPattern(QueryError):
    """A name in SEQ that no DEFINE GPM defines."""

    code = "SPQ203"
    message_template = "pattern `{name}` is used in SEQ but never defined"
    label_template = "defined here: {known}"
    cure_template = "define `{name}`, or take it out of SEQ{hint}"


class UnusedPattern(QueryError):
    """A GPM that SEQ does not name."""

    code = "SPQ204"
    message_template = "pattern `{name}` is defined but SEQ does not use it"
    label_template = "never used"
    cure_template = "use `{name}` in SEQ, or delete its definition{hint}"


class PatternDefinedTwice(QueryError):
    """Two DEFINE GPM clauses with one name."""

    code = "SPQ205"
    message_template = "pattern `{name}` is defined twice"
    label_template = "the first definition is on line {first}"
    cure_template = "give one of the two another name"


class PatternUsedTwice(QueryError):
    """One GPM name in two places of SEQ."""

    code = "SPQ206"
    message_template = "pattern `{name}` stands in SEQ twice"
    label_template = "already used"
    cure_template = "define the pattern again under another name, with its own variables"


class UndefinedStream(QueryError):
    """A GPM on a stream alias that no FROM STREAM declares."""

    code = "SPQ207"
    message_template = "stream `{name}` is not declared"
    label_template = "declared here: {known}"
    cure_template = "declare it with `FROM STREAM {name} <iri>`{hint}"


class StreamAliasTwice(QueryError):
    """Two FROM STREAM clauses with one alias."""

    code = "SPQ208"
    message_template = "stream alias `{name}` is declared twice"
    label_template = "already declared"
    cure_template = "give each stream its own alias"


class StreamIriTwice(QueryError):
    """Two FROM STREAM clauses for one stream IRI."""

    code = "SPQ209"
    message_template = "stream <{iri}> is declared twice, as `{first}` and as `{name}`"
    label_template = "already declared as `{first}`"
    cure_template = "declare the stream once; several GPMs can be defined ON `{first}`"


class NoPositiveStep(QueryError):
    """A sequence in which every step may be missing."""

    code = "SPQ210"
    message_template = "no step of this sequence has to occur"
    label_template = "only `!` and `?` steps"
    cure_template = "add at least one step without `!` or `?`"


class PrefixDeclaredTwice(QueryError):
    """Two PREFIX declarations with one name."""

    code = "SPQ211"
    message_template = "prefix `{name}:` is declared twice"
    label_template = "already declared as <{first}>"
    cure_template = "keep one declaration, or rename one prefix"


# --- variables ----------------------------------------------------------------------------------


class UnboundVariable(QueryError):
    """A FILTER or BIND of a GPM names a variable that no step can bind."""

    code = "SPQ301"
    message_template = "no step binds `?{name}`"
    label_template = "not bound in `{gpm}` or before it"
    cure_template = "bind `?{name}` in a triple pattern, or remove it here{hint}"


class UnboundSelection(QueryError):
    """SELECT names a variable that no step can bind."""

    code = "SPQ302"
    message_template = "SELECT asks for `?{name}`, which no step binds"
    label_template = "the steps bind: {known}"
    cure_template = "bind `?{name}` in a GPM, or drop it from SELECT{hint}"


class UnboundTemplate(QueryError):
    """A CONSTRUCT template names a variable that no step can bind."""

    code = "SPQ303"
    message_template = "the CONSTRUCT template uses `?{name}`, which no step binds"
    label_template = "the steps bind: {known}"
    cure_template = "bind `?{name}` in a GPM, or take the triple out of the template{hint}"


class UnboundPartition(QueryError):
    """A PARTITION BY variable that some GPM does not read from its event."""

    code = "SPQ304"
    message_template = "PARTITION BY `?{name}`: pattern `{gpm}` has no triple pattern with `?{name}`"
    label_template = "must occur in a triple pattern of every GPM"
    cure_template = "add `?{name}` to a triple pattern of `{gpm}`, or partition by another variable{hint}"


class LooksAhead(QueryError):
    """A stateful part reads a variable that only a later step binds."""

    code = "SPQ305"
    message_template = "`{gpm}` reads `?{name}`, which only the later step `{later}` binds"
    label_template = "not known yet when `{gpm}` is matched"
    cure_template = "move this condition into `{later}`, where both sides are known"


class NestedStatefulPart(QueryError):
    """A nested FILTER, BIND or EXISTS reads a variable of another step."""

    code = "SPQ306"
    message_template = "`?{name}` belongs to step `{other}`; a nested group of `{gpm}` cannot see it"
    label_template = "inside a nested group"
    cure_template = "move the condition to the top level of `{gpm}`, or rename the variable"


class AssignsBoundVariable(QueryError):
    """A stateful BIND to a variable that is already bound."""

    code = "SPQ307"
    message_template = "BIND cannot assign `?{name}`: it is already bound by `{other}`"
    label_template = "already bound"
    cure_template = "bind to a new variable, and compare the two in a FILTER"


class HiddenByNegation(QueryError):
    """A variable of a negated GPM is used outside it."""

    code = "SPQ309"
    message_template = "`?{name}` is bound in the negated pattern `{gpm}` only; outside it has no value"
    label_template = "not visible here"
    cure_template = "take the value from a step that occurs, or drop it"


class PartitionVariableTwice(QueryError):
    """A variable listed twice in PARTITION BY."""

    code = "SPQ310"
    message_template = "`?{name}` is listed twice in PARTITION BY"
    label_template = "already listed"
    cure_template = "list each variable once"


class ExistsNeedsEvent(QueryError):
    """EXISTS in a condition over several events, or in SELECT: it reads the graph of one event."""

    code = "SPQ311"
    message_template = "EXISTS reads one event, but {what}"
    label_template = "which event's graph?"
    cure_template = "write `BIND(EXISTS {{ … }} AS ?found)` in the GPM, and use `?found` here"


# --- sequence and repetition --------------------------------------------------------------------


class MisplacedNegation(QueryError):
    """`!` inside a conjunction, a disjunction or another mark."""

    code = "SPQ501"
    message_template = "`!` belongs to a whole step; here it stands inside one"
    label_template = "not a step of its own"
    cure_template = (
        "negate the whole step, as in `(A|B)!`, or give the negation a step of its own: `A ; B! ; C`"
    )


class MisplacedQuantifier(QueryError):
    """`+`, `{m,n}` or `?` inside a conjunction, a disjunction or another mark."""

    code = "SPQ502"
    message_template = "`{mark}` belongs to a whole step; here it stands inside one"
    label_template = "not a step of its own"
    cure_template = "put the step in parentheses and the mark behind them: `{example}`"


class OperatorsDisagree(QueryError):
    """The operators around a negated or optional step do not fit."""

    code = "SPQ503"
    message_template = "`{before}` before `{step}` needs `{before}` after it, not `{after}`"
    label_template = "the operator before is `{before}`"
    cure_template = "write the same operator on both sides, or `;` or `:` before `{step}`"


class TrailingNegationNeedsWindow(QueryError):
    """A sequence that can end in a negation, without a time window that says until when."""

    code = "SPQ504"
    message_template = "`{step}` at the end of SEQ needs a time window: until when must it be absent?"
    label_template = "nothing ends the wait"
    cure_template = "add `WITHIN n MINUTES` (or another time unit), or end SEQ with a positive step"


class LeadingNegationInEventWindow(QueryError):
    """A sequence that can start with a negation, in a sliding window counted in events."""

    code = "SPQ505"
    message_template = "`{step}` at the start of SEQ cannot look back in a sliding window of EVENTS"
    label_template = "since when must it be absent?"
    cure_template = "use a time window or TUMBLING, or start SEQ with a positive step"


class BadBounds(QueryError):
    """Quantifier bounds that no number of iterations satisfies."""

    code = "SPQ506"
    message_template = "`{{{bounds}}}` is not a range of iterations"
    label_template = "{reason}"
    cure_template = "write `{{m}}`, `{{m,n}}` or `{{m,}}` with 0 ≤ m ≤ n and 1 ≤ n"


class AggregateOutsideRepetition(QueryError):
    """A function over iterations whose argument is not in a repeated GPM."""

    code = "SPQ507"
    message_template = "`{call}` ranges over iterations, but `{argument}` is in no repeated pattern"
    label_template = "repeated here: {known}"
    cure_template = "repeat the pattern (`+` or `{{m,n}}`), or use the plain variable"


class PrevOutsidePattern(QueryError):
    """PREV outside the repeated GPM that binds its variable."""

    code = "SPQ508"
    message_template = "`PREV(?{name})` has a meaning only inside the repeated pattern that binds `?{name}`"
    label_template = "not in a filter or BIND of that pattern"
    cure_template = "use FIRST, LAST, SUM, AVG, MIN or MAX here, or move the condition into the pattern"


class UnsupportedAggregate(QueryError):
    """An aggregate that does not range over iterations of a variable."""

    code = "SPQ509"
    message_template = "`{call}` is not a function over iterations"
    label_template = "takes a plain variable; COUNT takes a pattern's name"
    cure_template = (
        "use FIRST, LAST, PREV, SUM, AVG, MIN, MAX or GROUP_CONCAT of a variable, or COUNT of a pattern; "
        "BIND an expression to a variable inside the pattern first"
    )


class IterationsNotYetKnown(QueryError):
    """A function over the iterations of a later step."""

    code = "SPQ510"
    message_template = "`{call}` in `{gpm}` reads iterations of the later step `{later}`"
    label_template = "not known yet"
    cure_template = "move the condition to `{later}` or after it"


class NestedSequence(QueryError):
    """A sequence or PERMUTE inside a conjunction or disjunction."""

    code = "SPQ511"
    message_template = "`&` and `|` join patterns of one instant; this is a sequence"
    label_template = "has more than one instant"
    cure_template = "put only GPM names, `&` and `|` here, or write the alternatives as queries of their own"


class NegatedGroup(QueryError):
    """`!` on a sequence in parentheses."""

    code = "SPQ512"
    message_template = "`!` cannot stand on a sequence in parentheses"
    label_template = "which of its events must be absent?"
    cure_template = "negate single steps: `A! ; B`, or a choice: `(A|B)!`"


class LongestGroup(QueryError):
    """LONGEST on the repetition of a sequence."""

    code = "SPQ513"
    message_template = "LONGEST belongs to the repetition of one choice, not of a sequence"
    label_template = "a sequence in parentheses"
    cure_template = "repeat a GPM or a choice: `A+ LONGEST`, `(A|B)+ LONGEST`"


class LongestSkipsAny(QueryError):
    """LONGEST with `[:]` between iterations."""

    code = "SPQ514"
    message_template = "LONGEST cannot be used with `[:]`, which may pass over iterations"
    label_template = "no repetition is the longest here"
    cure_template = "write `[;]` or `[,]` between iterations"


class MixedPermute(QueryError):
    """Two operators in one PERMUTE."""

    code = "SPQ515"
    message_template = "PERMUTE has one operator between all its items"
    label_template = "the first one is `{first}`"
    cure_template = "write `{first}` everywhere in it"


class PermuteItem(QueryError):
    """An item of PERMUTE that is more than a choice."""

    code = "SPQ516"
    message_template = "an item of PERMUTE is a GPM or a choice, without quantifier and gap"
    label_template = "not a plain choice"
    cure_template = "take the mark, the gap or the parentheses away, or move this step out of PERMUTE"


class PermuteSize(QueryError):
    """PERMUTE of one item, or of too many."""

    code = "SPQ517"
    message_template = "PERMUTE takes 2 to {limit} items, not {number}"
    label_template = "{number} here"
    cure_template = "write a single item without PERMUTE; split a longer list into several steps"


class RepeatedRepetition(QueryError):
    """A quantifier on a group that has to have nothing but a repetition."""

    code = "SPQ518"
    message_template = (
        "the iterations of this group could not be told apart: all it must have is itself quantified"
    )
    label_template = "one quantifier too many"
    cure_template = "write one quantifier, `A+`, or add a step to the group that cannot be left out"


class DefaultOperatorUnclear(QueryError):
    """A repetition at the start of a repeated group, without its operator."""

    code = "SPQ519"
    message_template = "`{step}` would mean `;` between its iterations at first and `,` later"
    label_template = "at the start of SEQ and of a repeated group"
    cure_template = "say which operator is meant: `{step}[;]` or `{step}[,]`"


class BadGap(QueryError):
    """AFTER or WITHIN on a step where it has no meaning."""

    code = "SPQ520"
    message_template = "this step cannot have such a gap: {reason}"
    label_template = "no gap here"
    cure_template = "remove it, or write it behind a step that certainly follows another event"


class TrailingNegationInEventWindow(QueryError):
    """A negation in last place, in a window counted in events."""

    code = "SPQ521"
    message_template = "`{step}` at the end of SEQ waits for a time, which a window of EVENTS does not have"
    label_template = "at the end of SEQ"
    cure_template = "use a time window or none, or end SEQ with a positive step"


class PrevInNegation(QueryError):
    """PREV in a negated GPM."""

    code = "SPQ522"
    message_template = "`PREV(?{name})` stands in the negated pattern `{gpm}`, which has no iterations"
    label_template = "a negated pattern"
    cure_template = "use LAST(?{name}), or move the condition to a pattern that is repeated"


class NeedsHome(QueryError):
    """A function over iterations of a variable that joins everywhere, inside a group."""

    code = "SPQ523"
    message_template = "`{call}` ranges over iterations, but `?{name}` is the same in all of them"
    label_template = "`?{name}` joins across the iterations of the group"
    cure_template = "use the plain variable, or give it another name outside the group"


class UnknownStep(QueryError):
    """TIME or EVENT of a GPM that is negated or not in SEQ."""

    code = "SPQ524"
    message_template = "`{call}` needs a pattern that takes an event"
    label_template = "{reason}"
    cure_template = "name a pattern of SEQ that is not negated: {known}"


class TooManyChoices(QueryError):
    """A step whose alternatives combine in more ways than are compiled."""

    code = "SPQ525"
    message_template = "this step can match in {count:,} ways; at most {limit:,} are compiled"
    label_template = "every `|` under `&` multiplies them"
    cure_template = (
        "write alternatives as a UNION inside one GPM, or split the step; `SPASEQ_SETTINGS=max_choices={count}` "
        "compiles it as it is"
    )


# --- window -------------------------------------------------------------------------------------


class EmptyWindow(QueryError):
    """WITHIN 0: a window that holds nothing."""

    code = "SPQ601"
    message_template = "a window of 0 {unit} holds no sequence"
    label_template = "must be at least 1"
    cure_template = "give the window a size, or drop WITHIN for no bound"


class NumberOutOfRange(QueryError):
    """A number larger than the engines can count."""

    code = "SPQ602"
    message_template = "{number} is too large for {what}"
    label_template = "at most {limit}"
    cure_template = "use a smaller number"


class StartNeedsTumbling(QueryError):
    """STARTING AT with a window that has no grid."""

    code = "SPQ603"
    message_template = "STARTING AT places the grid of TUMBLING time windows; this window has none"
    label_template = "only with TUMBLING and a time unit"
    cure_template = "drop STARTING AT, or use a TUMBLING window in a time unit"


class BadStart(QueryError):
    """STARTING AT with something that is not an instant."""

    code = "SPQ604"
    message_template = "STARTING AT needs a dateTime: {reason}"
    label_template = "not an instant"
    cure_template = 'write it as "2024-01-31T12:00:00Z"^^xsd:dateTime'


# --- warnings -----------------------------------------------------------------------------------


class NoWindow(QueryWarning):
    """A query without WITHIN: nothing ever expires, so state grows without bound."""

    code = "SPW101"
    message_template = "the query has no WITHIN, so its state grows without bound"
    label_template = "no window"
    cure_template = "add `WITHIN n MINUTES` (or EVENTS) unless the input is small and finite"


class UnusedStream(QueryWarning):
    """A declared stream that no GPM reads; its events still break strict contiguity."""

    code = "SPW104"
    message_template = "no pattern reads stream `{name}`; its events only count for `,` and EVENTS windows"
    label_template = "never used in ON"
    cure_template = "define a GPM on it, or drop the declaration"


class UnusedPrefix(QueryWarning):
    """A declared prefix that the query does not use."""

    code = "SPW105"
    message_template = "prefix `{name}:` is never used"
    label_template = "never used"
    cure_template = "delete the declaration"
