"""Crowds, closed forms, pruning and posteriors, recounted person by person."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guarantees.small_crowds import hosted, people_from, ring, small_people
from incrowd.guarantees.adaptive import compatibility
from incrowd.guarantees.adaptive import posterior as posterior_module
from incrowd.guarantees.adaptive.compatibility import Bounds, compatible_pairs, count_crowds
from incrowd.guarantees.adaptive.kernels import enumerate_matchings, scale
from incrowd.guarantees.adaptive.people import People, distinct_rows
from incrowd.guarantees.adaptive.posterior import components_of, compute_posterior
from oracles.adaptive import (
    closed_form,
    literal_crowds,
    mutual_crowds,
    pairs_in_matchings,
    posteriors,
)
from tiers import examples


def settled(people, **more):
    bounds = Bounds.of(people)
    return compute_posterior(people, bounds, compatible_pairs(people).edges, **more)


@examples(150)
@given(small_people(max_people=9), st.sampled_from([1, 2, 16]))
def test_crowds_are_the_oracle_s(rows, common_share):
    """By bits of profiles where values are common, by lists of profiles where they are rare."""
    originals, released = rows
    people = people_from(*rows, k=3)
    bounds = Bounds.of(people)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compatibility, "COMMON_SHARE", common_share)
        by_edges = count_crowds(people, bounds, compatible_pairs(people))
    assert by_edges.literal.tolist() == literal_crowds(originals, released)
    assert by_edges.mutual.tolist() == mutual_crowds(originals, released)
    assert by_edges.is_complete
    assert by_edges.is_mutual_counted.all()
    assert (bounds.crowd <= by_edges.mutual).all()


@examples(100)
@given(small_people(max_people=9), st.integers(1, 6))
def test_without_edges_whoever_is_not_settled_is_scanned(rows, k):
    originals, released = rows
    people = people_from(*rows, k=k)
    bounds = Bounds.of(people)
    crowds = count_crowds(people, bounds, compatible_pairs(people, most_edges=0))
    assert crowds.is_complete
    assert crowds.literal.tolist() == literal_crowds(originals, released)
    expected = np.array(mutual_crowds(originals, released))
    assert (crowds.mutual[crowds.is_mutual_counted] == expected[crowds.is_mutual_counted]).all()
    assert (crowds.mutual <= expected).all()
    assert ((crowds.mutual < k) == (expected < k)).all()


def test_a_sample_is_drawn_where_not_all_can_be_scanned():
    originals, released, wishes = hosted(n_guests=30, n_hosts=3)
    people = people_from(originals, released, wishes)
    crowds = count_crowds(people, Bounds.of(people), None, most_tests=31 * 7)
    assert not crowds.is_complete
    assert len(crowds.sampled) == 7
    assert crowds.n_unsettled == 30
    assert (crowds.mutual[crowds.sampled] == 4).all()
    again = count_crowds(people, Bounds.of(people), None, most_tests=31 * 7)
    assert again.sampled.tolist() == crowds.sampled.tolist()


@examples(150)
@given(small_people())
def test_closed_forms_are_never_below_the_truth(rows):
    originals, released = rows
    bounds = Bounds.of(people_from(*rows))
    for person, truth in enumerate(posteriors(originals, released)):
        bound, is_exact = closed_form(originals, released, person)
        assert bounds.posterior[person] == pytest.approx(float(bound), abs=1e-12)
        assert bounds.is_exact[person] == is_exact
        assert truth == bound if is_exact else truth <= bound


@examples(100)
@given(small_people())
def test_what_is_left_after_pruning_are_the_pairs_of_some_matching(rows):
    originals, released = rows
    people = people_from(*rows)
    components = components_of(people, compatible_pairs(people).edges)
    profile_of, pattern_of = people.profiles.of_row, people.patterns.of_row
    expected = {
        (int(profile_of[person]), int(pattern_of[row]))
        for person, row in pairs_in_matchings(originals, released)
        if None in released[row]
    }
    of_pair = np.repeat(components.patterns, np.diff(components.kept_start))
    found = set(zip(components.profiles[components.kept].tolist(), of_pair.tolist(), strict=True))
    assert found == expected
    n_whole = sum(None not in row for row in {*released})
    n_all = compatible_pairs(people).n_edges
    assert components.n_dropped == n_all - len(expected) - n_whole
    assert components.size.sum() == sum(None in row for row in released)


@examples(150)
@given(small_people(max_people=7, max_columns=2))
def test_small_posteriors_are_exact(rows):
    originals, released = rows
    posterior = settled(people_from(*rows))
    assert posterior.is_exact.all()
    truth = [float(share) for share in posteriors(originals, released)]
    assert posterior.belief.tolist() == pytest.approx(truth, abs=1e-12)


@example(
    (
        [(0, 2), (0, 2), (1, 0), (1, 0), (1, 2)],
        [(None, 2), (None, 2), (1, None), (1, None), (None, None)],
    )
)
@given(small_people())
def test_scaling_is_an_estimate_between_the_truth_and_the_bound(rows):
    originals, released = rows
    people = people_from(*rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior_module, "MOST_STATES", 0)
        posterior = settled(people)
    assert not posterior.is_open.any()
    truth = np.array([float(share) for share in posteriors(originals, released)])
    assert (posterior.belief <= Bounds.of(people).posterior).all()
    assert (truth / posterior.belief).max() < 2
    if posterior.is_exact.all():
        assert posterior.belief.tolist() == pytest.approx(truth.tolist(), abs=1e-12)


@pytest.mark.parametrize("n_people", [3, 5, 7])
def test_scaling_equals_enumeration_where_everybody_is_alike(n_people, monkeypatch):
    originals, released = ring(n_people)
    people = people_from(originals, released)
    exact = settled(people)
    assert exact.belief.tolist() == pytest.approx([0.5] * n_people, abs=1e-12)
    monkeypatch.setattr(posterior_module, "MOST_STATES", 0)
    scaled = settled(people)
    assert scaled.is_estimated.all()
    assert scaled.belief.tolist() == pytest.approx([0.5] * n_people, abs=1e-6)


@given(st.data())
def test_enumeration_is_the_same_by_either_side(data):
    n_of_step = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    total = sum(n_of_step)
    cuts = sorted(data.draw(st.sets(st.integers(1, total - 1), max_size=3))) if total > 1 else []
    n_of_place = np.diff([0, *cuts, total])
    flags = st.lists(st.booleans(), min_size=len(n_of_place), max_size=len(n_of_place))
    fits = np.array(data.draw(st.lists(flags, min_size=len(n_of_step), max_size=len(n_of_step))))
    step_of = np.repeat(np.arange(len(n_of_step)), n_of_step)
    place_of = np.repeat(np.arange(len(n_of_place)), n_of_place)
    fits[step_of, place_of] = True  # so that there is a matching
    one, other = np.zeros(fits.shape), np.zeros(fits.T.shape)
    enumerate_matchings(np.array(n_of_step), n_of_place, fits, one)
    enumerate_matchings(n_of_place, np.array(n_of_step), np.ascontiguousarray(fits.T), other)
    assert one == pytest.approx(other.T, abs=1e-12)
    assert (one @ n_of_place).tolist() == pytest.approx([1.0] * len(n_of_step))
    assert (np.array(n_of_step) @ one).tolist() == pytest.approx([1.0] * len(n_of_place))


def test_a_thousand_equal_rows_do_not_overflow():
    fits = np.array([[True, True], [True, False]])
    belief = np.zeros((2, 2))
    enumerate_matchings(np.array([1000, 600]), np.array([900, 700]), fits, belief)
    # all 600 stand on the first 900 rows, the other 1000 on what is left of these and the rest
    assert belief == pytest.approx(
        np.array([[300 / 900 / 1000, 1 / 1000], [1 / 900, 0.0]]), rel=1e-9
    )


def test_scaling_settles_where_plain_steps_are_slow():
    """A crowd with a long tail, each in it tied to the next only: plain steps take thousands."""
    n = 120
    places = np.arange(n)
    fits = np.abs(places[:, None] - places) <= 1
    fits[: n // 2, : n // 2] = True
    start = np.concatenate([[0], np.cumsum(fits.sum(axis=0))]).astype(np.int64)
    kept = np.concatenate([np.flatnonzero(fits[:, row]) for row in range(n)]).astype(np.int32)
    ones = np.ones(n, dtype=np.int64)
    left, right = np.empty(n), np.empty(n)
    residual, n_done = scale(start, kept, ones, ones, 0, left, right, 100_000, 1e-6)
    assert residual <= 1e-6
    assert n_done < 2_000
    belief = np.where(fits, np.outer(left, right), 0.0)
    assert np.abs(belief.sum(axis=1) - 1).max() <= 1e-6
    assert belief.sum(axis=0).tolist() == pytest.approx([1.0] * n, abs=1e-12)
    residual, n_done = scale(start, kept, ones, ones, 0, left, right, 50, 1e-6)
    assert residual > 1e-6
    assert n_done == 50


def test_a_walk_agrees_with_the_truth_of_hosted_guests(monkeypatch):
    """The share of matchings in which a guest keeps their own row has a closed form."""
    from math import comb, perm

    n_guests, n_hosts = 10, 4
    originals, released, wishes = hosted(n_guests, n_hosts)
    weights = [comb(n_guests, away) * perm(n_hosts, away) for away in range(n_hosts + 1)]
    away = sum(place * weight for place, weight in enumerate(weights)) / sum(weights)
    people = people_from(originals, released, wishes)
    exact = settled(people)
    assert exact.belief[0] == pytest.approx(1 - away / n_guests, abs=1e-12)
    monkeypatch.setattr(posterior_module, "MOST_STATES", 0)
    scaled = settled(people, walk_seed=0)
    assert scaled.figures["walk_n_watched"] == n_guests + 1
    ratios = exact.belief[: n_guests + 1] / scaled.belief[: n_guests + 1]
    assert abs(ratios - 1).min() > 0.003  # scaling is an estimate, and the walk shows it
    ratio = ratios.mean()
    told = scaled.figures["walk_mean_ratio"], scaled.figures["walk_mean_ratio_error"]
    assert abs(told[0] - ratio) < 5 * told[1] + 0.01
    again = settled(people, walk_seed=0)
    assert again.figures == scaled.figures


def test_distinct_rows_are_numbered_by_content():
    found = distinct_rows(np.array([[2, -1], [0, 3], [2, -1]], dtype=np.int32))
    assert found.of_row.tolist() == [1, 0, 1]
    assert found.cells.tolist() == [[0, 3], [2, -1]]
    assert found.counts.tolist() == [1, 2]


def test_pairs_of_a_larger_table_are_compatible_by_definition():
    """More profiles than one word of bits has, with common and rare values."""
    generator = np.random.default_rng(0)
    original = np.column_stack(
        [
            generator.integers(0, 3, 400),
            generator.integers(0, 2, 400),
            generator.integers(0, 90, 400),
        ]
    ).astype(np.int32)
    is_masked = generator.random(original.shape) < 0.4
    people = People(original, np.where(is_masked, -1, original), np.ones(400, dtype=np.int64))
    profiles, patterns = people.profiles.cells, people.patterns.cells
    expected = ((patterns[:, None] == profiles) | (patterns[:, None] < 0)).all(axis=2)
    edges = compatible_pairs(people).edges
    of_edge = np.repeat(np.arange(len(patterns)), np.diff(edges.edge_start))
    assert (np.argwhere(expected) == np.column_stack([of_edge, edges.profile_of_edge])).all()
    of_edge = np.repeat(np.arange(len(profiles)), np.diff(edges.out_start))
    assert (np.argwhere(expected.T) == np.column_stack([of_edge, edges.pattern_of_edge])).all()


def test_a_walk_tells_who_is_over_though_the_estimate_is_not(monkeypatch):
    originals, released, _ = hosted(n_guests=10, n_hosts=4)
    people = people_from(originals, released)
    exact = settled(people)
    monkeypatch.setattr(posterior_module, "MOST_STATES", 0)
    scaled = settled(people)
    ratio = exact.belief / scaled.belief
    # a wish between the two, where the estimate is too low
    person = int(ratio.argmax())
    assert ratio[person] > 1.02
    far = replace(people, k=np.where(ratio > 1.02, 1 / np.sqrt(exact.belief * scaled.belief), 1.0))
    told = compute_posterior(far, Bounds.of(far), compatible_pairs(far).edges, walk_seed=0).figures
    assert told["walk_n_over"] > 0
    assert settled(people, walk_seed=0).figures["walk_n_over"] == 0
