"""What can be wrong with windows, streams and reports: SPQ7xx."""

from __future__ import annotations

from spaseq.errors import QueryError


class UndeclaredWindow(QueryError):
    """`WINDOW` names a window that no `FROM NAMED WINDOW` or `FROM NAMED STREAM` clause declares."""

    code = "SPQ701"
    message_template = "the window {name} is not declared{hint}"
    label_template = "declared here: {known}"
    cure_template = (
        "add FROM NAMED WINDOW {name} ON <stream> [RANGE 10s STEP 5s], or use GRAPH for a background graph"
    )


class WindowDeclaredTwice(QueryError):
    """Two clauses declare a window of the same name."""

    code = "SPQ702"
    message_template = "the window {name} is declared twice"
    label_template = "declared before"
    cure_template = "give one of them another name"


class UnusedWindow(QueryError):
    """A named window that no `WINDOW` or `GRAPH` of the query reads."""

    code = "SPQ703"
    message_template = "the window {name} is never used"
    label_template = "no WINDOW {name} {{ … }} in WHERE"
    cure_template = "read it with WINDOW {name} {{ … }}, or take the clause out"


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
    """A number of events or triples that is not a whole number from 1 on."""

    code = "SPQ714"
    message_template = "`{text}` is not a number of {unit}"
    label_template = "a whole number from 1 on"
    cure_template = "write for example RANGE 100 {upper}"
