"""What a released table gives away beside its quasi-identifying columns."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.guarantees.tables.counts import FrameCounts
from incrowd.guarantees.tables.leaks import find_table_leaks, insensitive_leaks
from incrowd.guarantees.tables.row_order import is_in_canonical_order
from tiers import examples


def people(n_rows=200, seed=1):
    """A table of people in no particular order."""
    rng = random.Random(seed)
    return pa.table(
        {
            "age": [str(rng.randrange(20, 80)) for _ in range(n_rows)],
            "zip": [rng.choice(["10115", "10117", "20095"]) for _ in range(n_rows)],
            "ill": [rng.choice(["flu", "cold", "none", "asthma"]) for _ in range(n_rows)],
            "ward": [rng.choice("ABCD") for _ in range(n_rows)],
        }
    )


def found(findings, name):
    matching = [finding for finding in findings if finding.name == name]
    assert matching, [finding.name for finding in findings]
    return matching[0]


def leaks(table, insensitive=("ward",), **more):
    return find_table_leaks(table, ("age", "zip"), ("ill",), insensitive, **more)


def test_columns_may_have_any_name():
    renamed = people().rename_columns(["n", "len", "c0", "c1"])
    findings = find_table_leaks(renamed, ("n", "len"), ("c0",), ("c1",))
    expected = leaks(people())
    assert [finding.holds for finding in findings] == [finding.holds for finding in expected]


def test_a_harmless_table():
    findings = leaks(people().sort_by([(name, "ascending") for name in people().column_names]))
    assert all(finding.holds for finding in findings)
    assert {finding.name for finding in findings} == {
        "row numbers",
        "unique rows",
        "stand-in",
        "canonical order",
    }


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_column_that_numbers_the_rows(shuffled, as_text):
    table = people()
    numbers = list(range(7, 207))
    if shuffled:
        random.Random(0).shuffle(numbers)
    table = table.append_column("no", pa.array([str(n) if as_text else n for n in numbers]))
    finding = found(leaks(table, ("ward", "no")), "row numbers")
    assert finding.holds is False
    assert finding.figures["numbering"] == ["no"]
    assert finding.exposed_rows == tuple(range(1, 21))


def test_a_numbering_called_sensitive_is_still_one():
    table = people().append_column("no", pa.array(range(200)))
    findings = find_table_leaks(table, ("age", "zip"), ("ill", "no"), ("ward",))
    assert found(findings, "row numbers").holds is False


def test_a_sensitive_column_that_differs_in_every_row_only_informs():
    table = people().append_column("wage", pa.array([n * n for n in range(200)]))
    finding = found(find_table_leaks(table, ("age",), ("wage",), ("ward",)), "row numbers")
    assert finding.holds is None
    assert finding.figures["differing_sensitive"] == ["wage"]


def test_an_insensitive_column_that_differs_in_every_row():
    table = people().append_column("code", pa.array([f"c{n * 7}" for n in range(200)]))
    findings = leaks(table, ("ward", "code"))
    assert found(findings, "row numbers").figures["differing"] == ["code"]
    assert found(findings, "unique rows").figures["n_exposed"] == 200


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["1", "2", None])), min_size=1))
def test_unique_rows_are_counted(pairs):
    table = pa.table(
        {
            "q": ["x"] * len(pairs),
            "a": [a for a, _ in pairs],
            "b": pa.array([b for _, b in pairs], pa.string()),
        }
    )
    finding = found(insensitive_leaks(FrameCounts(table), ("q",), ("a", "b")), "unique rows")
    counts = Counter(pairs)
    alone = [row for row, pair in enumerate(pairs, 1) if counts[pair] == 1]
    assert finding.figures["n_exposed"] == len(alone)
    assert list(finding.exposed_rows) == alone[:20]
    assert finding.holds is (not alone)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2", "3", "*", None])),
        min_size=1,
        max_size=40,
    )
)
def test_stand_ins_are_measured_by_guessing(pairs):
    table = pa.table(
        {"a": [a for a, _ in pairs], "q": pa.array([q for _, q in pairs], pa.string())}
    )
    findings = [
        f for f in insensitive_leaks(FrameCounts(table), ("q",), ("a",)) if f.name == "stand-in"
    ]
    shown = [(a, q) for a, q in pairs if q not in ("*", None)]
    values = defaultdict(Counter)
    for a, q in shown:
        values[a][q] += 1
    right = sum(max(counter.values()) for counter in values.values())
    commonest = max(Counter(q for _, q in shown).values(), default=0)
    gives_away = (
        bool(shown)
        and commonest < len(shown)
        and right >= 0.95 * len(shown)
        and (right - commonest) >= 0.5 * (len(shown) - commonest)
    )
    assert [finding.holds for finding in findings] == [not gives_away]


def test_a_column_that_stands_in_for_another():
    table = people()
    towns = {"10115": "Mitte", "10117": "Mitte-Süd", "20095": "Hamburg"}
    table = table.append_column("town", pa.array([towns[z] for z in table["zip"].to_pylist()]))
    findings = insensitive_leaks(FrameCounts(table), ("age", "zip"), ("ward", "town"))
    finding = found(findings, "stand-in")
    assert finding.holds is False
    assert finding.figures["quasi"] == "zip"
    assert finding.figures["columns"] == ["town"]
    assert "Mitte" not in finding.summary
    accepted = insensitive_leaks(
        FrameCounts(table), ("age", "zip"), ("ward", "town"), accepted=("town",)
    )
    assert all(finding.holds is not False for finding in accepted)
    assert found(accepted, "stand-in").holds is None


def test_columns_that_stand_in_only_together():
    rng = random.Random(5)
    pairs = [(rng.randrange(2), rng.randrange(2)) for _ in range(100)]
    table = pa.table(
        {
            "zip": [str(a ^ b) for a, b in pairs],
            "one": [str(a) for a, _ in pairs],
            "two": [str(b) for _, b in pairs],
        }
    )
    finding = found(insensitive_leaks(FrameCounts(table), ("zip",), ("one", "two")), "stand-in")
    assert finding.holds is False
    assert finding.figures["columns"] == ["one", "two"]


def test_a_common_value_is_not_given_away():
    """A guess that is right anyway gives nothing away."""
    rows = [("A", "yes")] * 97 + [("B", "no")] * 1 + [("B", "yes")] * 2
    table = pa.table({"ward": [a for a, _ in rows], "zip": [b for _, b in rows]})
    assert found(insensitive_leaks(FrameCounts(table), ("zip",), ("ward",)), "stand-in").holds


def test_accepted_columns_inform():
    table = people(30)
    table = table.append_column("code", pa.array([f"c{n}" for n in range(30)]))
    findings = insensitive_leaks(FrameCounts(table), ("age", "zip"), ("code",), accepted=("code",))
    assert found(findings, "unique rows").holds is None
    assert all(finding.holds is not False for finding in findings)


def test_order_kept_from_the_original():
    original = people()
    released = original.set_column(0, "age", pa.array(["*"] * 200))
    finding = found(leaks(released, original=original), "row order")
    assert finding.holds is False
    assert not finding.is_public
    assert "ill" in finding.figures["kept_in"]
    mixed = released.take(random.Random(3).sample(range(200), 200))
    assert found(leaks(mixed, original=original), "row order").holds


def test_order_kept_by_half_of_the_cells_of_a_generalized_column():
    original = people().select(["age"])
    ages = [age if row % 2 else "[20, 80[" for row, age in enumerate(original["age"].to_pylist())]
    released = pa.table({"age": ages})
    finding = found(find_table_leaks(released, ("age",), (), (), original), "row order")
    assert finding.holds is False


def test_order_kept_although_rows_are_missing():
    original = people()
    kept = sorted(random.Random(4).sample(range(200), 180))
    released = original.select(["ill", "ward"]).take(kept)
    assert (
        found(find_table_leaks(released, (), ("ill",), ("ward",), original), "row order").holds
        is False
    )
    mixed = released.take(random.Random(5).sample(range(180), 180))
    assert found(find_table_leaks(mixed, (), ("ill",), ("ward",), original), "row order").holds


def test_a_few_rows_of_two_values_are_met_in_any_order():
    original = pa.table({"ill": ["b", "a"] * 100})
    released = pa.table({"ill": list("babbaabaabbaba")})
    assert found(find_table_leaks(released, (), ("ill",), (), original), "row order").holds


def test_canonical_order_carries_nothing_even_if_it_is_the_original_s():
    original = people().sort_by([(name, "ascending") for name in people().column_names])
    findings = leaks(original, original=original)
    assert found(findings, "row order").holds
    assert found(findings, "canonical order").holds


def test_a_handful_of_rows_may_agree_by_luck():
    table = pa.table({"ill": ["b", "a", "b"]})
    assert found(find_table_leaks(table, (), ("ill",), (), table), "row order").holds


@examples(80)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["2", "10"])), max_size=6)
)
def test_canonical_order(pairs):
    table = pa.table(
        {
            "a": pa.array([a for a, _ in pairs], pa.string()),
            "b": pa.array([b for _, b in pairs], pa.string()),
        }
    )
    keys = [
        [((a is None) == nulls_last, a or "", number(b)) for a, b in pairs]
        for nulls_last in (False, True)
        for number in (str, int)
    ]
    assert is_in_canonical_order(table) is any(key == sorted(key) for key in keys)


def test_formula_cells_are_counted():
    cells = ["=1+1", "+49 30", "-5", "+3.5", "@sum", "-", "a=b", None, "-12,5 %", "-x"]
    table = pa.table({"note": pa.array(cells, pa.string()), "n": list(range(10))})
    finding = found(find_table_leaks(table, (), ("note",), ()), "formula cells")
    assert finding.holds is None
    assert finding.figures["n_cells"] == {"note": 4}


def test_columns_without_a_role_are_named():
    finding = found(find_table_leaks(people(), ("age",), ("ill",), ()), "unstated columns")
    assert finding.holds is None
    assert finding.figures["columns"] == ["zip", "ward"]


def test_an_empty_table():
    empty = people().slice(0, 0)
    assert all(finding.holds is not False for finding in leaks(empty, original=people()))
    assert all(finding.holds is not False for finding in leaks(empty, original=empty))
