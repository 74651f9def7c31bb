"""Sweeps: fewer masked cells, nobody loses their crowd, and bound nobody is believed too much."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guarantees.small_crowds import evidence_from
from incrowd import progress as interrupts
from incrowd.engines.local.engine import LocalEngine
from incrowd.guarantees.adaptive.promise import AdaptiveAnonymity
from incrowd.methods.adaptive import partition, sweeps
from incrowd.methods.adaptive.kernels.posterior import count_matchings
from incrowd.methods.adaptive.method import Adaptive
from incrowd.methods.adaptive.search import Problem, found_in
from incrowd.methods.adaptive.sweeps import Crowds, Sorted, posterior_of
from incrowd.progress import silent
from methods.adaptive_problems import problem_of
from oracles import partition as oracle
from tiers import examples


@st.composite
def masked(draw, most_rows=12, most_values=3, is_bit=None):
    """Rows with masks, and for everybody a k that the masks keep."""
    n_values = draw(st.lists(st.integers(1, most_values), min_size=1, max_size=4))
    row = st.tuples(*[st.integers(0, n - 1) for n in n_values])
    rows = draw(st.lists(row, min_size=1, max_size=most_rows))
    is_bit = draw(st.booleans()) if is_bit is None else is_bit
    n_cells = sum(n_values) if is_bit else len(n_values)
    share = draw(st.sampled_from([0.3, 0.6, 0.9, 1.0]))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    masks = random.random((len(rows), n_cells)) < share
    crowds = oracle.mutual_crowds(rows, masks.tolist(), n_values, is_bit)
    k = [draw(st.integers(max(1, crowd - 2), crowd)) for crowd in crowds]
    return rows, k, n_values, is_bit, masks


def swept(table, *, is_bound=False, seed=0, n_sweeps=3):
    rows, k, n_values, is_bit, masks = table
    problem = problem_of(rows, k, n_values, is_bit)
    return sweeps.improve(problem, masks, n_sweeps=n_sweeps, is_bound=is_bound, seed=seed)


@examples(150)
@given(masked(), st.integers(0, 2))
def test_nobody_loses_their_crowd_and_no_cell_is_masked_on_balance(table, seed):
    rows, k, n_values, is_bit, masks = table
    found = swept(table, seed=seed)
    crowds = oracle.mutual_crowds(rows, found.is_masked.tolist(), n_values, is_bit)
    assert all(crowd >= wish for crowd, wish in zip(crowds, k, strict=True))
    assert np.all(found.is_masked.sum(axis=1) <= masks.sum(axis=1))
    assert found.figures["unmasked_cells"] == masks.sum() - found.is_masked.sum()
    assert found.figures["changed_rows"] >= (found.is_masked != masks).any(axis=1).sum()
    # masks that are all needed stay
    if found.figures["sweeps"] == 0:
        assert np.array_equal(found.is_masked, masks)


@given(masked(is_bit=False))
def test_words_keep_crowds_as_the_table_does(table):
    rows, k, n_values, _, masks = table
    problem = problem_of(rows, k, n_values)
    people = Sorted.of(problem)
    by_table = Crowds(people, masks[people.rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "MOST_TABLE_CELLS", 0)
        by_words = Crowds(people, masks[people.rows])
    expected = np.asarray(oracle.mutual_crowds(rows, masks.tolist(), n_values))
    assert by_table.crowd.tolist() == by_words.crowd.tolist() == expected[people.rows].tolist()
    profiles = np.arange(len(people.codes))
    for crowds in (by_table, by_words):
        crowds.sweep(profiles, people.k)
        counted = oracle.mutual_crowds(
            [rows[row] for row in people.rows], crowds.masks.tolist(), n_values
        )
        assert crowds.crowd.tolist() == counted
        assert np.all(crowds.crowd >= people.k)
    # the first row that is looked at gets the smallest mask there is
    for profile in profiles.tolist():
        crowds = Crowds(people, masks[people.rows])
        of_profile = np.flatnonzero((people.profile_of_row == profile) & crowds.masks.any(axis=1))
        crowds.sweep(np.asarray([profile]), people.k)
        for row in of_profile[:1]:
            best = _smallest_mask(rows, k, n_values, masks, int(people.rows[row]))
            assert crowds.masks[row].sum() == best


def _smallest_mask(rows, k, n_values, masks, row):
    """Return the least number of cells that one row may mask, everybody's crowd kept."""
    least = int(masks[row].sum())
    for cells in range(1 << len(n_values)):
        mask = [bool(cells >> place & 1) for place in range(len(n_values))]
        if sum(mask) < least:
            changed = masks.tolist()
            changed[row] = mask
            crowds = oracle.mutual_crowds(rows, changed, n_values)
            if all(crowd >= wish for crowd, wish in zip(crowds, k, strict=True)):
                least = sum(mask)
    return least


