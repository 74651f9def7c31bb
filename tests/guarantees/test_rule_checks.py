"""Protected rules and kᵐ: the check is the definition's, and every broken release is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from guarantees.small_transactions import (
    PARTS_OF_TABLE_2,
    SENSITIVE,
    SENSITIVE_OF_TABLES,
    TABLE_1,
    labelled,
    partitions,
    rule_lists,
    to_rules,
    to_transactions,
    transactions,
)
from incrowd.errors import InputError, JobError
from incrowd.guarantees.transactions import km_check, rule_check
from incrowd.guarantees.transactions.promises import KmAnonymity, RuleEvidence, RuleProtection
from incrowd.job.build import build
from incrowd.sets.files import read_sets
from incrowd.threads import use_threads
from oracles import rules as oracle
from tiers import examples

TABLE_2 = labelled(oracle.generalized(TABLE_1, PARTS_OF_TABLE_2, SENSITIVE_OF_TABLES))
AC_TELLS_H = to_rules([("ac", "h")])
PROMISE = RuleProtection(3, 0.6)


def evidence_of(released, original=None, rules=AC_TELLS_H, **more):
    """Return the evidence of rows of labels; with the original's rows, in the same order."""
    whole = {}
    if original is not None:
        whole = {
            "original": to_transactions(original),
            "original_row": np.arange(len(original)),
            "keeps_order": True,
        }
    sets = released if hasattr(released, "starts") else to_transactions(released)
    stated = {"sensitive": SENSITIVE_OF_TABLES, **whole, **more}
    return RuleEvidence(sets, rules=rules, **stated)


def findings_of(guarantee, evidence):
    return {finding.name: finding for finding in guarantee.check(evidence)}


def holds(guarantee, evidence):
    return all(finding.holds is not False for finding in guarantee.check(evidence))


# ── the paper's tables ──────────────────────────────────────────────────────────────────────


def test_table_2_is_protected_and_table_1_is_not():
    found = findings_of(PROMISE, evidence_of(TABLE_2, TABLE_1))
    assert [finding.holds for finding in found.values()].count(False) == 0
    assert found["rules"].figures["least_support"] == 4
    assert found["rules"].figures["worst_confidence"] == 0.5
    assert found["truth"].holds is True
    found = findings_of(PROMISE, evidence_of(TABLE_1))
    assert found["rules"].holds is False
    assert found["rules"].figures["least_support"] == 1
    assert found["rules"].figures["broken_rules"] == [1]


def test_table_2_is_what_the_paper_prints():
    assert [sorted(row) for row in TABLE_2] == [
        ["(a,b,f)", "(c,d,e)", "g", "h"],
        ["(a,b,f)", "(c,d,e)", "i", "j"],
        ["(a,b,f)", "l"],
        ["(a,b,f)", "(c,d,e)", "g", "h"],
        ["(a,b,f)", "(c,d,e)", "l"],
    ]


@pytest.mark.parametrize(("confidence", "is_kept"), [(0.5, True), (0.4999999999, False)])
def test_confidence_may_be_reached_and_not_exceeded(confidence, is_kept):
    assert holds(RuleProtection(3, confidence), evidence_of(TABLE_2)) is is_kept


@pytest.mark.parametrize(("k", "is_kept"), [(4, True), (5, False)])
def test_support_may_be_k_and_not_less(k, is_kept):
    assert holds(RuleProtection(k, 0.6), evidence_of(TABLE_2)) is is_kept


def test_confidence_is_the_decimal_that_was_stated():
    """As a double 0.29 is less than 29/100, and 29 of 100 would be too many."""
    assert 100 * 0.29 < 29
    rows = [["a", "s"]] * 29 + [["a"]] * 71
    evidence = evidence_of(rows, rules=to_rules([("a", "s")]), sensitive=frozenset("s"))
    assert holds(RuleProtection(2, 0.29), evidence)
    assert not holds(RuleProtection(2, 0.28), evidence)


# ── against the definitions ─────────────────────────────────────────────────────────────────


