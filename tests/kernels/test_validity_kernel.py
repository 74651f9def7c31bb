"""The kernel's verdicts on groups, against the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.kernels import validity
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from oracles.generated import asked
from oracles.validity import Rules, is_valid
from tiers import examples


def verdict(conditions: Conditions, members: list[int], n_rows: int) -> bool:
    limits = conditions.packed(n_rows)
    scratch = validity.scratch_for(limits)
    rows = np.asarray(members, dtype=np.int32)
    # twice, since a call must leave its room as it found it
    first = validity.is_valid(rows, len(rows), limits, scratch)
    assert validity.is_valid(rows, len(rows), limits, scratch) == first
    assert not scratch.count_of_node.any()
    return bool(first)


@examples(300)
@given(st.data())
def test_verdict_is_that_of_the_definitions(data):
    n_rows = data.draw(st.integers(1, 20))
    case = data.draw(asked(n_rows))
    members = data.draw(st.lists(st.integers(0, n_rows - 1), min_size=1, unique=True))
    found = verdict(case.conditions, members, n_rows)
    if found:
        assert is_valid(members, case.rules, tolerance=1e-9)
    else:
        assert not is_valid(members, case.rules, tolerance=0.0)


def sensitive(codes, **asked_for):
    codes = np.asarray(codes, dtype=np.int32)
    return SensitiveCondition(codes, int(codes.max()) + 1, **asked_for)


def test_no_rows_are_no_group():
    limits = Conditions(1).packed(3)
    none = np.zeros(0, dtype=np.int32)
    assert not validity.is_valid(none, 0, limits, validity.scratch_for(limits))


def test_crowd_counts_people_not_rows():
    same = Conditions(2, person_of_row=np.asarray([4, 4, 9], dtype=np.int32))
    assert not verdict(same, [0, 1], 3)
    assert verdict(same, [0, 2], 3)


def test_group_meets_its_largest_k_and_never_less_than_k():
    personal = Conditions(2, k_of_row=np.asarray([1, 1, 4, 1, 1], dtype=np.int32))
    assert not verdict(personal, [0], 5)
    assert verdict(personal, [0, 1], 5)
    assert not verdict(personal, [0, 1, 2], 5)
    assert verdict(personal, [0, 1, 2, 3], 5)


@pytest.mark.parametrize("l", [2, 3, 5, 6, 7])
def test_even_values_lie_on_the_entropy_boundary_and_hold(l):  # noqa: E741
    codes = list(range(l)) * 3
    column = sensitive(codes, l=float(l), l_kind="entropy")
    assert verdict(Conditions(1, sensitive=(column,)), list(range(3 * l)), 3 * l)
    more = sensitive(codes, l=l + 1e-6, l_kind="entropy")
    assert not verdict(Conditions(1, sensitive=(more,)), list(range(3 * l)), 3 * l)


@pytest.mark.parametrize(("most", "tail", "c"), [(3, 30, 0.1), (3, 10, 0.3), (7, 10, 0.7)])
def test_recursive_excludes_its_boundary(most, tail, c):
    # one common value of `most` rows, then single ones; l = 1 leaves everything in the tail
    codes = [0] * most + list(range(1, tail - most + 1))
    members = list(range(len(codes)))
    on = sensitive(codes, l=1.0, l_kind="recursive", c=c)
    assert not verdict(Conditions(1, sensitive=(on,)), members, len(codes))
    above = sensitive(codes, l=1.0, l_kind="recursive", c=c + 1e-3)
    assert verdict(Conditions(1, sensitive=(above,)), members, len(codes))


def test_recursive_needs_l_values():
    column = sensitive([0, 1, 0, 1], l=3.0, l_kind="recursive", c=100.0)
    assert not verdict(Conditions(1, sensitive=(column,)), [0, 1, 2, 3], 4)


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_missing_values_are_no_values(kind):
    column = sensitive([-1, -1, 0, 1], l=2.0, l_kind=kind, c=3.0)
    assert not verdict(Conditions(1, sensitive=(column,)), [0, 1, 2], 4)
    assert verdict(Conditions(1, sensitive=(column,)), [0, 2, 3], 4)


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_group_without_values_is_not_diverse(kind):
    column = sensitive([-1, -1, 0, 1], l=1.0, l_kind=kind, c=3.0)
    assert not verdict(Conditions(1, sensitive=(column,)), [0, 1], 4)


def test_whole_table_is_at_no_distance():
    codes = np.random.default_rng(0).integers(-1, 17, 1000)
    column = sensitive(codes, t=0.0)
    assert verdict(Conditions(1, sensitive=(column,)), list(range(1000)), 1000)
    assert not verdict(Conditions(1, sensitive=(column,)), list(range(999)), 1000)


def test_distance_on_the_boundary_holds():
    # half of all rows have value 0, all of the group: ½·(½ + ½) = 0.5
    column = sensitive([0, 0, 1, 1], t=0.5)
    assert verdict(Conditions(1, sensitive=(column,)), [0, 1], 4)
    closer = sensitive([0, 0, 1, 1], t=0.499999)
    assert not verdict(Conditions(1, sensitive=(closer,)), [0, 1], 4)


def test_ordered_distance_knows_near_from_far():
    codes = [0, 1, 2, 3] * 2
    parent = np.asarray([1, 2, 3, -1, -1], dtype=np.int32)
    weight = np.asarray([1 / 3, 1 / 3, 1 / 3, 0.0, 0.0])
    column = sensitive(codes, t=0.2, tree_parent=parent, tree_weight=weight)
    assert verdict(Conditions(1, sensitive=(column,)), [0, 3], 8)  # least and greatest
    assert not verdict(Conditions(1, sensitive=(column,)), [0, 1], 8)  # the two least


def test_a_tree_that_is_none_is_refused():
    broken = np.asarray([1, 0, -1], dtype=np.int32)
    column = sensitive([0, 1], t=0.1, tree_parent=broken, tree_weight=np.ones(3))
    with pytest.raises(ValueError, match="larger numbers"):
        Conditions(1, sensitive=(column,)).packed(2)
    short = sensitive([0, 1], t=0.1, tree_parent=broken[:2], tree_weight=np.ones(2))
    with pytest.raises(ValueError, match="missing values"):
        Conditions(1, sensitive=(short,)).packed(2)


def test_an_unknown_kind_is_refused():
    column = sensitive([0, 1], l=2.0, l_kind="entropic")
    with pytest.raises(ValueError, match="entropic"):
        Conditions(1, sensitive=(column,)).packed(2)


def test_oracle_itself():
    assert is_valid([0, 1], Rules(2))
    assert not is_valid([0], Rules(2))
