"""The check of adaptive anonymity refuses what only looks like a crowd."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guarantees.small_crowds import evidence_from, hosted, names_of, ring, small_people
from incrowd.errors import DataError, InfeasibleError, InputError
from incrowd.guarantees.adaptive import check as adaptive_check
from incrowd.guarantees.adaptive import posterior
from incrowd.guarantees.adaptive.check import LITERAL, MUTUAL, POSTERIOR
from incrowd.guarantees.adaptive.promise import AdaptiveAnonymity
from incrowd.guarantees.evidence import Evidence
from oracles.adaptive import literal_crowds, mutual_crowds, posteriors
from tiers import examples

OWN = AdaptiveAnonymity(k_column="wish")
REPORT = AdaptiveAnonymity(k_column="wish", posterior="report")


def by_name(findings):
    return {finding.name: finding for finding in findings}


def verdicts(findings):
    """Return what the levels come to; what the file shows only informs."""
    return {item.name: item.holds for item in findings if item.name != "cells shown"}


def holds(findings):
    return all(finding.holds is not False for finding in findings)


def in_groups(group_sizes, n_columns=3):
    """Return a tight release: everybody masked as their group needs, and a wish of its size."""
    originals, released, wishes = [], [], []
    for number, size in enumerate(group_sizes):
        for member in range(size):
            originals.append((number, member, *[member % 2] * (n_columns - 2)))
            released.append((number, None, *[None] * (n_columns - 2)))
            wishes.append(size)
    return originals, released, wishes


@examples(150)
@given(small_people(), st.data())
def test_findings_are_the_oracle_s(rows, data):
    originals, released = rows
    wish = st.integers(1, 4)
    wishes = data.draw(st.lists(wish, min_size=len(originals), max_size=len(originals)))
    findings = by_name(OWN.check(evidence_from(originals, released, wishes)))
    beliefs = posteriors(originals, released)
    for name, exposed in (
        (LITERAL, [v for v, n in enumerate(literal_crowds(*rows)) if n < wishes[v]]),
        (MUTUAL, [v for v, n in enumerate(mutual_crowds(*rows)) if n < wishes[v]]),
        (POSTERIOR, [v for v, belief in enumerate(beliefs) if belief * wishes[v] > 1]),
    ):
        assert list(findings[name].exposed_rows) == [person + 1 for person in exposed]
        assert findings[name].holds is (not exposed)
        assert findings[name].is_public is False
        assert sum(findings[name].figures["achieved_over_wished"].values()) == pytest.approx(1)
    figures = findings[LITERAL].figures
    assert figures["n_groups"] == len({*released})
    assert figures["smallest_group"] == min(released.count(row) for row in released)
    above = [n - wish for n, wish in zip(mutual_crowds(*rows), wishes, strict=True)]
    assert findings[MUTUAL].figures["least_above_wish"] == min(above)
    figures = findings[POSTERIOR].figures
    if figures["n_p_exact"] == len(originals):
        assert figures["sum_p"] == pytest.approx(float(sum(beliefs)))
    assert figures["sum_p"] >= float(sum(beliefs)) - 1e-9
    assert figures["sum_1_over_k"] == pytest.approx(sum(1 / wish for wish in wishes))


def test_starring_a_few_rows_out_meets_the_definition_and_protects_nobody():
    k = 4
    originals = [(number, number % 3) for number in range(12)]
    released = [*originals[: -(k - 1)], *[(None, None)] * (k - 1)]
    wishes = [k] * (13 - k) + [k - 1] * (k - 1)
    findings = OWN.check(evidence_from(originals, released, wishes))
    assert verdicts(findings) == {LITERAL: True, MUTUAL: False, POSTERIOR: False}
    figures = by_name(findings)[POSTERIOR].figures
    assert figures["n_over"] == 9
    assert figures["worst_p_times_k"] == pytest.approx(k)
    assert figures["largest_p"] == pytest.approx(1.0)


@pytest.mark.parametrize(("n_guests", "n_hosts"), [(8, 5), (60, 9)])
def test_hosts_at_a_popular_profile_pass_mutual_and_fail_the_posterior(n_guests, n_hosts):
    """Those with k = 1 pay: beliefs sum to less than Σ 1/k while guests are over."""
    originals, released, wishes = hosted(n_guests, n_hosts)
    more = [(0,) * len(originals[0])] * 2 * n_guests  # many of the popular profile, fully shown
    originals, released = originals + more, released + more
    wishes += [1] * len(more)
    findings = by_name(OWN.check(evidence_from(originals, released, wishes)))
    assert findings[LITERAL].holds is True
    assert findings[MUTUAL].holds is True
    assert findings[MUTUAL].figures["least_above_wish"] == 0
    over = findings[POSTERIOR]
    assert over.holds is False
    assert over.figures["n_over"] == n_guests
    assert over.figures["sum_p"] < over.figures["sum_1_over_k"]
    assert over.figures["worst_p_times_k"] > 2
    assert over.exposed_rows == tuple(range(1, min(n_guests, 20) + 1))
    assert bool(over.figures["n_estimated"]) is (n_guests > 15)
    reported = by_name(REPORT.check(evidence_from(originals, released, wishes)))
    assert reported[POSTERIOR].holds is None
    assert reported[POSTERIOR].figures["n_over"] == n_guests


def test_estimates_that_are_only_just_within_are_told():
    finding = by_name(AdaptiveAnonymity(2).check(evidence_from(*ring(30))))[POSTERIOR]
    assert finding.holds is True
    assert finding.figures["n_estimated"] == finding.figures["n_close_estimates"] == 30
    assert finding.figures["worst_p_times_k"] == pytest.approx(1, abs=1e-6)
    assert "30 estimates would be over 1/k if they were 2.4 times too low" in finding.summary
    exact = by_name(AdaptiveAnonymity(2).check(evidence_from(*ring(12))))[POSTERIOR]
    assert exact.holds is True
    assert exact.figures["n_exact"] == 12
    assert exact.figures["n_estimated"] == 0
    assert exact.figures["n_close_estimates"] == 0


def test_groups_of_equal_rows_are_certified_without_pairs(monkeypatch):
    rows = in_groups([2, 3, 5])
    monkeypatch.setattr(adaptive_check, "FEW_TESTS", 0)
    monkeypatch.setattr(adaptive_check, "MOST_TESTS", 0)
    findings = by_name(OWN.check(evidence_from(*rows)))
    assert verdicts(findings.values()) == {LITERAL: True, MUTUAL: True, POSTERIOR: True}
    assert findings[MUTUAL].figures["n_certified"] == 10
    assert findings[POSTERIOR].figures["n_certified"] == 10
    assert findings[POSTERIOR].figures["n_p_at_most"] == 10
    assert "the worst P·k is at most 1, ΣP at most 3.0 beside Σ1/k 3.0" in (
        findings[POSTERIOR].summary
    )
    assert "certified by closed forms for 10)" in findings[POSTERIOR].summary
    assert findings[POSTERIOR].figures["worst_p_times_k"] == pytest.approx(1.0)


@pytest.mark.parametrize("group_sizes", [[2, 3, 5], [4, 4], [2, 2, 2]])
def test_one_star_too_few_is_refused(group_sizes):
    originals, released, wishes = in_groups(group_sizes)
    assert holds(OWN.check(evidence_from(originals, released, wishes)))
    n_tried = 0
    for person, row in enumerate(released):
        for column, cell in enumerate(row):
            if cell is not None:
                continue
            shown = list(row)
            shown[column] = originals[person][column]
            changed = [*released[:person], tuple(shown), *released[person + 1 :]]
            findings = by_name(OWN.check(evidence_from(originals, changed, wishes)))
            assert findings[LITERAL].holds is False
            n_tried += 1
    assert n_tried == 2 * sum(group_sizes)


def test_one_wish_more_than_there_is_is_refused():
    originals, released, wishes = in_groups([3, 4])
    wishes[5] += 1
    findings = OWN.check(evidence_from(originals, released, wishes))
    assert not holds(findings)
    assert by_name(findings)[POSTERIOR].exposed_rows == (6,)


def test_a_swapped_pair_and_a_changed_cell_are_refused():
    originals, released, wishes = in_groups([2, 2])
    swapped = [originals[2], originals[1], originals[0], originals[3]]
    changed = [(7, *released[0][1:]), *released[1:]]
    for before, after, exposed in ((swapped, released, (1, 3)), (originals, changed, (1,))):
        (finding,) = OWN.check(evidence_from(before, after, wishes))
        assert finding.name == LITERAL
        assert finding.holds is False
        assert finding.exposed_rows == exposed
        assert finding.figures["n_groups"] == len({*after})


def test_missing_is_a_value_and_no_star():
    """Two people whose cell is missing are alike; a missing cell in place of a value is untrue."""
    alike = [((), "a"), ((), "a")]
    assert holds(AdaptiveAnonymity(2).check(evidence_from(alike, alike)))
    findings = AdaptiveAnonymity(2).check(evidence_from([("x", "a"), ((), "a")], alike))
    assert verdicts(findings) == {LITERAL: False}
    apart = [((), "a"), ("x", "a")]
    assert not holds(AdaptiveAnonymity(2).check(evidence_from(apart, apart)))


def test_numbers_and_dictionaries_are_the_texts_they_are_written_as():
    originals, released, wishes = in_groups([2, 3])
    evidence = evidence_from(originals, released, wishes)
    typed = pa.table({name: [row[place] for row in originals] for place, name in enumerate("abc")})
    typed = typed.rename_columns(names_of(originals))
    coded = pa.table(
        {name: evidence.frame.column(name).dictionary_encode() for name in evidence.quasi}
        | {"wish": pa.array([float(wish) for wish in wishes])}
    )
    assert holds(OWN.check(replace(evidence, original=typed, frame=coded)))


def test_a_constant_k_holds_for_everybody():
    originals, released, _ = in_groups([3, 3])
    assert holds(AdaptiveAnonymity(3).check(evidence_from(originals, released)))
    assert not holds(AdaptiveAnonymity(4).check(evidence_from(originals, released)))
    assert holds(AdaptiveAnonymity(1).check(evidence_from(originals, originals)))


@pytest.mark.parametrize("wrong", ["", "two", "-1", "0", "2.5", "99999999999", None])
def test_a_k_column_of_anything_else_is_refused(wrong):
    originals, released, wishes = in_groups([2, 2])
    evidence = evidence_from(originals, released, wishes)
    column = pa.array(["2", wrong, "2", "2"], pa.string())
    frame = evidence.frame.set_column(evidence.frame.column_names.index("wish"), "wish", column)
    with pytest.raises(DataError, match="1 rows hold no whole number") as raised:
        OWN.check(replace(evidence, frame=frame))
    assert "two" not in str(raised.value)


def test_what_only_the_owner_has_is_asked_for():
    originals, released, wishes = in_groups([2, 2])
    evidence = evidence_from(originals, released, wishes)
    for lacking, guarantee in (
        (replace(evidence, original=None), OWN),
        (replace(evidence, frame=None), OWN),
        (replace(evidence, k_column=None), OWN),
        (replace(evidence, k_column=None), AdaptiveAnonymity(k_rules=('3 where a = "b"',))),
        (replace(evidence, original=evidence.original.slice(1)), OWN),
        (replace(evidence, person="c0"), OWN),
    ):
        with pytest.raises(InputError, match="could not check"):
            guarantee.check(lacking)
    for lacking in (replace(evidence, quasi=()), replace(evidence, quasi=("zip",))):
        with pytest.raises(InputError):
            OWN.check(lacking)
    with pytest.raises(InputError, match="unknown column"):
        OWN.check(replace(evidence, k_column="other"))
    starred = evidence.original.set_column(0, "c0", pa.array(["*", "0", "1", "1"]))
    with pytest.raises(DataError, match="already"):
        OWN.check(replace(evidence, original=starred))


def test_people_of_their_own_are_counted_as_rows():
    originals, released, wishes = in_groups([2, 2])
    evidence = evidence_from(originals, released, wishes)
    frame = evidence.frame.append_column("who", pa.array(["p", "q", "r", "s"]))
    assert holds(OWN.check(replace(evidence, frame=frame, person="who")))


def test_no_rows_hold():
    table = pa.table({"c0": pa.array([], pa.string())})
    evidence = replace(Evidence.from_table(table, ["c0"]), original=table)
    findings = AdaptiveAnonymity(5).check(evidence)
    assert verdicts(findings) == {LITERAL: True, MUTUAL: True, POSTERIOR: True}


def test_scaling_that_does_not_settle_is_no_verdict(monkeypatch):
    originals, released, wishes = hosted(40, 6)
    evidence = evidence_from(originals, released, wishes)
    monkeypatch.setattr(posterior, "RESIDUAL", -1.0)
    monkeypatch.setattr(posterior, "MOST_SCALED", 0)
    for guarantee in (OWN, REPORT):
        with pytest.raises(InputError, match="could not check posterior: scaling did not settle"):
            guarantee.check(evidence)
    # where a lower level fails already, that is the verdict
    wishes[0] += 1
    findings = by_name(OWN.check(evidence_from(originals, released, wishes)))
    assert findings[MUTUAL].holds is False
    assert findings[POSTERIOR].holds is None


def test_too_many_pairs_are_no_verdict_or_an_estimate(monkeypatch):
    originals, released, wishes = hosted(40, 6)
    evidence = evidence_from(originals, released, wishes)
    monkeypatch.setattr(adaptive_check, "MOST_EDGES", 60)
    with pytest.raises(
        InputError, match=r"could not check posterior: 40 people .* more than the 60"
    ):
        OWN.check(evidence)
    estimated = by_name(REPORT.check(evidence))
    assert estimated[MUTUAL].holds is True
    figures = estimated[POSTERIOR].figures
    assert estimated[POSTERIOR].holds is None
    assert "estimated" in estimated[POSTERIOR].summary
    assert figures["n_sampled"] < 46
    assert figures["is_estimated"]
    assert figures["n_over_at_least"] <= 40 <= figures["n_over_at_most"]


def test_too_many_comparisons_are_no_verdict_or_an_estimate(monkeypatch):
    originals, released, wishes = hosted(40, 6)
    evidence = evidence_from(originals, released, wishes)
    monkeypatch.setattr(adaptive_check, "MOST_TESTS", 41 * 12)
    with pytest.raises(InputError, match="could not check"):
        OWN.check(evidence)
    estimated = by_name(REPORT.check(evidence))
    for name in (LITERAL, MUTUAL):
        assert estimated[name].holds is None
        assert "estimated" in estimated[name].summary
        assert estimated[name].figures["n_not_counted"] == 28
        assert estimated[name].figures["n_short_at_least"] == 0
    # one person of the sample who is short is proof enough
    everybody = [wish + (wish > 1) for wish in wishes]
    findings = by_name(OWN.check(evidence_from(originals, released, everybody)))
    assert findings[MUTUAL].holds is False
    assert findings[POSTERIOR].holds is None


def test_revealed_rows_make_the_others_easier_to_tell():
    originals, released, wishes = in_groups([4, 4, 4])
    evidence = evidence_from(originals, released, wishes)
    for revealed, n_left in ((1, 11), (5, 7), (12, 0), (40, 0)):
        guarantee = AdaptiveAnonymity(k_column="wish", revealed=revealed)
        attack = by_name(guarantee.check(evidence))["sustained attack"]
        assert attack.holds is None
        assert attack.figures["n_revealed"] == min(revealed, 12)
        assert attack.figures.get("n_people", 0) == n_left
        if revealed == 1:  # three are left of one group
            assert attack.figures["n_over"] == 3
            assert attack.figures["worst_p_times_k"] == pytest.approx(4 / 3)
    assert "sustained attack" not in verdicts(OWN.check(evidence))


def test_stars_that_tell_are_told_only_where_k_comes_from_sensitive_columns():
    originals, released, wishes = in_groups([5, 5, 2, 2, 2, 2, 2])
    ill = ["hiv" if wish == 5 else "flu" for wish in wishes]
    evidence = evidence_from(originals, released, wishes, sensitive=ill)
    assert "stars tell" not in verdicts(OWN.check(evidence))
    guarantee = AdaptiveAnonymity(k_column="wish", k_from_sensitive=True)
    told = by_name(guarantee.check(evidence))["stars tell"]
    assert told.holds is None
    assert told.is_public is False
    figures = told.figures["columns"]["ill"]
    assert figures["guessed_right"] == 1.0
    assert figures["base_rate"] <= 0.5
    assert figures["largest_share"] == 1.0
    assert "hiv" not in told.summary


@pytest.mark.parametrize(("wishes", "n_over"), [([3, 4, 5], 2), ([3, 3, 3], 0)])
def test_wishes_beyond_all_rows_are_infeasible(wishes, n_over):
    if not n_over:
        OWN.refuse_infeasible(3, k_of_row=wishes)
        return
    with pytest.raises(InfeasibleError, match=f"{n_over} of 3 rows ask") as raised:
        OWN.refuse_infeasible(3, k_of_row=wishes)
    assert "largest k that can be kept is 3" in raised.value.remedy
    with pytest.raises(InfeasibleError, match="everybody asks"):
        AdaptiveAnonymity(4).refuse_infeasible(3)
    AdaptiveAnonymity(3).refuse_infeasible(3)