@examples(150)
@given(
    transactions,
    partitions(),
    rule_lists,
    st.integers(2, 5),
    st.sampled_from([0.0, 0.2, 0.5, 0.6, 0.9, 1.0]),
    st.sampled_from(["refuse", "ok"]),
)
def test_rules_are_counted_by_the_definition(rows, parts, rules, k, confidence, absent):
    released = oracle.generalized(rows, parts, SENSITIVE)
    evidence = RuleEvidence(
        to_transactions(labelled(released)), rules=to_rules(rules), sensitive=frozenset(SENSITIVE)
    )
    found = findings_of(RuleProtection(k, confidence, absent), evidence)
    broken, absent_rules = oracle.broken_rules(released, rules, k, confidence)
    counts = [oracle.rule_counts(released, rule) for rule in rules]
    shown = [support for support, _ in counts if support]
    assert found["items"].holds
    assert found["rules"].holds is (not broken)
    assert found["rules"].figures["broken_rules"] == broken
    assert found["rules"].figures["least_support"] == min(shown, default=None)
    worst = max((joint / support for support, joint in counts if support), default=0)
    assert found["rules"].figures["worst_confidence"] == worst
    assert found["absent rules"].figures["absent_rules"] == absent_rules
    accepted = None if absent == "ok" else False
    assert found["absent rules"].holds is (accepted if absent_rules else True)
    n_pairs, n_broken = oracle.closure_broken(released, rules, SENSITIVE, k, confidence)
    assert found["closure"].holds is None
    assert found["closure"].figures["n_pairs"] == n_pairs
    assert found["closure"].figures["n_broken"] == n_broken


@examples(150)
@given(transactions, partitions(), st.integers(2, 4), st.integers(1, 3), st.booleans())
def test_km_is_the_definition_s(rows, parts, k, m, has_sensitive):
    sensitive = SENSITIVE if has_sensitive else ""
    whole = parts if has_sensitive else [*parts, *SENSITIVE]
    released = oracle.generalized(rows, whole, sensitive)
    evidence = RuleEvidence(to_transactions(labelled(released)), sensitive=frozenset(sensitive))
    finding = findings_of(KmAnonymity(k, m), evidence)["km"]
    public = [{part for part in row if not part & set(sensitive)} for row in released]
    size, rare = oracle.rare_sets(public, k, m)
    assert finding.holds is (not rare)
    assert finding.figures["n_broken"] == len(rare)
    assert finding.figures["counted_up_to"] == (size or m)
    exposed = [number for number, row in enumerate(public, 1) if any(some <= row for some in rare)]
    assert list(finding.exposed_rows) == exposed
    assert finding.figures["n_exposed"] == len(exposed)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_blocks_count_as_one(monkeypatch, threads):
    """More rows than a block of bits, lists short and long, first items in several runs."""
    draw = np.random.default_rng(5)
    names = np.array([*(f"p{item}" for item in range(12)), "s", "t"])
    share = np.linspace(0.01, 0.9, len(names))
    rows = [names[draw.random(len(names)) < share].tolist() for _ in range(3000)]
    rules = [
        (draw.choice(names[:12], size, replace=False).tolist(), [str(draw.choice(["s", "t"]))])
        for size in (1, 2, 3, 4)
        for _ in range(5)
    ]
    monkeypatch.setattr(rule_check, "rows_per_block", lambda _: 192)
    monkeypatch.setattr(rule_check, "ANTECEDENTS_PER_THREAD", 3)
    monkeypatch.setattr(rule_check, "ROWS_PER_THREAD", 64)
    monkeypatch.setattr(km_check, "ENTRIES_OF_FIRSTS", 500)
    released = [{frozenset({name}) for name in row} for row in rows]
    evidence = RuleEvidence(
        to_transactions(rows), rules=to_rules(rules), sensitive=frozenset({"s", "t"})
    )
    with use_threads(threads):
        found = findings_of(RuleProtection(2, 0.9, "ok"), evidence)
        km = findings_of(KmAnonymity(2, 3), evidence)["km"]
    supports = [oracle.rule_counts(released, rule) for rule in rules]
    assert found["rules"].figures["least_support"] == min(count for count, _ in supports if count)
    worst = max(joint / support for support, joint in supports if support)
    assert found["rules"].figures["worst_confidence"] == worst
    _, n_broken = oracle.closure_broken(released, rules, {"s", "t"}, 2, 0.9)
    assert found["closure"].figures["n_broken"] == n_broken
    public = [{part for part in row if not part & {"s", "t"}} for row in released]
    size, rare = oracle.rare_sets(public, 2, 3)
    assert km.figures["counted_up_to"] == (size or 3)
    assert km.figures["n_broken"] == len(rare)
    exposed = [number for number, row in enumerate(public, 1) if any(some <= row for some in rare)]
    assert km.figures["n_exposed"] == len(exposed)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_false_row_is_found_on_any_number_of_threads(monkeypatch, threads):
    monkeypatch.setattr(rule_check, "ROWS_PER_THREAD", 64)
    rows = [list("acg"), list("bdh"), list("ad")] * 100
    original = [list(row) for row in rows]
    for row in (0, 163, 299):
        original[row] = list("bg")
    evidence = evidence_of(rows, original, sensitive=frozenset("gh"))
    with use_threads(threads):
        truth = findings_of(RuleProtection(2, 0.9, "ok"), evidence)["truth"]
    assert truth.holds is False
    assert truth.exposed_rows == (1, 164, 300)


