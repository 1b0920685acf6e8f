"""What can be wrong with windows, streams, reports and event patterns: SPQ7xx."""

from __future__ import annotations

from spaseq.errors import QueryError, QueryWarning


class UndeclaredWindow(QueryError):
    """`WINDOW` or `EVENT ON` names a window that no `FROM NAMED WINDOW` or `FROM NAMED STREAM` clause declares."""

    code = "SPQ701"
    message_template = "the window {name} is not declared{hint}"
    label_template = "declared here: {known}"
    cure_template = "{cure}"


class WindowDeclaredTwice(QueryError):
    """Two clauses declare a window of the same name."""

    code = "SPQ702"
    message_template = "the window {name} is declared twice"
    label_template = "declared before"
    cure_template = "give one of them another name"


class UnusedWindow(QueryError):
    """A named window that no `WINDOW`, `GRAPH` or `EVENT ON` of the query reads."""

    code = "SPQ703"
    message_template = "the window {name} is never used"
    label_template = "no WINDOW {name} {{ … }} and no EVENT ON {name} {{ … }}"
    cure_template = "read it with one of them, or take the clause out"


class StreamTwice(QueryError):
    """Two `FROM STREAM` or `FROM NAMED STREAM` clauses read the same stream."""

    code = "SPQ704"
    message_template = "the stream {stream} stands in two FROM STREAM clauses"
    label_template = "read before"
    cure_template = "name the windows: FROM NAMED WINDOW <w1> ON {stream} [ … ]"


class WindowVariable(QueryError):
    """`WINDOW` takes the name of a window; windows are not values that a variable could take."""

    code = "SPQ705"
    message_template = "WINDOW takes a name, not the variable ?{variable}"
    label_template = "a variable"
    cure_template = (
        "write one WINDOW for each window, joined by UNION; GRAPH ?{variable} ranges over background graphs"
    )


class StepOfAnotherKind(QueryError):
    """The size and the step of a window count different things, such as seconds and events."""

    code = "SPQ706"
    message_template = "RANGE counts {size}, but STEP counts {step}"
    label_template = "counts {step}"
    cure_template = "let both count the same thing; a step without unit counts what RANGE counts"


class DefaultGraphEmpty(QueryError):
    """A triple pattern reads the default graph, but no clause puts anything there."""

    code = "SPQ707"
    message_template = "this triple pattern reads the default graph, which nothing fills"
    label_template = "outside WINDOW and GRAPH"
    cure_template = "put it inside WINDOW {example} {{ … }}, or fill the default graph with FROM STREAM <s> or FROM <graph>"


class NoWindowCloses(QueryError):
    """`REPORT ON WINDOW CLOSE` in a query none of whose windows has a step, so none ever closes."""

    code = "SPQ708"
    message_template = "no window closes, since none has a STEP"
    label_template = "never happens"
    cure_template = "give a window a step, as in [RANGE 10s STEP 5s], or write REPORT ON CONTENT CHANGE"


class SeveralSteps(QueryError):
    """`W1 OF W2` with a step in more than one of the windows: it would close at no definite instants."""

    code = "SPQ709"
    message_template = "only one window of W1 OF W2 may have a STEP"
    label_template = "another one"
    cure_template = "take this step out"


class CountedStepInside(QueryError):
    """`W1 OF W2` in which a window that counts events or triples has a step but is not the last one."""

    code = "SPQ710"
    message_template = "a window that counts {unit} in steps must be the last of W1 OF W2"
    label_template = "counts what another window holds, which changes between steps"
    cure_template = "take the step out, or write this window last"


class LengthNotPositive(QueryError):
    """A length of time that is zero, negative, or less than a microsecond."""

    code = "SPQ711"
    message_template = "`{text}` is not a positive length of time"
    label_template = "at least a microsecond"
    cure_template = "write a length such as 10s, 500ms or PT10S"


class BadLength(QueryError):
    """A text that is not a length of time; years and months have none."""

    code = "SPQ712"
    message_template = "`{text}` is not a length of time: {reason}"
    label_template = "not a length"
    cure_template = 'write a number with a unit (ms, s, m, h, d), PT10S or "PT10S"^^xsd:duration'


class BadInstant(QueryError):
    """A text that is not an instant."""

    code = "SPQ713"
    message_template = "`{text}` is not an instant: {reason}"
    label_template = "not an instant"
    cure_template = 'write "2024-01-31T12:00:00Z" or a number of seconds since 1970'


class BadCount(QueryError):
    """A number of events or triples that is not a whole number from 1 on, of at most 18 digits."""

    code = "SPQ714"
    message_template = "`{text}` is not a number of {unit}"
    label_template = "a whole number from 1 on, of at most 18 digits"
    cure_template = "write for example RANGE 100 {upper}"


class UndeclaredEvent(QueryError):
    """`MATCH` names an event that no `EVENT` clause declares."""

    code = "SPQ715"
    message_template = "the event `{name}` is not declared{hint}"
    label_template = "declared here: {known}"
    cure_template = "declare it before WHERE: EVENT ON <window> {{ … }} AS {name}"


