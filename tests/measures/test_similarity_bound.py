"""Similarity and changed entries: the papers' lemmas, and what no release can exceed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_sets import rows_of_items, to_sets
from incrowd.checking.material import OwnSets, SetMaterial
from incrowd.guarantees.sets.promises import Smooth, Suppression
from incrowd.measures.utility.bound import bound_finding, least_changes_of
from incrowd.methods.facility.search import search
from incrowd.methods.shared.set_groups.vote import KINDS, SetConditions
from incrowd.sets.bounds import similarity_at_most
from oracles import set_groups
from oracles import sets as oracle
from tiers import examples

entries = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


@given(entries, entries)
def test_lemma_of_a_similarity_s_changes(before, after):
    """Lemma 3.2 (5.2): if J ≥ 1 − φ, at most 2φ/(1 − φ)·|E| entries are changed.

    It holds as printed; half of it does, which is the tightest: all changes may be created.
    """
    n_changed = len(before ^ after)
    similarity = Fraction(len(before & after), len(before | after) or 1)
    if similarity:
        share = 1 - similarity
        assert n_changed <= share / (1 - share) * len(before)
    at_most = similarity_at_most(len(before), n_changed, adds_entries=True)
    assert similarity <= Fraction(at_most).limit_denominator(1000)
    if before <= after and before:
        assert float(similarity) == at_most
    if after <= before and before:
        assert float(similarity) == similarity_at_most(len(before), n_changed, adds_entries=False)


@given(entries, entries)
def test_lemma_of_changes_similarity(before, after):
    """Lemma 3.3 (5.3), mended: if at most φ'·|E| entries are changed, J ≥ 1 − φ'."""
    if before:
        changed = Fraction(len(before ^ after), len(before))
        assert Fraction(len(before & after), len(before | after)) >= 1 - changed


def test_lemma_of_changes_is_false_as_printed():
    """1 − φ'/2 is printed: its proof counts each changed entry twice, its premise once.

    One of two entries suppressed: φ' = 1/2, and the similarity is 1/2, not 3/4. With the factor in
    both lemmas or in neither, the theorems that follow from them have the same constants.
    """
    before, after = {(0, 0), (1, 0)}, {(0, 0)}
    changed = Fraction(len(before ^ after), len(before))
    similarity = Fraction(len(before & after), len(before | after))
    assert similarity == 1 - changed < 1 - changed / 2


@examples(40)
@given(st.lists(rows_of_items, min_size=4, max_size=6), st.integers(2, 3), st.data())
def test_no_release_exceeds_the_bound(rows, k, data):
    """Against every partition into groups that are large enough, and whatever they show."""
    own = data.draw(st.none() | st.lists(st.integers(2, 4), min_size=len(rows), max_size=len(rows)))
    needs = [k] * len(rows) if own is None else [max(k, one) for one in own]
    changed = least_changes_of(to_sets(rows), np.asarray(needs, dtype=np.int64))
    n_entries = sum(map(len, rows))
    kind = data.draw(st.sampled_from(KINDS))
    at_most = similarity_at_most(n_entries, changed, adds_entries=kind != "suppression")
    best = set_groups.optimum(rows, kind, "half", needs)
    assert float(best) <= at_most + 1e-12
    least = min(
        sum(_changes([rows[row] for row in group]) for group in groups)
        for groups in _partitions(list(range(len(rows))), needs)
    )
    assert changed <= least


def _changes(group):
    """Return how many entries the best common set of a group changes."""
    held = [sum(item in row for row in group) for item in set().union(*group)]
    return sum(min(n, len(group) - n) for n in held)


def _partitions(rows, needs):
    """Yield every partition into groups with as many rows as each of them needs."""
    if not rows:
        yield []
        return
    first, *others = rows
    for chosen in range(1 << len(others)):
        group = [first, *(row for place, row in enumerate(others) if chosen >> place & 1)]
        if len(group) >= max(needs[row] for row in group):
            rest = [row for row in others if row not in group]
            for more in _partitions(rest, needs):
                yield [group, *more]


@given(st.lists(rows_of_items, min_size=3, max_size=20), st.data())
def test_least_changes_are_those_of_the_nearest_rows(rows, data):
    needs = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    least = Fraction(0)
    for row in rows:
        k = min(need for other, need in zip(rows, needs, strict=True) if other == row)
        distances = sorted(oracle.hamming(row, other) for other in rows)
        if k > 1:
            least += Fraction(sum(distances[:k]), 2 * (k - 1))
    found = least_changes_of(to_sets(rows), np.asarray(needs, dtype=np.int64))
    assert found == -(-least.numerator // least.denominator)


def test_the_bound_is_reached():
    """Pairs of lists without a common item: whatever is shown, two entries of a pair change."""
    rows = [{row} for row in range(6)]
    assert least_changes_of(to_sets(rows), np.full(6, 2, dtype=np.int64)) == 6
    assert set_groups.optimum(rows, "smooth", "half", [2] * 6) == Fraction(1, 2)
    assert similarity_at_most(6, 6, adds_entries=True) == 0.5


@pytest.mark.parametrize("variant", ["practical", "alg1", "alg2"])
@pytest.mark.parametrize("kind", KINDS)
def test_facility_tells_the_bound_of_its_data(variant, kind):
    random = np.random.default_rng(3)
    rows = [set(np.flatnonzero(random.random(12) < 0.3).tolist()) for _ in range(90)]
    sets = to_sets(rows, 12)
    own = random.integers(1, 9, 90).astype(np.int32)
    for k_of_row in (None, own):
        conditions = SetConditions(kind, 3, k_of_row=k_of_row)
        changed = least_changes_of(sets, conditions.needs(90).astype(np.int64))
        at_most = similarity_at_most(sets.n_entries, changed, adds_entries=kind != "suppression")
        found = search(sets, conditions, variant=variant, orders=1)
        assert found.figures["jaccard_at_most"] == at_most < 1.0


def test_a_finding_compares_a_release_with_the_bound():
    original = to_sets([{0, 1}, {0, 1}, {0}, {0, 2}], 3)
    released = to_sets([{0, 1}] * 4, 3)
    material = SetMaterial(released, OwnSets(original, np.arange(4)))
    figures = bound_finding(material, Smooth(4)).figures
    assert figures["jaccard"] == 6 / 9
    # the three others of a row: 0 + 1 + 2 twice, 1 + 1 + 1 and 1 + 2 + 2, over 2 (k − 1)
    assert figures["least_changed_entries"] == 3
    assert figures["jaccard_at_most"] == 7 / 10
    assert figures["share_of_best"] == pytest.approx(20 / 21)
    assert bound_finding(material, Suppression(4)).figures["jaccard_at_most"] == 4 / 7