def test_what_the_closure_leaves_out_is_said(monkeypatch):
    monkeypatch.setattr(rule_check, "MOST_ANTECEDENTS", 1)
    closure = findings_of(PROMISE, evidence_of(TABLE_2))["closure"]
    assert closure.figures["n_antecedents"] == 1
    assert not closure.figures["is_complete"]
    assert "not looked at" in closure.summary


# ── broken releases ─────────────────────────────────────────────────────────────────────────


def changed(row, *, without=(), plus=()):
    """Return Table 2 with one row (from 0) changed."""
    rows = [list(one) for one in TABLE_2]
    rows[row] = [item for item in rows[row] if item not in without] + list(plus)
    return rows


@pytest.mark.parametrize(
    ("rows", "figure"),
    [
        (changed(2, plus=["a"]), "n_in_two"),
        (changed(2, plus=["(a,z)"]), "n_in_two"),
        (changed(2, plus=["(b,f,a)"]), "n_in_two"),
        (changed(2, plus=["(z,l)"], without=["l"]), "n_sensitive_generalized"),
        (changed(2, plus=["(z,y"]), "n_unreadable"),
        (changed(2, plus=["()"]), "n_unreadable"),
        (changed(2, plus=["(z,z)"]), "n_unreadable"),
    ],
)
@pytest.mark.parametrize("guarantee", [PROMISE, KmAnonymity(2, 1)])
def test_items_that_are_not_one_thing_each_are_refused(rows, figure, guarantee):
    found = findings_of(guarantee, evidence_of(rows))
    assert found["items"].holds is False
    assert found["items"].figures[figure] == 1 + 2 * (rows[2][-1] == "(b,f,a)")
    assert guarantee.name not in found


def test_an_item_that_a_rule_infers_must_be_intact_though_not_stated():
    rows = [["(h,z)" if item == "h" else item for item in row] for row in TABLE_2]
    assert holds(PROMISE, evidence_of(TABLE_2, sensitive=frozenset()))
    found = findings_of(PROMISE, evidence_of(rows, sensitive=frozenset()))
    assert found["items"].figures["n_sensitive_generalized"] == 1
    assert found["items"].holds is False


@pytest.mark.parametrize("guarantee", [PROMISE, KmAnonymity(3, 2)])
def test_an_item_twice_in_a_transaction_is_refused(tmp_path, guarantee):
    path = tmp_path / "released.dat"
    lines = [" ".join(row) for row in TABLE_2]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert holds(guarantee, evidence_of(read_sets(path)))
    path.write_text("\n".join([lines[0] + " (a,b,f)", *lines[1:]]) + "\n", encoding="utf-8")
    found = findings_of(guarantee, evidence_of(read_sets(path)))
    assert found["items"].holds is False
    assert found["items"].figures["n_repeated"] == 1
    assert found[guarantee.name].holds is True


def test_one_entry_less_breaks_the_support():
    assert holds(RuleProtection(4, 0.6), evidence_of(TABLE_2))
    found = findings_of(RuleProtection(4, 0.6), evidence_of(changed(4, without=["(c,d,e)"])))
    assert found["rules"].holds is False
    assert found["rules"].figures["n_rare"] == 1


