"""How columns write dates and numbers: detection, conversion and its way back."""

from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import DataError, JobError
from incrowd.tables.columns.format_detection import detect_format, may_have_format
from incrowd.tables.columns.formats import (
    ColumnReading,
    DateFormat,
    NumberFormat,
)
from incrowd.tables.columns.normalize import (
    StatedFormats,
    as_written,
    normalize_table,
    read_columns,
)
from incrowd.tables.table import Table
from tiers import examples

PYTHON_FORMATS = {
    "dd.mm.yyyy": "%d.%m.%Y",
    "dd/mm/yyyy": "%d/%m/%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "dd-mm-yyyy": "%d-%m-%Y",
    "mm-dd-yyyy": "%m-%d-%Y",
    "yyyy/mm/dd": "%Y/%m/%d",
    "yyyy.mm.dd": "%Y.%m.%d",
    "dd.mm.yy 1930-2029": "%d.%m.%y",
}


def detected(values, counts=None):
    counts = np.ones(len(values), np.int64) if counts is None else np.array(counts, np.int64)
    found = detect_format(pa.array(values, pa.string()), counts)
    return found.format.text if found.format else None, [way.text for way in found.choices]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["05.03.2024", "31.12.1999"], "dd.mm.yyyy"),
        (["5.3.2024", "31.12.1999"], "d.m.yyyy"),
        (["5.03.2024", "31.12.1999"], "d.mm.yyyy"),
        (["05/03/2024", "25/02/2020"], "dd/mm/yyyy"),
        (["5/3/2024", "2/25/2020"], "m/d/yyyy"),
        (["12-31-2024", "02-03-2020"], "mm-dd-yyyy"),
        (["2024/03/05"], "yyyy/mm/dd"),
        (["05.03.2024 08:15", "06.03.2024 23:59"], "dd.mm.yyyy HH:MM"),
        (["05.03.2024 08:15:01", "06.03.2024"], "dd.mm.yyyy HH:MM:SS"),
        (["5.3.2024 8:15", "6.3.2024 13:00"], "d.m.yyyy H:MM"),
        (["05.03.24", "01.01.99"], "dd.mm.yy 1930-2029"),
        (["01/01/2024", "02/02/2024"], "dd/mm/yyyy"),  # either order says the same
        (["72,5", "80"], "1234,5"),
        (["72,5 kg", "80 kg"], "1234,5 kg"),
        (["1.234,50 €", "12,00 €"], "1.234,5 €"),
        (["€ 1.200,00", "€ 900,50"], "€ 1.234,5"),
        (["1.234.567", "1.234"], "1.234,5"),
        (["1,234.5", "7"], "1,234.5"),
        (["1 234", "12"], "1 234.5"),
        (["1\u202f234,5", "12"], "1\u202f234,5"),
        (["1'234.5", "7"], "1'234.5"),
        (["12%", "3.5%"], "1234.5%"),
    ],
)
def test_formats_are_detected(values, expected):
    assert detected(values) == (expected, [])


@pytest.mark.parametrize(
    "values",
    [
        ["2024-03-05", "2024-03-05T08:15"],
        ["12", "13.5", "1e5"],
        ["1.234", "0.850"],  # no group of thousands begins with 0
        ["1.234", "1.5"],
        ["01067", "80331"],
        ["E11.9", "E10.5"],
        ["10A", "11A"],
        ["Station 1", "Station 2"],
        ["31.02.2024", "30.02.2024"],
        ["1-2", "3-4"],
        [],
    ],
)
def test_plain_values_and_names_have_no_format(values):
    assert detected(values) == (None, [])


@pytest.mark.parametrize(
    ("values", "choices"),
    [
        (["05/03/2024", "01/02/2020"], ["dd/mm/yyyy", "mm/dd/yyyy"]),
        (["5/3/2024", "11/2/2020"], ["d/m/yyyy", "m/d/yyyy"]),
        (["05.03.44", "01.01.99"], ["dd.mm.yy 1930-2029", "dd.mm.yy 1969-2068"]),
        (["1.234", "850"], ["1.234,5", "1234.5"]),
        (["1,234", "12"], ["1,234.5", "1234,5"]),
    ],
)
def test_what_the_values_leave_open_is_not_guessed(values, choices):
    assert detected(values) == (None, choices)


def test_days_and_months_in_both_orders_are_left_open():
    values = ["25/03/2024", *(f"0{day}/04/2024" for day in range(1, 10)), "03/25/2024"]
    assert detected(values, [80, *[1] * 9, 1]) == (None, ["dd/mm/yyyy", "mm/dd/yyyy"])


def test_fewer_than_nine_in_ten_dates_are_no_column_of_dates():
    assert detected(["05.03.2024", "unknown"], [89, 11]) == (None, [])
    assert detected(["05.03.2024", "unknown"], [90, 10]) == ("dd.mm.yyyy", [])


