"""CityBench's questions over real data: the answers are known, in both spellings."""

from __future__ import annotations

import pytest
from pyoxigraph import parse

import spaseq
from spaseq.planner.compiled import compile_query
from spaseq.testing import reference_host
from support.citybench import ANSWERS, FOLDER, SPELLINGS, digest, events_of, file_of, graphs, question

REPOSITORY = "http://127.0.0.1:9000/WebGlCity/RDF/"
NAMES = {
    "ssn": "http://purl.oclc.org/NET/ssnx/ssn#",
    "sao": "http://purl.oclc.org/NET/sao/",
    "ct": "http://www.insight-centre.org/citytraffic#",
    "at": "http://www.insight-centre.org/dataset/SampleEventService#Aarhus",
    "user": "http://www.insight-centre.org/dataset/SampleEventService#UserLocationService",
    "rdf": REPOSITORY,
}


@pytest.mark.parametrize("number", ANSWERS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_question_has_the_answers_that_are_on_its_page(number: int, spelling: str) -> None:
    """As RSP-QL and as C-SPARQL, from the bundled extract."""
    query = question(number, spelling)
    streams = {stream.iri: file_of(stream.iri) for stream in query.streams}
    known = {iri: graph for iri, graph in graphs().items() if iri in query.knowledge[0]}
    assert digest(spaseq.run(query, streams, known)) == ANSWERS[number]


ROAD = "{?ob%s a ?kind.\n?ob%s <ssn:observedProperty> ?p%s.\n?ob%s <sao:hasValue> ?v%s.\n?ob%s <ssn:observedBy> <at:%s>.\n}\n"
ORIGINAL_FORMS = {
    "a comment inside of the selection, a class that joins, an average": """
select ?ob1  ?ob2 #?v1
   (((?v1+?v2)/2) as ?middle)
 FROM <rdf:SensorRepository.rdf>
from stream <at:TrafficData182955> [range 3s step 1s]
from  stream <at:TrafficData158505> [range 3000ms step 1s]
where {
{?p1   a <ct:CongestionLevel>.}
{?p2   a <ct:CongestionLevel>. }
"""
    + ROAD % (*"111111", "TrafficData182955")
    + ROAD % (*"222222", "TrafficData158505")
    + "}",
    "patterns that share no variable": """select ?v1 ?v2 ?v3 ?v4
FROM <rdf:SensorRepository.rdf>
FROM stream <at:WeatherData0> [range 3s step 1s]
FROM stream <at:TrafficData158505> [range 3s step 1s]
where {
?p1   a <ct:Temperature>.
?p2   a <ct:Humidity>.
?p3   a <ct:WindSpeed>.
?p4   a <ct:CongestionLevel>.
"""
    + "".join(ROAD % (*str(n) * 6, "WeatherData0") for n in (1, 2, 3))
    + ROAD % (*"444444", "TrafficData158505")
    + "}",
    "a position that is a value, and a distance": """
select ?ob1 ?ob2 ?lat1 ?lat2
from <rdf:SensorRepository.rdf>
from stream <at:ParkingDataKALKVAERKSVEJ> [range 20s step 1s]
from stream <user> [range 3000ms step 1s]
where {
?p1   a <ct:ParkingVacancy>.
?p1 <ssn:isPropertyOf> ?foi1.
?foi1 <ct:hasStartLatitude> ?lat1.
?foi1 <ct:hasStartLongitude> ?lon1.
"""
    + ROAD % (*"111111", "ParkingDataKALKVAERKSVEJ")
    + """{?ob2 a ?kind.
?ob2 <sao:hasValue> ?v2.
?v2 <ct:hasLatitude> ?lat2.
?v2 <ct:hasLongitude> ?lon2.
?ob2 <ssn:observedBy> <user>.
}
Filter (((?lat2-?lat1)*(?lat2-?lat1)+(?lon2-?lon1)*(?lon2-?lon1)) < 99)
}""",
    "events of the background beside two garages": """
select ?title ?v1 ?v2
from <rdf:SensorRepository.rdf>
from <rdf:AarhusCulturalEvents.rdf>
from stream <at:ParkingDataKALKVAERKSVEJ> [range 3s step 1s]
from stream <at:ParkingDataSKOLEBAKKEN> [range 3s step 1s]
where {
?p1   a <ct:ParkingVacancy>.
?p2   a <ct:ParkingVacancy>.
{
?event a ?kind.
?event <ssn:featureOfInterest> ?foi.
?foi <ct:hasFirstNode> ?node.
?node <ct:hasLatitude> ?lat1.
?event <sao:value> ?title.
}
"""
    + ROAD % (*"111111", "ParkingDataKALKVAERKSVEJ")
    + ROAD % (*"222222", "ParkingDataSKOLEBAKKEN")
    + "Filter(?v1 > 0 || ?v2 > 0)\n}",
    "a question with a comment before it": """### the weather is silent
Ask
from stream <at:WeatherData0> [range 3s step 1s]
where {
"""
    + ROAD % (*"111111", "WeatherData0")
    + "Filter (!bound(?ob1))\n}",
    "a group by what is not selected": """select (count(?ob1) as ?many)
  from <rdf:SensorRepository.rdf>
  from stream <at:TrafficData186979> [range 3000ms step 1s]
where {
?p1   a <ct:CongestionLevel>.
{?ob1 a ?kind.
?ob1 <ssn:observedProperty> ?p1.
?ob1 <sao:hasValue> ?v1.
?ob1 <ssn:observedBy> ?service1.
}
Filter(?v1 >= -1)
}
group by ?service1

having (count(?ob1) > 0)""",
}


@pytest.mark.parametrize("form", ORIGINAL_FORMS)
def test_texts_in_the_form_of_the_benchmark_run_as_they_are(form: str) -> None:
    """Small letters, no REGISTER, whole IRIs, names of the repository's graphs: as written there, over ten minutes of data."""
    text = ORIGINAL_FORMS[form]
    for short, whole in NAMES.items():
        text = text.replace(f"<{short}:", f"<{whole}").replace(f"<{short}>", f"<{whole}>")
    query = compile_query(text, name="original.csparql")
    files = ("sensors.ttl", "cultural-events.ttl")
    known = dict(zip(("SensorRepository.rdf", "AarhusCulturalEvents.rdf"), files, strict=True))
    background = {
        REPOSITORY + name: frozenset(quad.triple for quad in parse(path=FOLDER / file))
        for name, file in known.items()
    }
    events = tuple(
        event
        for stream in query.streams
        for event in events_of(stream.iri)
        if event.time < 1_409_547_600_000_000 + 600_000_000
    )
    engine = spaseq.Engine(query, knowledge=background, compile_kernels=False)
    found = [*engine.push(sorted(events, key=lambda event: event.time)), *engine.finish()]
    assert digest(found) == digest(reference_host.run(query, events, background))
    assert found