class EventDeclaredTwice(QueryError):
    """Two `EVENT` clauses have the same name."""

    code = "SPQ716"
    message_template = "the event `{name}` is declared twice"
    label_template = "declared before"
    cure_template = "give one of them another name; one name may stand several times in MATCH"


class UnusedEvent(QueryError):
    """An event that no `MATCH` of the query names."""

    code = "SPQ717"
    message_template = "the event `{name}` is never used"
    label_template = "no MATCH names it"
    cure_template = "name it in MATCH {{ … }}, or take the clause out"


class MisplacedInEvent(QueryError):
    """The pattern of an event reads the graph of one event; windows, other events and the evaluation's instant are not seen from there."""

    code = "SPQ718"
    message_template = "{word} cannot stand inside the pattern of the event `{event}`"
    label_template = "the pattern reads one event"
    cure_template = (
        "put it into WHERE, beside MATCH {{ … }}; GRAPH with the name of a background graph may stand here"
    )


class MisplacedNot(QueryError):
    """`NOT` says what must not happen between two events, so it stands between two `SEQ`."""

    code = "SPQ719"
    message_template = "NOT stands between two events in sequence only"
    label_template = "{label}"
    cure_template = "write E1 SEQ NOT E2 SEQ E3"


class NotInMatch(QueryError):
    """`MATCH` holds names of events, and the words and parentheses that join them."""

    code = "SPQ720"
    message_template = "{found} cannot stand at this place in MATCH"
    label_template = "expected {expected}"
    cure_template = "{cure}"


class UnknownSelection(QueryError):
    """A letter after `SEQ^` that names no policy."""

    code = "SPQ721"
    message_template = "SEQ^{text} is not a policy"
    label_template = "not n, c or r"
    cure_template = "write SEQ^n for SEQ NAIVE, SEQ^c for SEQ CHRONOLOGICAL or SEQ^r for SEQ RECENT"


class NotConsumable(QueryError):
    """With `CONSUME` the triples that a solution used must be known, and only triple patterns say which those are."""

    code = "SPQ722"
    message_template = (
        "CONSUME allows only triple patterns and FILTER in the pattern of an event, not {found}"
    )
    label_template = "which triples this uses is not defined"
    cure_template = "write the pattern of `{event}` without it, or take CONSUME out"


class KeyNotBound(QueryError):
    """`SEQ PARTITION ?k` where no event of the `MATCH` has `?k` in a triple pattern: no event has such a key."""

    code = "SPQ723"
    message_template = "no event of this MATCH has ?{variable} in a triple pattern"
    label_template = "not a key of these events"
    cure_template = "let the EVENT patterns on either side bind ?{variable}, or write SEQ STRICT"


class ConsumeWithoutMatch(QueryError):
    """`CONSUME` in a query without `MATCH`, where nothing is consumed."""

    code = "SPQ724"
    message_template = "CONSUME says what MATCH uses up, and this query has no MATCH"
    label_template = "nothing is consumed"
    cure_template = "take it out, or ask with MATCH {{ … }} for a sequence of events"


class ProfileNeedsStep(QueryError):
    """A profile of C-SPARQL over a window that does not close in steps of time, as all windows of that engine do."""

    code = "SPQ725"
    message_template = "the profile {profile} needs [RANGE … STEP …] in time on every window"
    label_template = "never closes, or counts something else"
    cure_template = "write a window such as [RANGE 10s STEP 5s], or use a profile of EP-SPARQL"


class ProfileWithout(QueryError):
    """A profile of an engine that does not have an operator of the query."""

    code = "SPQ726"
    message_template = "the profile {profile} has no {word}"
    label_template = "{word} stands here"
    cure_template = "take {word} out, or use a profile of EP-SPARQL"


class StreamAsGraph(QueryError):
    """`GRAPH` names a stream whose window has no name, since `FROM STREAM` feeds the default graph."""

    code = "SPQ727"
    message_template = "GRAPH {name} reads no window, since FROM STREAM {name} feeds the default graph"
    label_template = "neither a window nor a background graph of the query"
    cure_template = "write FROM NAMED STREAM {name}, or take GRAPH {name} out; FROM NAMED {name} declares a background graph"


class EndBeforeStart(QueryError):
    """A window `FROM … TO …` that ends before it begins: it would always be empty."""

    code = "SPQ728"
    message_template = "the window ends before it begins"
    label_template = "holds nothing"
    cure_template = "write the earlier instant first: {turned}"


class GrowingMatch(QueryWarning):
    """`MATCH` over a window that drops nothing, in a query that consumes nothing: its state grows with the stream."""

    code = "SPW701"
    message_template = (
        "`{event}` reads everything so far: the state of MATCH grows as long as the stream does"
    )
    label_template = "the window drops nothing, and nothing is consumed"
    cure_template = "give the window a RANGE, or write CONSUME CHRONOLOGICAL or CONSUME RECENT"
