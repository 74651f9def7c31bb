"""What only the owner can check: that a release of generalized items is true."""

from __future__ import annotations

import numpy as np

from incrowd.data.set_names import item_names_of
from incrowd.errors import InputError
from incrowd.guarantees.evidence import MOST_ROWS_NAMED, Finding
from incrowd.guarantees.released_items import ReleasedItems
from incrowd.guarantees.rules import RuleEvidence
from incrowd.guarantees.set_check import check_key, check_order, order_kept, require_whole
from incrowd.guarantees.set_groups import equal_rows, require_sets

PUBLIC, SENSITIVE = 1, 2


def require_transactions(evidence: RuleEvidence) -> None:
    """Refuse evidence that is no list of transactions, or that a promise of items cannot use."""
    require_whole(evidence)
    require_sets(evidence.released, "release")
    if evidence.shows_people_as_items:
        raise InputError(
            "could not check: items of a graph are people, and people are not generalized",
            remedy="Check transactions, or a graph for smooth, majority or suppression.",
        )
    if evidence.k_of_row is not None or evidence.original_item is not None:
        raise InputError(
            "could not check: rules and sets of items know no k of a person and no key of items",
            remedy="Leave them out.",
        )


def owner_findings(evidence: RuleEvidence, shown: ReleasedItems | None) -> list[Finding]:
    """Prove the key, then that every row generalizes its original; without an owner, say so.

    Nothing is said of the truth where released items stand for no one thing each.
    """
    key = check_key(evidence)
    if key is None:
        summary = "only the owner can check, with the original and the key, that no row is invented"
        left = [Finding("truth", None, summary, {"is_checked": False})]
        return left + ([order_kept()] if evidence.keeps_order else [])
    if not key.holds:
        return [key] + ([order_kept()] if evidence.keeps_order else [])
    findings = [key]
    if shown is not None:
        findings.append(_truth(evidence, shown))
    return findings + _order(evidence)


def _truth(evidence: RuleEvidence, shown: ReleasedItems) -> Finding:
    from incrowd.guarantees.rule_loops import find_untrue

    released, original = evidence.released, evidence.original
    assert original is not None  # a proven key has both
    assert evidence.original_row is not None
    names = (str(name) for name in item_names_of(original).to_pylist())
    untrue = np.zeros(released.n_rows, dtype=np.uint8)
    find_untrue(
        released.starts,
        released.items,
        shown.is_sensitive,
        original.starts,
        original.items,
        evidence.original_row.astype(np.int64),
        shown.items_of(names),
        untrue,
    )
    n_untrue = int(np.count_nonzero(untrue))
    figures = {
        "n_untrue": n_untrue,
        "n_public_untrue": int(np.count_nonzero(untrue & PUBLIC)),
        "n_sensitive_untrue": int(np.count_nonzero(untrue & SENSITIVE)),
    }
    summary = (
        f"{n_untrue:,} transactions are not what their original ones generalize to"
        if n_untrue
        else "every transaction is what its original one generalizes to, sensitive items intact"
    )
    rows = tuple(int(row) + 1 for row in np.flatnonzero(untrue)[:MOST_ROWS_NAMED])
    return Finding("truth", not n_untrue, summary, figures, rows, is_public=False)


def _order(evidence: RuleEvidence) -> list[Finding]:
    assert evidence.original_row is not None  # called with a proven key
    if evidence.keeps_order:
        return [order_kept()]
    if (np.diff(evidence.original_row) < 0).any():
        return []
    return check_order(evidence, equal_rows(evidence.released))