def test_one_sensitive_entry_more_breaks_the_confidence():
    found = findings_of(PROMISE, evidence_of(changed(1, plus=["h"])))
    assert found["rules"].figures["n_rare"] == 0
    assert found["rules"].figures["n_telling"] == 1


@pytest.mark.parametrize("public", ["cz", "z"])
def test_a_rule_of_items_that_are_not_shown_is_absent(public):
    evidence = evidence_of(TABLE_2, rules=to_rules([("ac", "h"), (public, "h")]))
    found = findings_of(PROMISE, evidence)
    assert found["rules"].holds is True
    assert found["absent rules"].holds is False
    assert found["absent rules"].figures["absent_rules"] == [2]
    assert holds(RuleProtection(3, 0.6, "ok"), evidence)


def test_items_that_rules_do_not_know_are_not_shown():
    """Rules in the numbers of a shorter list have −1 for what is not on it."""
    stated = to_rules([("ac", "h"), ("az", "h"), ("ac", "y")])
    short = stated.in_items(pa.array(["a", "c", "h"]))
    assert (short.public < 0).sum() == (short.sensitive < 0).sum() == 1
    found = findings_of(PROMISE, evidence_of(TABLE_2, rules=short))
    assert found["absent rules"].figures["absent_rules"] == [2]
    assert found["rules"].holds is True
    assert found["rules"].figures["worst_confidence"] == 0.5
    assert findings_of(KmAnonymity(3, 2), evidence_of(TABLE_2, rules=short))["km"].holds


def test_a_sensitive_item_that_nobody_shows_is_told_by_nothing():
    found = findings_of(PROMISE, evidence_of(TABLE_2, rules=to_rules([("ac", "hz")])))
    assert found["rules"].figures["worst_confidence"] == 0


def test_a_broken_row_of_km_is_named():
    finding = findings_of(KmAnonymity(3, 2), evidence_of(changed(2, plus=["x"])))["km"]
    assert finding.holds is False
    assert finding.exposed_rows == (3,)


# ── the owner ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rows", "figure"),
    [
        (changed(2, plus=["(c,d,e)"]), "n_public_untrue"),
        (changed(4, without=["(c,d,e)"]), "n_public_untrue"),
        (changed(0, without=["g"]), "n_sensitive_untrue"),
        (changed(2, plus=["g"]), "n_sensitive_untrue"),
        (changed(2, plus=["x"]), "n_public_untrue"),
    ],
)
@pytest.mark.parametrize("guarantee", [PROMISE, KmAnonymity(2, 1)])
def test_a_row_that_is_not_its_original_s_is_refused(rows, figure, guarantee):
    found = findings_of(guarantee, evidence_of(rows, TABLE_1))
    assert found["truth"].holds is False
    assert found["truth"].figures["n_untrue"] == found["truth"].figures[figure] == 1
    assert not found["truth"].is_public


def test_a_sensitive_item_moved_to_another_transaction_is_refused():
    rows = [list(row) for row in changed(0, without=["g"])]
    rows[2].append("g")
    truth = findings_of(PROMISE, evidence_of(rows, TABLE_1))["truth"]
    assert truth.holds is False
    assert truth.exposed_rows == (1, 3)


def test_two_rows_swapped_in_the_key_are_refused():
    evidence = evidence_of(TABLE_2, TABLE_1)
    swapped = replace(evidence, original_row=np.array([1, 0, 2, 3, 4]))
    assert findings_of(PROMISE, evidence)["truth"].holds is True
    truth = findings_of(PROMISE, swapped)["truth"]
    assert truth.holds is False
    assert truth.exposed_rows == (1, 2)
    # rows that show the same may stand for each other as far as they generalize the same
    doubled = replace(evidence, original_row=np.array([0, 0, 2, 3, 4]))
    found = findings_of(PROMISE, doubled)
    assert found["key"].holds is False
    assert "truth" not in found


def test_an_item_withheld_is_refused():
    rows = [[item for item in row if item != "l"] for row in TABLE_2]
    truth = findings_of(PROMISE, evidence_of(rows, TABLE_1))["truth"]
    assert truth.exposed_rows == (3, 5)


