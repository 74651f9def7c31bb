"""Mondrian on sets: the groups of a dumb recursion, whatever the order of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_sets import N_ITEMS, rows_of_items, to_sets
from incrowd.errors import InfeasibleError
from incrowd.guarantees.sets.promises import SetEvidence, Suppression
from incrowd.methods.mondrian.method import Mondrian
from incrowd.methods.shared.set_groups import cut as searching
from incrowd.methods.shared.set_groups.cut import cut_rows
from incrowd.methods.shared.set_groups.vote import SetConditions
from incrowd.progress import silent
from methods.small_releases import shown_by
from tiers import examples

lists = st.lists(rows_of_items, min_size=2, max_size=30)


def cut_by_hand(rows, members, needs, k):
    """Return the groups of members: cut by the item held nearest to half, while both sides do."""
    items = sorted(set().union(*(rows[row] for row in members)))

    def off(item):
        n_with = sum(item in rows[row] for row in members)
        return (abs(2 * n_with - len(members)), item)

    for item in sorted(items, key=off):
        sides = [
            [row for row in members if (item in rows[row]) is is_with] for is_with in (True, False)
        ]
        if all(side and len(side) >= max(k, *(needs[row] for row in side)) for side in sides):
            return [group for side in sides for group in cut_by_hand(rows, side, needs, k)]
    return [members]


def as_groups(group_of_row):
    groups = {}
    for row, group in enumerate(group_of_row.tolist()):
        groups.setdefault(group, []).append(row)
    return sorted(groups.values())


@examples(120)
@given(lists, st.integers(2, 4), st.data())
def test_groups_are_those_of_the_recursion(rows, k, data):
    k = min(k, len(rows))
    wishes = data.draw(
        st.none() | st.lists(st.integers(1, len(rows)), min_size=len(rows), max_size=len(rows))
    )
    k_of_row = None if wishes is None else np.asarray(wishes, dtype=np.int32)
    conditions = SetConditions("suppression", k, k_of_row=k_of_row)
    found = cut_rows(to_sets(rows, N_ITEMS), conditions)
    needs = conditions.needs(len(rows)).tolist()
    assert as_groups(found.group_of_row) == sorted(
        sorted(group) for group in cut_by_hand(rows, list(range(len(rows))), needs, k)
    )
    assert found.group_of_row.dtype == np.int32
    assert list(dict.fromkeys(found.group_of_row.tolist())) == list(
        range(found.figures["n_groups"])
    )


@given(lists, st.randoms(use_true_random=False))
def test_order_of_rows_and_slices_change_nothing(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    conditions = SetConditions("suppression", 2)
    groups = as_groups(cut_rows(to_sets(rows, N_ITEMS), conditions).group_of_row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "LOOKS_PER_SLICE", 1)
        shuffled = cut_rows(to_sets([rows[row] for row in order], N_ITEMS), conditions)
    assert (
        sorted(sorted(order[row] for row in group) for group in as_groups(shuffled.group_of_row))
        == groups
    )


def test_release_holds_and_too_few_rows_are_infeasible():
    rng = np.random.default_rng(0)
    sets = to_sets([set(rng.integers(0, 40, 5).tolist()) for _ in range(500)], 40)
    found = Mondrian().search(sets, SetConditions("suppression", 5), None, 0, silent)
    released = shown_by(sets, found.group_of_row, "suppression", 5)
    evidence = SetEvidence(released, sets, np.arange(500), keeps_order=True)
    assert all(finding.holds is not False for finding in Suppression(5).check(evidence))
    assert found.figures["n_groups"] > 20
    with pytest.raises(InfeasibleError):
        cut_rows(to_sets([{0}, {1}]), SetConditions("suppression", 3))
