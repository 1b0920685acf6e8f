"""`lubm`: the Lehigh University Benchmark as a stream, one entity per event.

The schema is Univ-Bench's: its classes, and the 18 predicates of the data set (16 of `univ-bench.owl`, `rdf:type`
and `owl:imports`), with the ratios of the benchmark's own generator (Guo, Pan, Heflin: LUBM, 2005): 15 to 25
departments to a university, 30 to 42 members of faculty to a department, 8 to 14 undergraduates and 3 to 4
graduates to each of them. Universities follow one another for as long as events are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Final

from spaseq.workloads.generation_plan import Dice, Plan
from spaseq.workloads.production import BackgroundGraph, Hint, ProducedStream, Production
from spaseq.workloads.terms import A, name, string
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

KEYS_ARE: Final = "universities"
KEYS: Final = 1000
"""From how many universities members of faculty and graduates may have their degrees."""
INTERVAL: Final = 100

STREAM: Final = ProducedStream(
    "lubm", "http://example.org/streams/lubm", "entities of universities, one event each"
)
KNOWLEDGE: Final = "http://example.org/lubm/ontology"
ONTOLOGY: Final = "<http://swat.cse.lehigh.edu/onto/univ-bench.owl>"
IMPORTS: Final = name("owl:imports")

FACULTY: Final = (
    ("FullProfessor", (7, 10), (15, 20)),
    ("AssociateProfessor", (10, 14), (10, 18)),
    ("AssistantProfessor", (8, 11), (5, 10)),
    ("Lecturer", (5, 7), (0, 5)),
)
"""The ranks: how many a department has, and how many publications each of them."""
DEPARTMENTS, COURSES, GROUPS = (15, 25), (1, 2), (10, 20)
UNDERGRADUATES, GRADUATES = (8, 14), (3, 4)
INTERESTS: Final = 30

SUBCLASSES: Final = {
    "University": "Organization", "Department": "Organization", "ResearchGroup": "Organization",
    "Employee": "Person", "Faculty": "Employee", "Professor": "Faculty", "FullProfessor": "Professor",
    "AssociateProfessor": "Professor", "AssistantProfessor": "Professor", "Lecturer": "Faculty",
    "Student": "Person", "UndergraduateStudent": "Student", "GraduateStudent": "Person",
    "TeachingAssistant": "Person", "ResearchAssistant": "Person",
    "Course": "Work", "GraduateCourse": "Course", "Publication": "Work",
}  # fmt: skip
SUBPROPERTIES: Final = {
    "headOf": "worksFor", "worksFor": "memberOf", "undergraduateDegreeFrom": "degreeFrom",
    "mastersDegreeFrom": "degreeFrom", "doctoralDegreeFrom": "degreeFrom",
}  # fmt: skip

TAUGHT: Final = """\
PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>
SELECT ?professor ?student ?course
WITHIN 10 MINUTES
FROM STREAM lubm <http://example.org/streams/lubm>
WHERE {
  SEQ (A ; B)
  DEFINE GPM A ON lubm { ?professor a ub:FullProfessor ; ub:teacherOf ?course }
  DEFINE GPM B ON lubm { ?student ub:advisor ?professor ; ub:takesCourse ?course }
}
"""


def ub(local: str) -> str:
    """A term of univ-bench.owl."""
    return name(f"ub:{local}")


@dataclass(slots=True)
class Department:
    """What later entities of a department refer to."""

    iri: str
    host: str
    university: str
    professors: list[str] = field(default_factory=list)
    authors: list[tuple[str, int]] = field(default_factory=list)
    courses: list[str] = field(default_factory=list)
    graduate_courses: list[str] = field(default_factory=list)

    def member(self, local: str) -> str:
        """The IRI of something in this department."""
        return f"<http://{self.host}/{local}>"


def produce(plan: Plan) -> Production:
    """The stream of entities and the ontology as a background graph."""
    return Production(
        name="lubm",
        about="spaseq generate lubm: the Lehigh University Benchmark as a stream of entities",
        streams=(STREAM,),
        events=_events(plan),
        background=(
            BackgroundGraph(
                "univ-bench", KNOWLEDGE, "the class and property tree of univ-bench.owl", _tree(plan)
            ),
        ),
        hints=(Hint("students who take a course of the professor who advises them", TAUGHT),),
        settings=plan.settings(KEYS_ARE),
    )


def _events(plan: Plan) -> Iterator[StreamEvent]:
    clock = Clock()
    for number, (subject, described) in enumerate(islice(_entities(plan), plan.events)):
        stamp = clock.stamp(plan.instant(number))
        # The graph has its own name, as entities are named by others' events too.
        graph = f"<http://example.org/lubm/event/{number}>"
        text = event_text(graph, stamp, ()) + "".join(
            [f"{subject} {predicate} {obj} {graph} .\n" for predicate, obj in described]
        )
        yield StreamEvent("lubm", text)


def _entities(plan: Plan) -> Iterator[Subject]:
    dice = Dice(plan.seed)
    for number in count():
        university = f"<http://www.University{number}.edu>"
        yield university, [(A, ub("University")), (ub("name"), string(f"University{number}"))]
        for index in range(dice.between(*DEPARTMENTS)):
            host = f"www.Department{index}.University{number}.edu"
            department = Department(f"<http://{host}>", host, university)
            yield from _department(dice, plan, department, index)


def _department(dice: Dice, plan: Plan, department: Department, index: int) -> Iterator[Subject]:
    yield (
        department.iri,
        [
            (A, ub("Department")),
            (IMPORTS, ONTOLOGY),
            (ub("name"), string(f"Department{index}")),
            (ub("subOrganizationOf"), department.university),
        ],
    )
    for rank, numbers, publications in FACULTY:
        for each in range(dice.between(*numbers)):
            yield _member_of_faculty(dice, plan, department, (rank, each), dice.between(*publications))
    for kind, courses in (("Course", department.courses), ("GraduateCourse", department.graduate_courses)):
        for each, course in enumerate(courses):
            yield course, [(A, ub(kind)), (ub("name"), string(f"{kind}{each}"))]
    faculty = len(department.authors)
    for each in range(dice.between(UNDERGRADUATES[0] * faculty, UNDERGRADUATES[1] * faculty)):
        yield _undergraduate(dice, department, each)
    graduates = dice.between(GRADUATES[0] * faculty, GRADUATES[1] * faculty)
    for each in range(graduates):
        yield _graduate(dice, plan, department, each)
    yield from _publications(dice, department, graduates)
    for each in range(dice.between(*GROUPS)):
        group = department.member(f"ResearchGroup{each}")
        yield group, [(A, ub("ResearchGroup")), (ub("subOrganizationOf"), department.iri)]


def _person(department: Department, kind: str, number: int) -> list[tuple[str, str]]:
    """The triples of every person: class, name, address and telephone."""
    label = f"{kind}{number}"
    return [
        (A, ub(kind)),
        (ub("name"), string(label)),
        (ub("emailAddress"), string(f"{label}@{department.host[4:]}")),
        (ub("telephone"), string("xxx-xxx-xxxx")),
    ]


def _member_of_faculty(
    dice: Dice, plan: Plan, department: Department, who: tuple[str, int], publications: int
) -> Subject:
    rank, number = who
    person = department.member(f"{rank}{number}")
    said = _person(department, rank, number)
    said += [(ub(degree), _university(dice, plan)) for degree in ("undergraduateDegreeFrom", "mastersDegreeFrom",
                                                                  "doctoralDegreeFrom")]  # fmt: skip
    said.append((ub("worksFor"), department.iri))
    if rank == "FullProfessor" and number == 0:
        said.append((ub("headOf"), department.iri))
    if rank != "Lecturer":
        said.append((ub("researchInterest"), string(f"Research{dice.below(INTERESTS)}")))
        department.professors.append(person)
    for kind, courses in (("Course", department.courses), ("GraduateCourse", department.graduate_courses)):
        for _ in range(dice.between(*COURSES)):
            courses.append(department.member(f"{kind}{len(courses)}"))
            said.append((ub("teacherOf"), courses[-1]))
    department.authors.append((person, publications))
    return person, said


def _undergraduate(dice: Dice, department: Department, number: int) -> Subject:
    said = _person(department, "UndergraduateStudent", number)
    said.append((ub("memberOf"), department.iri))
    said += [(ub("takesCourse"), course) for course in _some(dice, department.courses, dice.between(2, 4))]
    if dice.chance(20):
        said.append((ub("advisor"), department.professors[dice.below(len(department.professors))]))
    return department.member(f"UndergraduateStudent{number}"), said


def _graduate(dice: Dice, plan: Plan, department: Department, number: int) -> Subject:
    said = _person(department, "GraduateStudent", number)
    said.append((ub("memberOf"), department.iri))
    said.append((ub("undergraduateDegreeFrom"), _university(dice, plan)))
    taken = _some(dice, department.graduate_courses, dice.between(1, 3))
    said += [(ub("takesCourse"), course) for course in taken]
    said.append((ub("advisor"), department.professors[dice.below(len(department.professors))]))
    # One in four or five assists in teaching, one in three or four in research.
    part = dice.below(100)
    if part < 22:
        said.append((A, ub("TeachingAssistant")))
        said.append((ub("teachingAssistantOf"), department.courses[dice.below(len(department.courses))]))
    elif part < 51:
        said.append((A, ub("ResearchAssistant")))
    return department.member(f"GraduateStudent{number}"), said


def _publications(dice: Dice, department: Department, graduates: int) -> Iterator[Subject]:
    for author, publications in department.authors:
        for number in range(publications):
            said = [
                (A, ub("Publication")),
                (ub("name"), string(f"Publication{number}")),
                (ub("publicationAuthor"), author),
            ]
            if dice.chance(50):
                student = department.member(f"GraduateStudent{dice.below(graduates)}")
                said.append((ub("publicationAuthor"), student))
            yield f"{author[:-1]}/Publication{number}>", said


def _university(dice: Dice, plan: Plan) -> str:
    return f"<http://www.University{dice.below(plan.keys)}.edu>"


def _some(dice: Dice, things: list[str], number: int) -> list[str]:
    """Different members of a list, in the order in which they were drawn."""
    return list(dict.fromkeys(things[dice.below(len(things))] for _ in range(number)))


def _tree(plan: Plan) -> Iterator[Subject]:
    triples = 0
    for below, above in SUBCLASSES.items():
        triples += 2
        yield ub(below), [(A, name("owl:Class")), (name("rdfs:subClassOf"), ub(above))]
    for below, above in SUBPROPERTIES.items():
        triples += 2
        yield ub(below), [(A, name("owl:ObjectProperty")), (name("rdfs:subPropertyOf"), ub(above))]
    for number in count():
        if triples >= plan.background_triples:
            return
        triples += 2
        yield (
            f"<http://www.University{number}.edu>",
            [(A, ub("University")), (ub("name"), string(f"University{number}"))],
        )
