"""Promises about sets: the check is the definition's, and every broken release is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_sets import N_ITEMS, groupings, rows_of_items, to_sets
from incrowd.errors import DataError, InfeasibleError, InputError, JobError
from incrowd.guarantees.sets import check as set_groups
from incrowd.guarantees.sets.check import equal_rows
from incrowd.guarantees.sets.promises import Majority, SetEvidence, Smooth, Suppression
from incrowd.sets.sets import Sets
from oracles import sets as oracle
from tiers import examples

KINDS = {"smooth": Smooth, "majority": Majority, "suppression": Suppression}


def guarantee_of(kind, k, vote="auto"):
    return Suppression(k) if kind == "suppression" else KINDS[kind](k, vote=vote)


def evidence_of(released, original=None, original_row=None, n_items=N_ITEMS, **more):
    rows = None
    if original is not None:
        rows = np.arange(len(original)) if original_row is None else np.asarray(original_row)
    return SetEvidence(
        to_sets(released, n_items),
        None if original is None else to_sets(original, n_items),
        rows,
        **more,
    )


def findings_of(guarantee, *args, **more):
    return {finding.name: finding for finding in guarantee.check(evidence_of(*args, **more))}


def holds(guarantee, *args, **more):
    return all(f.holds is not False for f in guarantee.check(evidence_of(*args, **more)))


kinds = st.sampled_from(sorted(KINDS))
votes = st.sampled_from(["half", "strict"])


@examples(200)
@given(st.data(), kinds, votes, st.integers(2, 5), st.booleans())
def test_check_is_the_definition_s(data, kind, vote, k, has_own_k):
    """Any release of any original, under any key: sizes, holders and exposed rows."""
    original = data.draw(st.lists(rows_of_items, min_size=1, max_size=10))
    n_rows = len(original)
    pool = data.draw(st.lists(rows_of_items, min_size=1, max_size=3))
    released = data.draw(st.lists(st.sampled_from(pool), min_size=n_rows, max_size=n_rows))
    original_row = data.draw(st.permutations(range(n_rows)))
    k_of_row = None
    if has_own_k:
        k_of_row = data.draw(st.lists(st.integers(1, 7), min_size=n_rows, max_size=n_rows))
    wishes = None if k_of_row is None else np.asarray(k_of_row, dtype=np.int32)
    found = findings_of(
        guarantee_of(kind, k, vote), released, original, original_row, k_of_row=wishes
    )
    by_size = oracle.exposed_by_size(released, k, original_row, k_of_row)
    sizes = found["group sizes"]
    assert sizes.holds is (not by_size)
    assert sizes.figures["n_exposed"] == len(by_size)
    assert list(sizes.exposed_rows) == [row + 1 for row in by_size]
    assert sizes.is_public is (k_of_row is None)
    by_items, least = oracle.exposed_by_items(
        kind, vote, k, released, original, original_row, k_of_row
    )
    items = found[kind]
    assert items.holds is (not by_items)
    assert list(items.exposed_rows) == [row + 1 for row in by_items]
    assert items.figures["least_holders"] == least
    assert items.is_public is False


@examples(100)
@given(groupings(k=3, least_rows=3), kinds, votes)
def test_what_a_vote_shows_holds(grouping, kind, vote):
    original, group_of_row = grouping
    released = oracle.shown(kind, vote, 3, original, group_of_row)
    assert holds(guarantee_of(kind, 3, vote), released, original, keeps_order=True)


@given(st.lists(rows_of_items, max_size=12), st.booleans())
def test_groups_are_exact_even_if_every_hash_collides(rows, collide):
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(
                set_groups, "_hashes", lambda sets: np.zeros(sets.n_rows, dtype=np.uint64)
            )
        patch.setattr(set_groups, "ENTRIES_AT_ONCE", 3)
        groups = equal_rows(to_sets(rows, N_ITEMS))
    for row, of_row in enumerate(oracle.groups_of(rows)):
        assert np.flatnonzero(groups.group_of_row == groups.group_of_row[row]).tolist() == of_row
        assert groups.first_row[groups.group_of_row[row]] == of_row[0]
        assert groups.size[groups.group_of_row[row]] == len(of_row)


# A good release: two groups of four; item 1 is held by exactly half of the first, item 4 by all
# of the second.
ORIGINAL = [{0, 1}, {0, 1}, {0}, {0}, {3, 4}, {3, 4}, {3, 4}, {3, 4}]
RELEASED = [{0, 1}] * 4 + [{3, 4}] * 4
CUT = [{0}] * 4 + [{3, 4}] * 4


@pytest.mark.parametrize("guarantee", [Smooth(4), Majority(4)])
def test_good_release_holds_and_names_its_least_holders(guarantee):
    found = findings_of(guarantee, RELEASED, ORIGINAL)
    assert [finding.holds for finding in found.values()] == [True, True, True]
    assert found[guarantee.name].figures["least_holders"] == 2
    assert found[guarantee.name].figures["n_created"] == 2
    assert holds(Suppression(4), CUT, ORIGINAL)


@pytest.mark.parametrize("guarantee", [Smooth(4), Majority(4)])
def test_item_that_fewer_than_half_had_is_refused(guarantee):
    original = [*ORIGINAL[:1], {0}, *ORIGINAL[2:]]
    finding = findings_of(guarantee, RELEASED, original)[guarantee.name]
    assert finding.holds is False
    assert finding.exposed_rows == (1, 2, 3, 4)
    assert finding.figures["n_too_few_holders"] == 1


@pytest.mark.parametrize("guarantee", [Smooth(4, vote="strict"), Majority(4, vote="strict")])
def test_exactly_half_is_refused_by_a_strict_vote(guarantee):
    assert not holds(guarantee, RELEASED, ORIGINAL)


@pytest.mark.parametrize("guarantee", [Smooth(4), Majority(4), Suppression(4)])
def test_group_of_k_minus_1_is_refused(guarantee):
    finding = findings_of(guarantee, CUT[1:], ORIGINAL[1:])["group sizes"]
    assert finding.holds is False
    assert finding.exposed_rows == (1, 2, 3)
    assert finding.figures["smallest_group"] == 3


def test_created_entry_is_refused_under_suppression():
    finding = findings_of(Suppression(4), RELEASED, ORIGINAL)["suppression"]
    assert finding.holds is False
    assert finding.figures["n_created"] == 2


@pytest.mark.parametrize("guarantee", [Smooth(4), Majority(4), Suppression(4)])
def test_two_rows_swapped_in_the_key_are_refused(guarantee):
    released = CUT if guarantee.name == "suppression" else RELEASED
    swapped = [4, 1, 2, 3, 0, 5, 6, 7]
    assert holds(guarantee, released, ORIGINAL)
    assert not holds(guarantee, released, ORIGINAL, swapped)


@pytest.mark.parametrize(
    "key", [[0, 0, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 8], [-1, 1, 2, 3, 4, 5, 6, 7], [0] * 7]
)
@pytest.mark.parametrize("guarantee", [Smooth(4), Majority(4), Suppression(4)])
def test_key_that_is_not_one_to_one_is_refused(guarantee, key):
    released = CUT if guarantee.name == "suppression" else RELEASED
    found = findings_of(guarantee, released, ORIGINAL, key)
    assert found["key"].holds is False
    assert guarantee.name not in found


def test_missing_person_is_refused():
    found = findings_of(Smooth(4), RELEASED[:4], ORIGINAL, [0, 1, 2, 3])
    assert found["key"].holds is False


def test_equal_sets_of_two_clusters_are_one_group():
    """Two of four and four of four had item 0: six of eight together."""
    original = [{0}, {0}, set(), set(), {0}, {0}, {0}, {0}]
    found = findings_of(Smooth(4, vote="strict"), [{0}] * 8, original)
    assert found["group sizes"].figures["n_groups"] == 1
    assert found["smooth"].figures["least_holders"] == 6
    assert found["smooth"].holds is True


def test_empty_sets_are_a_group_too():
    finding = findings_of(Smooth(4), [set()] * 3 + [{0}] * 4)["group sizes"]
    assert finding.holds is False
    assert finding.figures["n_empty_sets"] == 3
    assert findings_of(Smooth(4), [set()] * 4)["group sizes"].holds is True


def test_personal_k_asks_for_larger_groups_and_of_majority_for_more_holders():
    wishes = np.asarray([4, 4, 4, 5, 4, 4, 4, 4], dtype=np.int32)
    found = findings_of(Smooth(4), RELEASED, ORIGINAL, k_of_row=wishes)
    assert found["group sizes"].holds is False
    assert found["group sizes"].exposed_rows == (1, 2, 3, 4)
    original, released = [{0}, {0}, {0}, set(), set(), set(), set(), set()], [{0}] * 8
    wishes = np.asarray([1] * 7 + [7], dtype=np.int32)
    assert holds(Majority(4), released, original)
    assert not holds(Majority(4), released, original, k_of_row=wishes)


def test_without_the_original_the_rest_is_left_to_the_owner():
    found = findings_of(Smooth(4), RELEASED)
    assert found["group sizes"].holds is True
    assert found["group sizes"].is_public is True
    assert found["smooth"].holds is None
    assert "only the owner" in found["smooth"].summary
    assert "key" not in found


def test_original_without_a_key_and_wishes_without_the_original_cannot_be_checked():
    sets = to_sets(RELEASED, N_ITEMS)
    with pytest.raises(InputError, match="which released row"):
        Smooth(4).check(SetEvidence(sets, to_sets(ORIGINAL, N_ITEMS)))
    with pytest.raises(InputError, match="not the original"):
        Smooth(4).check(SetEvidence(sets, k_of_row=np.full(8, 4, dtype=np.int32)))
    with pytest.raises(InputError, match="whole number"):
        Smooth(4).check(evidence_of(RELEASED, ORIGINAL, k_of_row=np.zeros(8, dtype=np.int32)))


@pytest.mark.parametrize("items", [[1, 0], [0, 0], [0, 9], [-1, 0]])
def test_rows_that_are_no_sets_are_refused(items):
    sets = Sets(np.asarray([0, 2, 2]), np.asarray(items, dtype=np.int32), 3)
    with pytest.raises(DataError, match="no list of sets"):
        Smooth(2).check(SetEvidence(sets))


def test_items_are_the_same_where_their_names_are():
    original = to_sets(ORIGINAL, 5, item_names=pa.array(["a", "b", "c", "d", "e"]))
    # the release's own dictionary: only what it shows, in another order
    released = to_sets([{1, 2}] * 4 + [{0, 3}] * 4, 4, item_names=pa.array(["d", "b", "a", "e"]))
    evidence = SetEvidence(released, original, np.arange(8))
    assert all(finding.holds for finding in Smooth(4).check(evidence))
    stranger = to_sets([{1, 2}] * 4 + [{0, 3}] * 4, 4, item_names=pa.array(["d", "b", "a", "z"]))
    findings = Smooth(4).check(SetEvidence(stranger, original, np.arange(8)))
    assert findings[2].holds is False
    assert findings[2].figures["least_holders"] == 0
    by_number = to_sets(ORIGINAL, 5)
    as_text = to_sets(RELEASED, 5, item_names=pa.array(["0", "1", "2", "3", "4"]))
    evidence = SetEvidence(as_text, by_number, np.arange(8))
    assert all(finding.holds for finding in Smooth(4).check(evidence))
    twice = to_sets(RELEASED, 5, item_names=pa.array(["0", "1", "2", "3", "3"]))
    with pytest.raises(DataError, match="same name"):
        Smooth(4).check(SetEvidence(twice, by_number, np.arange(8)))


def test_key_of_items_is_proven_too():
    renamed = [{(item + 2) % 5 for item in row} for row in RELEASED]
    key = np.asarray([3, 4, 0, 1, 2])
    assert holds(Smooth(4), renamed, ORIGINAL, original_item=key)
    assert not holds(Smooth(4), renamed, ORIGINAL, original_item=np.asarray([3, 4, 0, 1, 1]))
    assert not holds(Smooth(4), renamed, ORIGINAL, original_item=np.asarray([0, 4, 3, 1, 2]))


def test_order_of_rows():
    original = [{row % 2} for row in range(40)]
    found = findings_of(Smooth(4), original, original)
    assert found["row order"].holds is False
    found = findings_of(Smooth(4), original, original, keeps_order=True)
    assert found["row order"].holds is None
    assert "holds if the order is unknown" in found["row order"].summary
    assert "row order" in findings_of(Smooth(4), original, keeps_order=True)
    by_content = sorted(range(40), key=lambda row: row % 2)
    assert "row order" not in findings_of(
        Smooth(4), [original[row] for row in by_content], original, by_content
    )
    sorted_before = [original[row] for row in by_content]
    assert "row order" not in findings_of(Smooth(4), sorted_before, sorted_before)


def test_graphs_say_what_is_promised_and_whether_nodes_are_visible():
    graph = to_sets([{0, 1}] * 4, 4, graph="directed")
    found = {f.name: f for f in Smooth(4).check(SetEvidence(graph))}
    assert "own list" in found["graph"].summary
    assert "node identities visible" in found["node identities"].summary
    keyed = SetEvidence(graph, has_item_keys=True)
    found = {f.name: f for f in Smooth(4).check(keyed)}
    assert found["node identities"].figures == {"are_visible": False}
    people = SetEvidence(to_sets([{0, 1}] * 4, 4), columns_are_people=True)
    assert "node identities" in {f.name for f in Smooth(4).check(people)}
    assert "graph" not in findings_of(Smooth(4), [{0, 1}] * 4)


def test_default_vote_is_strict_below_4():
    assert [Smooth(k).settled_vote for k in (2, 3, 4)] == ["strict", "strict", "half"]
    assert [Majority(k).settled_vote for k in (2, 3, 4)] == ["strict", "strict", "half"]
    assert not holds(Smooth(2), [{0, 1}] * 2, [{0}, {1}])
    assert holds(Smooth(2, vote="half"), [{0, 1}] * 2, [{0}, {1}])


def test_no_rows():
    found = findings_of(Smooth(4), [], [])
    assert found["group sizes"].summary == "there is no row to check"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_bad_parameters_are_refused(kind):
    for k in (1, 0, 2.0, True, "5"):
        with pytest.raises(JobError):
            KINDS[kind](k)
    if kind != "suppression":
        with pytest.raises(JobError):
            KINDS[kind](4, vote="most")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_infeasible(kind):
    guarantee = KINDS[kind](4)
    guarantee.refuse_infeasible(4)
    guarantee.refuse_infeasible(5, np.asarray([5, 1, 1, 1, 1], dtype=np.int32))
    with pytest.raises(InfeasibleError) as refused:
        guarantee.refuse_infeasible(3)
    assert "3" in refused.value.remedy
    with pytest.raises(InfeasibleError, match="1 rows ask"):
        guarantee.refuse_infeasible(5, np.asarray([6, 1, 1, 1, 1], dtype=np.int32))
