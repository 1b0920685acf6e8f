"""Facts about the converters: each trap of the data sets, on tables of a few rows."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

from spaseq.errors import InvalidArgument
from spaseq.io.readers import read_graph_events
from spaseq.temporal.instants import format_instant
from spaseq.workloads.catalogue import DATASETS, convert
from spaseq.workloads.converters.source_tables import new_york_offset
from spaseq.workloads.production import write
from spaseq.workloads.selection import Selection

NS = "http://example.org/ns#"
Seen = list[tuple[str, dict[str, str]]]


def table(folder: Path, name: str, text: str) -> None:
    """A table of the data folder, packed if its name says so."""
    raw = "\n".join(line.strip() for line in text.strip().splitlines()).encode() + b"\n"
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)


def stream(folder: Path, dataset: str, name: str, selection: Selection | None = None) -> Seen:
    """The events of a converted stream: times with local names of predicates and values."""
    write(convert(dataset, folder, selection or Selection()), folder / "out")
    return [
        (
            format_instant(event.time),
            {
                t.predicate.value.replace("#", "/").rpartition("/")[2]: getattr(t.object, "value", "")
                for t in event.triples
            },
        )
        for event in read_graph_events(folder / "out" / f"{name}.nq", stream="urn:s")
    ]


def known(folder: Path, name: str) -> set[tuple[str, str, str]]:
    """The triples of a background graph by local names."""
    quads = parse((folder / "out" / f"{name}.ttl").read_bytes(), format=RdfFormat.TURTLE)
    return {tuple(term.value.replace("#", "/").rpartition("/")[2] for term in q.triple) for q in quads}  # type: ignore[misc]


def test_trades_of_one_millisecond_keep_their_order(tmp_path: Path) -> None:
    """The second and third trade of a symbol in a millisecond get a microsecond each; other symbols do not count."""
    head = "symbol,timestamp,price,volume,exchange,sale_condition,suspicious\n"
    rows = [f"{symbol},2013-10-07T09:30:00.019,{price},100,P,1,0" for symbol, price in
            (("BAC", 1), ("IBM", 2), ("BAC", 3), ("BAC", 4))]  # fmt: skip
    table(tmp_path, "stock_ticks_20131007.csv.gz", head + "\n".join(rows))
    seen = stream(tmp_path, "ticks", "stocks")
    assert [(time[11:], said["price"]) for time, said in seen] == [
        ("13:30:00.019Z", "1"),
        ("13:30:00.019Z", "2"),
        ("13:30:00.019001Z", "3"),
        ("13:30:00.019002Z", "4"),
    ]


@pytest.mark.parametrize(
    ("day", "hours"),
    [
        ("2008-03-07", 5),
        ("2008-03-10", 4),
        ("2013-10-07", 4),
        ("2013-11-01", 4),
        ("2013-11-04", 5),
        ("2015-12-28", 5),
    ],
)
def test_new_york_has_summer_time(day: str, hours: int) -> None:
    """From the second Sunday of March to the first Sunday of November."""
    assert new_york_offset(f"{day}T10:00:00") == hours * 3_600_000


def test_a_bar_has_its_close_as_price(tmp_path: Path) -> None:
    """Queries over trades then run over bars."""
    table(
        tmp_path,
        "stock_minute_bars_lean.csv.gz",
        "symbol,timestamp,open,high,low,close,volume\nIBM,2015-12-28T09:30:00,1.0,4.0,0.5,2.0,700",
    )
    ((time, said),) = stream(tmp_path, "bars", "stocks")
    assert time == "2015-12-28T14:30:00Z"
    assert (said["price"], said["open"], said["high"], said["low"], said["volume"]) == (
        "2.0",
        "1.0",
        "4.0",
        "0.5",
        "700",
    )


def test_what_ais_marks_as_not_available_is_left_out(tmp_path: Path) -> None:
    """Heading 511, course 360.0, speed 102.3 and an empty status are no values."""
    table(
        tmp_path,
        "vessel_ais_us_20220103.csv.gz",
        """mmsi,timestamp,lat,lon,sog,cog,heading,nav_status
        1,2022-01-03T00:00:00,29.9,-90.0,102.3,360.0,511,
        1,2022-01-03T00:01:10,29.9,-90.0,10.5,171.5,174,0""",
    )
    table(
        tmp_path,
        "vessel_ais_us_20220103_static_kb.csv.gz",
        "mmsi,vessel_name,imo,call_sign,vessel_type,length,width,draft,transceiver_class\n1,A B,,,30,0,0,0.0,A",
    )
    (_, nothing), (_, all_of_it) = stream(tmp_path, "vessels", "vessels")
    values = {"speedOverGround", "courseOverGround", "heading", "navigationalStatus"}
    assert not values & nothing.keys()
    assert values <= all_of_it.keys()
    assert {("1", "vesselType", "fishing"), ("1", "name", "A B")} <= known(tmp_path, "register")


def test_generation_is_moved_to_the_week_of_the_power_readings(tmp_path: Path) -> None:
    """247 days on and four hours back, from UTC to the local clock of summer; weather outside the week is left out."""
    table(tmp_path, "smarthome_homeC_power_1week.csv.gz", "timestamp,watts\n1338768000,325.2")
    columns = "temperature,humidity,dewpoint,barometer,windspeed,gustspeed,direction,rainlastmin,dailyrain,monthlyrain"
    row = "41.9,86,038.0,30.120,3,5,180,0.000,0.000,0.000,0.000,41.9"
    weather = (
        f"timestamp,{columns},yearlyrain,heatindex\n1335830520,{row}\n1338768060,{row}\n1338768060,{row}"
    )
    table(tmp_path, "smarthome_homeC_weather_3months.csv.gz", weather)
    table(
        tmp_path,
        "smarthome_homeC_generation_1week.csv.gz",
        """timestamp,turbine1_mA,turbine2_mA,panel1_mA,panel2_mA,panel3_mA,battery_volts
        1317427204,3.9,0.0,3.9,3.4,3.9,12.2394
        1317470404,3.9,0.0,3.9,3.4,3.9,12.3
        1317470409,3.9,0.0,3.9,3.4,3.9,-888.88""",
    )
    assert stream(tmp_path, "smart_home", "power")[0][0] == "2012-06-04T00:00:00Z"
    # Two readings of one second stay two events, and digits stay as they are written.
    assert [(time, said["dewPoint"]) for time, said in stream(tmp_path, "smart_home", "weather")] == [
        ("2012-06-04T00:01:00Z", "038.0")
    ] * 2
    storage = stream(tmp_path, "smart_home", "storage")
    assert [time for time, _ in storage] == ["2012-06-04T08:00:04Z", "2012-06-04T08:00:09Z"]
    assert storage[0][1]["batteryVoltage"] == "12.3"
    assert "batteryVoltage" not in storage[1][1]


def test_the_banks_own_bookings_have_their_own_stream(tmp_path: Path) -> None:
    """Fees and standing orders are no withdrawals of the holder; a purpose of one blank is none."""
    table(
        tmp_path,
        "bank_berka_transactions_1993_1994.csv.gz",
        """trans_id,account_id,date,type,operation,amount,balance,k_symbol
        1,9,1993-01-01,PRIJEM,VKLAD,700.00,700.00,
        2,9,1993-01-02,VYDAJ,VYBER,100.00,600.00, \t
        3,9,1993-01-31,VYDAJ,VYBER,14.60,585.40,SLUZBY""",
    )
    table(
        tmp_path,
        "bank_berka_accounts_kb.csv",
        "account_id,district_id,district_name,region,district_inhabitants,district_avg_salary,frequency,opened,"
        "card_type,card_issued\n9,70,Karvina,north Moravia,285387,10177,POPLATEK MESICNE,1993-01-27,gold,",
    )
    assert [said["amount"] for _, said in stream(tmp_path, "berka", "cards")] == ["100.00"]
    bank = [said for _, said in stream(tmp_path, "berka", "bank")]
    assert [(said["direction"], said.get("purpose")) for said in bank] == [
        ("credit", None),
        ("debit", "statement fee"),
    ]
    assert ("9", "cardType", "gold") in known(tmp_path, "holders")


def test_segments_lead_to_those_that_start_where_they_end(tmp_path: Path) -> None:
    """The way back along the same road is an opposite, not a follower."""
    columns = (
        "REPORT_ID,extID,REPORT_NAME,ROAD_TYPE,ORGANISATION,DISTANCE_IN_METERS,DURATION_IN_SEC,NDT_IN_KMH"
    )
    for end in (1, 2):
        columns += "".join(f",POINT_{end}_{part}" for part in
                           ("NAME", "STREET", "STREET_NUMBER", "POSTAL_CODE", "CITY", "LAT", "LNG"))  # fmt: skip
    ends = {"1": ("A", "B"), "2": ("B", "A"), "3": ("B", "C")}
    rows = [
        f"{number},0,road {number},MAJOR_ROAD,COWI,1000,60,60,{a},S,1,8000,Aarhus,56.1,10.1,{b},T,1,8000,Aarhus,56.2,10.2"
        for number, (a, b) in ends.items()
    ]
    table(tmp_path, "aarhus_traffic_segments.csv", "\n".join([columns, *rows]))
    table(
        tmp_path,
        "aarhus_traffic_allsegments_week.csv.gz",
        """REPORT_ID,TIMESTAMP,avgSpeed,vehicleCount,avgMeasuredTime,medianMeasuredTime,status
        1,2014-09-01T00:00:00,72,0,51,51,OK
        2,2014-09-01T00:00:00,72,0,51,52,OK""",
    )
    first, second = (said for _, said in stream(tmp_path, "traffic", "traffic"))
    assert "medianTravelTime" not in first
    assert second["medianTravelTime"] == "52"
    triples = known(tmp_path, "segments")
    assert {t for t in triples if t[1] in ("leadsTo", "oppositeOf")} == {
        ("1", "leadsTo", "3"),
        ("1", "oppositeOf", "2"),
        ("2", "oppositeOf", "1"),
    }


def test_a_selection_cuts_by_time_and_key(tmp_path: Path) -> None:
    """What the bundled extracts are made with."""
    table(
        tmp_path,
        "card_spaseq_sample.csv.gz",
        "seq,card_id,amount\n1,2,28.45\n2,3,68.22\n3,3,267.74\n4,3,1.00",
    )
    begin = 1_704_067_200_000
    chosen = Selection(start=begin + 2000, end=begin + 4000, only=frozenset({"3"}))
    assert [said["amount"] for _, said in stream(tmp_path, "card_sample", "cards", chosen)] == [
        "68.22",
        "267.74",
    ]


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_missing_file_is_named(dataset: str, tmp_path: Path) -> None:
    """With what to do about it."""
    with pytest.raises(InvalidArgument, match="does not exist; --data names the folder"):
        write(convert(dataset, tmp_path, Selection()), tmp_path / "out")


def test_each_file_says_where_it_comes_from(tmp_path: Path) -> None:
    """The source stands in the stream and in the manifest."""
    table(tmp_path, "card_spaseq_sample.csv.gz", "seq,card_id,amount\n1,2,28.45")
    manifest = write(convert("card_sample", tmp_path, Selection()), tmp_path / "out")
    assert "Gillani0/spaseq @ 0664045" in manifest["sources"][0]
    assert "Gillani0/spaseq @ 0664045" in (tmp_path / "out" / "cards.nq").read_text(encoding="utf-8")