def test_without_the_owner_the_truth_is_left_open():
    truth = findings_of(PROMISE, evidence_of(TABLE_2))["truth"]
    assert truth.holds is None
    assert truth.figures == {"is_checked": False}


def test_the_original_s_order_is_refused_unless_stated():
    original = [[f"i{draw}"] for draw in np.random.default_rng(3).permutation(60)]
    evidence = evidence_of(original, original, rules=None, sensitive=frozenset())
    assert findings_of(KmAnonymity(2, 1), evidence)["row order"].holds is None
    hidden = replace(evidence, keeps_order=False)
    twice = findings_of(KmAnonymity(2, 1), hidden)
    assert "row order" not in twice  # every row differs: sorted by content is no other order
    again = [*original, *original]
    hidden = replace(evidence_of(again, again, rules=None), keeps_order=False)
    assert findings_of(KmAnonymity(2, 1), hidden)["row order"].holds is False


@given(transactions, partitions(), st.randoms(use_true_random=False))
def test_what_was_generalized_is_true_under_any_order(rows, parts, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    released = oracle.generalized([rows[row] for row in order], parts, SENSITIVE)
    evidence = RuleEvidence(
        to_transactions(labelled(released)),
        to_transactions(rows),
        np.array(order),
        sensitive=frozenset(SENSITIVE),
    )
    assert findings_of(KmAnonymity(2, 1), evidence)["truth"].holds is True


# ── what is refused before any count ────────────────────────────────────────────────────────


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), None, "0.5", True])
def test_confidence_must_be_stated_as_a_share(confidence):
    with pytest.raises(JobError, match="confidence"):
        RuleProtection(3, confidence)


def test_confidence_has_no_default():
    with pytest.raises(JobError, match="confidence is not stated"):
        build(RuleProtection, {"k": 3}, "guarantee")


@pytest.mark.parametrize("k", [1, 0, 2.0, True, None])
@pytest.mark.parametrize("make", [lambda k: RuleProtection(k, 0.5), KmAnonymity])
def test_k_must_be_two_or_more(make, k):
    with pytest.raises(JobError, match="k"):
        make(k)


@pytest.mark.parametrize("m", [0, 4, 2.0, True, None])
def test_m_must_be_one_to_three(m):
    with pytest.raises(JobError, match="m is not"):
        KmAnonymity(5, m)


def test_absent_must_be_known():
    with pytest.raises(JobError, match="absent"):
        RuleProtection(3, 0.5, "fine")


def test_without_rules_nothing_can_be_checked():
    for rules in (None, to_rules([])):
        with pytest.raises(InputError, match="no rule"):
            PROMISE.check(evidence_of(TABLE_2, rules=rules))
    with pytest.raises(InputError, match="no public or no sensitive"):
        PROMISE.check(evidence_of(TABLE_2, rules=to_rules([("ac", "")])))


def test_a_sensitive_item_in_an_antecedent_cannot_be_checked():
    with pytest.raises(InputError, match="are sensitive and stand in the public part"):
        PROMISE.check(evidence_of(TABLE_2, rules=to_rules([("ag", "h")])))


def test_a_graph_or_a_key_of_items_cannot_be_checked():
    evidence = evidence_of(TABLE_2)
    with pytest.raises(InputError, match="people are not generalized"):
        PROMISE.check(replace(evidence, columns_are_people=True))
    owned = replace(evidence_of(TABLE_2, TABLE_1), original_item=np.arange(7))
    with pytest.raises(InputError, match="no key of items"):
        PROMISE.check(owned)


def test_numbers_are_items_too():
    rows = pa.array([3, 7, 11])
    sets = replace(to_transactions([["a", "b"], ["a", "c"], ["a", "b"]]), item_names=rows)
    evidence = RuleEvidence(sets, rules=to_rules([(["3"], ["7"])]))
    found = findings_of(ic.RuleProtection(3, 0.7), evidence)
    assert found["rules"].figures["least_support"] == 3
    assert found["rules"].holds
    assert not holds(ic.RuleProtection(3, 0.6), evidence)
    assert not holds(ic.KmAnonymity(2), RuleEvidence(sets))