@examples(100)
@given(masked(most_rows=7, most_values=2), st.data())
def test_bound_sweeps_of_few_people_keep_beliefs_by_all_permutations(table, data):
    """Whoever is within 1/k before is so afterwards, by counting all matchings."""
    rows, k, n_values, is_bit, masks = table
    before = oracle.beliefs(rows, masks.tolist(), n_values, is_bit)
    spare = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    k = [
        max(1, min(wish, int(1 / belief)) - less)
        for wish, belief, less in zip(k, before, spare, strict=True)
    ]
    found = swept((rows, k, n_values, is_bit, masks), is_bound=True)
    after = oracle.beliefs(rows, found.is_masked.tolist(), n_values, is_bit)
    assert all(belief * wish <= 1 for belief, wish in zip(after, k, strict=True))
    crowds = oracle.mutual_crowds(rows, found.is_masked.tolist(), n_values, is_bit)
    assert all(crowd >= wish for crowd, wish in zip(crowds, k, strict=True))


def test_people_whom_only_counting_certifies_stay_certified():
    rows = [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0), (0, 0, 0)]
    k = [2, 2, 2, 2, 3]
    shown = ["101", "010", "101", "110", "111"]
    masks = np.array([[cell == "1" for cell in row] for row in shown])
    before = oracle.beliefs(rows, masks.tolist(), [1, 2, 2])
    assert all(belief * wish <= 1 for belief, wish in zip(before, k, strict=True))
    found = swept((rows, k, [1, 2, 2], False, masks), is_bound=True)
    after = oracle.beliefs(rows, found.is_masked.tolist(), [1, 2, 2])
    assert all(belief * wish <= 1 for belief, wish in zip(after, k, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["none", "MOST_STATES", "MOST_STEPS", "MOST_PAIRS_OF_POSTERIOR"])
def test_nobody_is_put_over_whether_or_not_there_is_room_to_count(limit, monkeypatch):
    if limit != "none":
        monkeypatch.setattr(sweeps, limit, -1)
    random = np.random.default_rng(3)
    n_changed = 0
    for _ in range(150):
        rows = [tuple(row) for row in random.integers(0, 2, (6, 3)).tolist()]
        masks = random.random((6, 3)) < 0.8
        given = oracle.beliefs(rows, masks.tolist(), [2] * 3)
        crowds = oracle.mutual_crowds(rows, masks.tolist(), [2] * 3)
        k = [min(crowd, int(1 / belief)) for crowd, belief in zip(crowds, given, strict=True)]
        found = swept((rows, k, [2] * 3, False, masks), is_bound=True)
        n_changed += not np.array_equal(found.is_masked, masks)
        after = oracle.beliefs(rows, found.is_masked.tolist(), [2] * 3)
        assert all(belief * wish <= 1 for belief, wish in zip(after, k, strict=True))
    assert n_changed > 10


@examples(40)
@example(249)  # sweeps once put somebody over 1/k in these three
@example(304)
@example(639)
@given(st.integers(0, 99_999))
def test_whatever_a_search_returns_its_audit_holds(seed):
    """A partition's release always; a cover's wherever it holds without sweeps."""
    random = np.random.default_rng(seed)
    n_rows, n_values = int(random.integers(2, 20)), random.integers(1, 4, random.integers(1, 5))
    rows = [tuple(row) for row in random.integers(0, n_values, (n_rows, len(n_values))).tolist()]
    k = random.integers(1, min(n_rows, 5) + 1, n_rows).tolist()
    for search, mask in (("partition", "attribute"), ("cover", "attribute"), ("cover", "bit")):
        problem = problem_of(rows, k, n_values, mask == "bit")
        holds = []
        for n_sweeps in (0, 3):
            method = Adaptive(search=search, mask=mask, effort="quick", rounds=3, sweeps=n_sweeps)
            found = found_in(method, problem, True, LocalEngine(threads=1), 0, silent)
            shown = oracle.released(rows, found.is_masked.tolist(), n_values, problem.is_bit)
            own = [oracle.cells_of(row, n_values, problem.is_bit) for row in rows]
            findings = AdaptiveAnonymity(k_column="wish").check(evidence_from(own, shown, k))
            holds.append(all(finding.holds is not False for finding in findings))
        assert holds[1] >= holds[0]
        assert search == "cover" or holds == [True, True]


@examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_counts_of_matchings_are_those_of_all_permutations(pairs, more):
    """Of any matching of steps and places, and what else fits."""
    step_of, steps = np.unique([step for step, _ in pairs], return_inverse=True)
    place_of, places = np.unique([place for _, place in pairs], return_inverse=True)
    fits = np.reshape(more, (3, 3))[: len(step_of), : len(place_of)]
    fits[steps, places] = True
    ways = [way for way in permutations(places) if fits[steps, way].all()]
    n_of_place = np.bincount(places)
    likely = count_matchings(np.bincount(steps), n_of_place, np.ascontiguousarray(fits))
    for step, place in product(range(len(step_of)), range(len(place_of))):
        share = sum(way[steps.tolist().index(step)] == place for way in ways) / len(ways)
        assert likely[step, place] == pytest.approx(share / n_of_place[place])


def test_unbound_sweeps_of_few_people_do_break_beliefs():
    # what the bound is for: somewhere among random tables a sweep puts somebody over
    random = np.random.default_rng(0)
    n_broken = 0
    for _ in range(120):
        rows = [tuple(row) for row in random.integers(0, 2, (6, 3)).tolist()]
        masks = np.ones((6, 3), dtype=np.bool_)
        k = random.integers(2, 5, 6).tolist()
        table = (rows, k, [2, 2, 2], False, masks)
        for is_bound in (False, True):
            after = oracle.beliefs(
                rows, swept(table, is_bound=is_bound).is_masked.tolist(), [2] * 3
            )
            is_over = any(belief * wish > 1 for belief, wish in zip(after, k, strict=True))
            assert not (is_bound and is_over)
            n_broken += is_over
    assert n_broken > 4


@given(masked(most_rows=7, most_values=2))
def test_closed_forms_and_pruning_agree_with_all_permutations(table):
    rows, k, n_values, is_bit, masks = table
    problem = problem_of(rows, k, n_values, is_bit)
    people = Sorted.of(problem)
    beliefs = oracle.beliefs(rows, masks.tolist(), n_values, is_bit)
    bounds = oracle.bounds(rows, masks.tolist(), n_values, is_bit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "FEW_STATES", -1.0)
        scaled = posterior_of(people.problem, masks[people.rows], people.profile_of_row, people.k)
    sure = posterior_of(people.problem, masks[people.rows], people.profile_of_row, people.k)
    for place, row in enumerate(people.rows):
        belief = float(beliefs[row])
        assert belief <= sure.belief[place] + 1e-9
        assert sure.belief[place] == pytest.approx(float(bounds[row]))  # no estimate of few people
        assert belief / 1.6 - 1e-9 <= scaled.belief[place] <= sure.belief[place] + 1e-9
        if sure.is_certain[place]:
            assert belief * k[row] <= 1 + 1e-9


def crowd_of(n_rows, seed=0):
    random = np.random.default_rng(seed)
    kind = random.integers(0, 8, n_rows)
    columns = [
        (kind * (attribute + 3) // 5 + (random.random(n_rows) < 0.3)) % (2 + attribute)
        for attribute in range(6)
    ]
    codes = np.ascontiguousarray(np.stack(columns).astype(np.int32))
    k = random.integers(2, 20, n_rows).astype(np.int32)
    return Problem(codes, codes.max(axis=1).astype(np.int64) + 1, k)


@pytest.fixture(scope="module")
def grouped():
    problem = crowd_of(450)
    found = partition.search(problem, effort=200, seed=0, engine=LocalEngine(threads=1))
    return problem, found.is_masked


@pytest.mark.slow
def test_bound_sweeps_after_a_partition_show_more_and_scaled_beliefs_stay_below(grouped):
    problem, masks = grouped
    found = {
        is_bound: sweeps.improve(problem, masks, n_sweeps=3, is_bound=is_bound, seed=0)
        for is_bound in (False, True)
    }
    assert masks.sum() > found[True].is_masked.sum() > found[False].is_masked.sum()
    assert found[True].figures["undone_rows"] > 0
    rows = [tuple(row) for row in problem.codes.T.tolist()]
    n_over = {}
    for is_bound, after in found.items():
        crowds = oracle.mutual_crowds(rows, after.is_masked.tolist(), problem.n_values.tolist())
        assert np.all(np.asarray(crowds) >= problem.k)
        scaled = plain_beliefs(problem, after.is_masked)
        n_over[is_bound] = int((scaled * problem.k > 1 + 1e-6).sum())
    assert n_over[True] == 0 < n_over[False]
    people = Sorted.of(problem)
    masks = found[True].is_masked[people.rows]
    own = posterior_of(people.problem, masks, people.profile_of_row, people.k)
    assert np.all(own.is_certain | (own.belief * people.k <= 1 - sweeps.MARGIN))
    open_to_doubt = np.flatnonzero(~own.is_certain)
    assert len(open_to_doubt) > 10
    scaled = plain_beliefs(problem, found[True].is_masked)[people.rows]
    assert own.belief[open_to_doubt] == pytest.approx(scaled[open_to_doubt], rel=1e-4)


def plain_beliefs(problem, masks):
    """Return everybody's belief by plain scaling of the whole matrix, pair by pair.

    A pair lies in a matching if it lies on a circle of exchanges.
    """
    codes = problem.codes.T
    fits = ((codes[:, None, :] == codes[None, :, :]) | masks[None, :, :]).all(axis=2)
    reach = fits.astype(np.float32)
    for _ in range(9):
        reach = np.minimum(reach @ reach, 1.0)
    matrix = (fits & (reach.T > 0)).astype(np.float64)
    for _ in range(1500):
        matrix /= matrix.sum(axis=1, keepdims=True)
        matrix /= matrix.sum(axis=0, keepdims=True)
    return np.diag(matrix)


def test_the_same_seed_gives_the_same_masks(grouped):
    problem, masks = grouped
    one, other = (
        sweeps.improve(problem, masks, n_sweeps=2, is_bound=True, seed=5) for _ in range(2)
    )
    assert np.array_equal(one.is_masked, other.is_masked)
    assert one.figures == other.figures


def test_large_tables_are_swept_inside_groups(grouped, monkeypatch):
    problem, masks = grouped
    monkeypatch.setattr(sweeps, "MOST_PAIRS", 10)
    monkeypatch.setattr(sweeps, "MOST_BOUND_PAIRS", 10)
    found = sweeps.improve(problem, masks, n_sweeps=2, is_bound=False, seed=0)
    assert found.figures["unmasked_cells"] > 0
    assert np.all(found.is_masked <= masks)
    rows = [tuple(row) for row in problem.codes.T.tolist()]
    crowds = oracle.mutual_crowds(rows, found.is_masked.tolist(), problem.n_values.tolist())
    assert np.all(np.asarray(crowds) >= problem.k)
    assert "inside groups" in found.notes[0]
    bound = sweeps.improve(problem, masks, n_sweeps=2, is_bound=True, seed=0)
    assert np.array_equal(bound.is_masked, masks)
    assert "too many rows" in bound.notes[0]
    # crowds that reach beyond groups are not touched
    found = sweeps.improve(problem, found.is_masked, n_sweeps=2, is_bound=False, seed=0)
    assert found.figures["unmasked_cells"] == 0


def test_where_beliefs_cannot_be_computed_bound_masks_stay_certified(grouped, monkeypatch):
    problem, masks = grouped
    monkeypatch.setattr(sweeps, "MOST_PAIRS_OF_POSTERIOR", 10)
    found = sweeps.improve(problem, masks, n_sweeps=2, is_bound=True, seed=0)
    rows = [tuple(row) for row in problem.codes.T.tolist()]
    n_values = problem.n_values.tolist()
    assert all(oracle.certified(rows, found.is_masked.tolist(), problem.k.tolist(), n_values))


def test_a_wish_to_end_leaves_valid_masks(grouped):
    problem, masks = grouped
    told = []

    def tell(*report):
        told.append(report)
        interrupts._stop.set()

    try:
        found = sweeps.improve(problem, masks, n_sweeps=3, is_bound=True, seed=0, progress=tell)
    finally:
        interrupts._stop.clear()
    assert np.array_equal(found.is_masked, masks)
    assert told == [(sweeps.STAGE, 0, 3, pytest.approx(float(masks.mean())))]


def test_masks_that_keep_no_crowd_are_refused():
    problem = problem_of([(0,), (1,)], [2, 1], [2])
    with pytest.raises(ValueError, match="do not keep"):
        sweeps.improve(
            problem, np.zeros((2, 1), dtype=np.bool_), n_sweeps=1, is_bound=False, seed=0
        )
    with pytest.raises(ValueError, match="one flag per cell"):
        sweeps.improve(
            problem, np.zeros((2, 2), dtype=np.bool_), n_sweeps=1, is_bound=False, seed=0
        )