@examples(60)
@given(
    text=st.sampled_from(sorted(PYTHON_FORMATS)),
    days=st.lists(st.dates(date(1930, 1, 1), date(2029, 12, 31)), min_size=1, max_size=30),
    minutes=st.lists(st.integers(0, 24 * 60 - 1), min_size=30, max_size=30),
    has_time=st.booleans(),
)
def test_dates_go_there_and_back_as_strptime_reads_them(text, days, minutes, has_time):
    way, pattern = DateFormat.parse(text), PYTHON_FORMATS[text]
    moments = [
        datetime(day.year, day.month, day.day) + timedelta(minutes=minute)
        for day, minute in zip(days, minutes, strict=False)
    ]
    suffix = " %H:%M" if has_time else ""
    # strftime does not pad years
    written = [
        moment.strftime(pattern.replace("%Y", f"{moment.year:04d}") + suffix) for moment in moments
    ]
    expected = [
        datetime.strptime(cell, pattern + suffix).strftime("%m-%d" + suffix) for cell in written
    ]
    canonical = way.normalize(pa.array(written)).to_pylist()
    assert [cell[5:] for cell in canonical] == expected
    assert [int(cell[:4]) for cell in canonical] == [moment.year for moment in moments]
    assert way.restore(pa.array(canonical)).to_pylist() == written


@examples(60)
@given(
    day=st.integers(0, 32),
    month=st.integers(0, 13),
    year=st.integers(1, 2100),
)
def test_days_that_do_not_exist_are_not_converted(day, month, year):
    cell = f"{day:02d}.{month:02d}.{year:04d}"
    try:
        expected = datetime.strptime(cell, "%d.%m.%Y").date().isoformat()
    except ValueError:
        expected = None
    assert DateFormat.parse("dd.mm.yyyy").normalize(pa.array([cell])).to_pylist() == [expected]


@examples(60)
@given(
    numbers=st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=20),
    thousands=st.sampled_from(["", ".", " ", "'", "\u2009"]),
    unit=st.sampled_from(["", " €", " kg", "%"]),
)
def test_numbers_go_there_and_back(numbers, thousands, unit):
    way = NumberFormat(",", thousands, "", unit)
    written = [
        f"{number:,.2f}".replace(",", "_").replace(".", ",").replace("_", thousands) + unit
        for number in numbers
    ]
    canonical = [f"{number:.2f}" for number in numbers]
    assert way.normalize(pa.array(written)).to_pylist() == canonical
    assert way.restore(pa.array(canonical)).to_pylist() == written
    assert NumberFormat.parse(way.text) == way


@examples(100)
@given(st.lists(st.text("0123456789.,/- €kg:", max_size=12), min_size=1, max_size=12))
def test_any_table_is_restored_to_the_same_text(cells):
    table = Table(pa.table({"x": pa.array([cell or None for cell in cells], pa.string())}))
    read = read_columns(table, ["x"])
    assert as_written(read).equals(table.frame)
    again = normalize_table(table, read.readings)
    assert again.frame.equals(read.frame)
    assert len(set(read.frame.column("x").to_pylist())) == len(set(cells) - {""}) + ("" in cells)


@examples(100)
@given(
    st.lists(
        st.dates(date(1990, 1, 1), date(1999, 12, 31)).map(lambda day: f"{day:%d.%m.%Y}")
        | st.integers(0, 9999).map(lambda number: f"{number / 100:.2f}".replace(".", ","))
        | st.text("0123456789.,/-a", min_size=1, max_size=8),
        min_size=1,
        max_size=12,
        unique=True,
    )
)
def test_a_column_is_never_given_up_that_has_a_format(cells):
    if detected(cells) != (None, []):
        assert may_have_format(pa.chunked_array([pa.array(cells)]))


def test_names_ids_and_plain_values_are_given_up_uncounted():
    for cells in (
        [f"name {number}a" for number in range(50)],
        [str(number) for number in range(50)],
        [f"{number}.25" for number in range(50)],
        [f"2024-01-01 00:00:{number:02d}" for number in range(50)],
    ):
        assert not may_have_format(pa.chunked_array([pa.array(cells)]))


def test_formats_are_stated_as_in_python_too():
    assert DateFormat.parse("%d.%m.%Y %H:%M") == DateFormat.parse("dd.mm.yyyy HH:MM")


@pytest.mark.parametrize("text", ["dd.mm", "dd.mm/yyyy", "ddd.mm.yyyy", "dd.mm.yyyy 1930-2029"])
def test_a_date_format_that_is_none_is_refused(text):
    with pytest.raises(JobError, match="not a date format"):
        DateFormat.parse(text)


