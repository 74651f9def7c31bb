"""Personal k: rules as text, against a reading by hand; columns that hold no k are refused."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.encoding.personal_k import (
    Condition,
    Rule,
    assign_k,
    columns_of_rules,
    first_rule_of_row,
)
from incrowd.errors import DataError, JobError
from incrowd.tables.table import Table

TEXT = """diagnosis,age,marital status,zip,k
HIV,70,single,01001,4
flu,65,married,02002,1
HIV ,12,married,02002,20
,90,single,,2
none,,?,01001,3
"""


def table(text=TEXT, missing_values=("?",)):
    lines = list(csv.reader(io.StringIO(text)))
    columns = {
        name: [line[place] or None for line in lines[1:]] for place, name in enumerate(lines[0])
    }
    return Table(
        pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()}),
        missing_values=missing_values,
    )


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ('20 where diagnosis = "HIV"', [0, 2]),
        ('k = 20 where diagnosis = "HIV"', [0, 2]),
        ("20 WHERE diagnosis='HIV' AND age<65", [2]),
        ("20 where age >= 65", [0, 1, 3]),
        ("20 where age > 65", [0, 3]),
        ("20 where age <= 65", [1, 2]),
        ("20 where age = 65.0", [1]),
        ("20 where age != 65", [0, 2, 3, 4]),
        ('20 where age = ""', [4]),
        ('20 where diagnosis != "HIV"', [1, 3, 4]),
        ('20 where diagnosis = ""', [3]),
        ('20 where diagnosis != ""', [0, 1, 2, 4]),
        ('20 where "marital status" = "?"', [4]),
        ("20 where 'marital status' in (single, \"?\")", [0, 3, 4]),
        ('20 where diagnosis in ("HIV", "flu") and age in (70, 65)', [0, 1]),
        ("20 where zip = 01001", [0, 4]),
        ("20 where zip = 1001", []),
        ("20 where diagnosis = hiv", []),
    ],
)
def test_a_rule_meets_these_rows(rule, rows):
    found = assign_k(table(), 5, None, (rule,))
    assert found.dtype == np.int32
    assert found.tolist() == [20 if row in rows else 5 for row in range(5)]


def test_the_first_rule_that_is_met_counts():
    rules = ("9 where age > 80", '20 where diagnosis = "HIV"', "7 where age > 60")
    assert assign_k(table(), 2, None, rules).tolist() == [20, 7, 20, 9, 2]
    assert first_rule_of_row(table(), rules).tolist() == [1, 2, 1, 0, -1]
    assert columns_of_rules(rules) == ("age", "diagnosis")


def test_a_column_or_one_k_for_all():
    assert assign_k(table(), 6, "k", ()).tolist() == [4, 1, 20, 2, 3]
    assert assign_k(table(), 6, None, ()).tolist() == [6] * 5
    typed = Table(pa.table({"k": pa.array([1.0, 7.0])}))
    assert assign_k(typed, 6, "k").tolist() == [1, 7]
    with pytest.raises(JobError, match="both"):
        assign_k(table(), 6, "k", ("3 where age > 1",))
    for k in (0, 10**9):
        with pytest.raises(JobError):
            assign_k(table(), k)


@pytest.mark.parametrize(
    "cell", ["", "five", "-3", "0", "2.5", "1234567890", "1e3", "?", " 4", "٣"]
)
def test_a_column_without_a_k_everywhere_is_refused(cell):
    wrong = table("\n".join(["k,other", "4,a", f"{cell},b", "3,c", f"{cell},d"]))
    with pytest.raises(DataError) as caught:
        assign_k(wrong, 5, "k")
    assert "2 rows" in caught.value.what
    assert "row 2" in caught.value.what


def test_an_unknown_column_is_refused_with_the_list():
    with pytest.raises(JobError) as caught:
        assign_k(table(), 5, None, ("3 where qqq = 1",))
    assert "k rule 1" in caught.value.what
    assert "diagnosis, age, marital status, zip, k" in caught.value.remedy
    with pytest.raises(JobError, match="'kk'"):
        assign_k(table(), 5, "kk")


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "20",
        "where age > 1",
        "20 if age > 1",
        "0 where age > 1",
        "-4 where age > 1",
        "2.5 where age > 1",
        "1234567890 where age > 1",
        "k 20 where age > 1",
        "20 where",
        "20 where age",
        "20 where age >",
        "20 where age > 1 or age < 0",
        "20 where age > 1 and",
        "20 where age ! 1",
        '20 where diagnosis = "HIV',
        "20 where age in 1, 2",
        "20 where age in ()",
        "20 where age in (1 2)",
        "20 where age in (1, 2",
        "20 where and = 1",
        '20 where "" = 1',
        "20 where marital status = single",
        "20 where diagnosis < 5",
        "20 where zip >= 01001",
        '20 where age = "zq-00017"',
        "20 where age > old",
    ],
)
def test_rules_that_cannot_be_read_are_refused_without_values(rule):
    with pytest.raises(JobError) as caught:
        assign_k(table(), 5, None, ("3 where age = 1", rule))
    assert "k rule 2" in caught.value.what
    assert caught.value.remedy
    assert "HIV" not in caught.value.what
    assert "zq-00017" not in str(caught.value)


@given(
    st.lists(
        st.tuples(
            st.text(min_size=1, max_size=6).filter(str.strip),
            st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
            st.text(max_size=6),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 10**9 - 1),
)
def test_quoted_names_and_values_are_read_as_they_are(parts, k):
    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    text = f"{k} where " + " and ".join(f"{quoted(c)} {o} {quoted(v)}" for c, o, v in parts)
    assert Rule.parse(text) == Rule(k, tuple(Condition(c, o, (v,)) for c, o, v in parts))


def test_typed_columns_compare_as_what_they_are():
    typed = Table(pa.table({"n": pa.array([1, 2, None]), "b": pa.array([True, False, None])}))
    assert assign_k(typed, 2, None, ("5 where n >= 2",)).tolist() == [2, 5, 2]
    assert assign_k(typed, 2, None, ("5 where b = true",)).tolist() == [5, 2, 2]