@pytest.mark.parametrize("text", ["comma", "1,234,5", "1x234.5"])
def test_a_number_format_that_is_none_is_refused(text):
    with pytest.raises(JobError, match="not a number format"):
        NumberFormat.parse(text)


# ── columns of tables ───────────────────────────────────────────────────────────────────────


def table_of(*cells, missing_values=()):
    column = pa.chunked_array([pa.array(cells[:1], pa.string()), pa.array(cells[1:], pa.string())])
    return Table(pa.table({"x": column}), missing_values=missing_values)


def test_missing_cells_and_tokens_are_never_converted():
    table = table_of("72,5 kg", "80 kg", None, "?", missing_values=("?",))
    read = read_columns(table, ["x"])
    assert read.frame.column("x").to_pylist() == ["72.5", "80", None, "?"]
    assert as_written(read).equals(table.frame)


def test_a_dictionary_stays_one():
    column = pa.array(["05.03.2024", "05.03.2024", None]).dictionary_encode()
    read = read_columns(Table(pa.table({"x": column})), ["x"])
    assert pa.types.is_dictionary(read.frame.schema.field("x").type)
    assert read.frame.column("x").to_pylist() == ["2024-03-05", "2024-03-05", None]
    assert as_written(read).column("x").to_pylist() == ["05.03.2024", "05.03.2024", None]


def test_typed_columns_stay_as_they_are():
    frame = pa.table({"day": pa.array([date(2024, 3, 5)]), "x": [1.5]})
    assert read_columns(Table(frame), ["day", "x"]).frame.equals(frame)


def test_another_way_that_reads_as_the_canonical_one_is_refused_where_it_matters():
    table = table_of(*["05.03.2024"] * 20, "2024-03-06")
    assert read_columns(table, ["x"]).readings == {}
    with pytest.raises(DataError, match=r"1 row \(row 21\) with dates written in another way"):
        read_columns(table, ["x"], needed=["x"])


def test_a_token_that_reads_as_a_number_is_a_conflict():
    table = table_of(*["999 kg"] * 20, "999", missing_values=("999",))
    assert read_columns(table, ["x"]).readings == {}


def test_an_open_format_is_asked_for_by_name():
    table = table_of("05/03/2024", "01/02/2020")
    with pytest.raises(DataError) as caught:
        read_columns(table, ["x"], needed=["x"])
    assert "column 'x'" in caught.value.what
    assert "--date-format x=dd/mm/yyyy" in caught.value.remedy
    assert "--date-format x=mm/dd/yyyy" in caught.value.remedy
    read = read_columns(table, ["x"], StatedFormats({"x": "mm/dd/yyyy"}), needed=["x"])
    assert read.frame.column("x").to_pylist() == ["2024-05-03", "2020-01-02"]


def test_a_stated_format_that_does_not_fit_is_refused_with_rows_and_without_values():
    table = table_of("05.03.2024", "13/25/2024", "06.03.2024", "x")
    with pytest.raises(DataError) as caught:
        read_columns(table, ["x"], StatedFormats({"x": "dd.mm.yyyy"}))
    assert "2 rows (row 2, 4) not written as dd.mm.yyyy" in caught.value.what
    assert "13/25" not in caught.value.what
    assert caught.value.examples == ["13/25/2024", "x"]


def test_a_stated_number_format_takes_the_unit_from_the_values():
    table = table_of("1.200 €", "900 €")
    read = read_columns(table, ["x"], StatedFormats(numbers={"x": "1.234,5"}), needed=["x"])
    assert read.frame.column("x").to_pylist() == ["1200", "900"]
    assert as_written(read).equals(table.frame)
    read = read_columns(table, ["x"], StatedFormats(numbers={"x": "1234.5"}), needed=["x"])
    assert read.frame.column("x").to_pylist() == ["1.200", "900"]


def test_a_column_stated_as_text_stays_as_it_is():
    table = table_of("05/03/2024", "01/02/2020")
    assert read_columns(table, ["x"], StatedFormats({"x": "text"}), needed=["x"]).readings == {}


def test_unfit_cells_stay_and_the_others_are_read():
    table = table_of(*["05.03.2024"] * 20, "soon")
    read = read_columns(table, ["x"], needed=["x"])
    assert read.frame.column("x").to_pylist() == [*["2024-03-05"] * 20, "soon"]
    assert as_written(read).equals(table.frame)


def test_groups_keep_their_labels():
    reading = ColumnReading(DateFormat.parse("dd.mm.yyyy"))
    labels = pa.array(["2024-03", "2024-Q1", "2020-2029", "*", "2024"])
    assert reading.restore(labels).to_pylist() == labels.to_pylist()
    assert reading.normalize(labels).to_pylist() == labels.to_pylist()
