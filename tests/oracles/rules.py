"""Rules, kᵐ and their losses by the definitions: Python's sets, fractions and itertools.

A transaction is a set of items; a released one is a set of frozensets, its parts.
"""

from fractions import Fraction
from itertools import combinations


def generalized(rows, parts, sensitive):
    """Return rows with every public item replaced by the part it is in."""
    part_of = {item: frozenset(part) for part in parts for item in part}
    return [
        {frozenset({item}) if item in sensitive else part_of[item] for item in row} for row in rows
    ]


def shows(row, items):
    """Whether a released row shows, for every one of these items, the part that holds it."""
    return all(any(item in part for part in row) for item in items)


def rule_counts(released, rule):
    """Return in how many rows a rule's public part is shown, and in how many all of it."""
    public, sensitive = rule
    support = sum(shows(row, public) for row in released)
    joint = sum(shows(row, [*public, *sensitive]) for row in released)
    return support, joint


def broken_rules(released, rules, k, confidence):
    """Return the numbers of broken and of absent rules, from 1."""
    broken, absent = [], []
    for number, rule in enumerate(rules, start=1):
        support, joint = rule_counts(released, rule)
        if not support:
            absent.append(number)
        elif support < k or Fraction(joint, support) > Fraction(str(confidence)):
            broken.append(number)
    return broken, absent


def closure_broken(released, rules, sensitive, k, confidence):
    """Return how many (antecedent or subset in parts, sensitive item) pairs are looked at, broken.

    Antecedents are the same where their shown parts are; only sensitive items that are shown.
    """
    shown = set().union(*released) if released else set()
    shown_sensitive = [item for item in sorted(sensitive) if frozenset({item}) in shown]
    antecedents = set()
    for public, _ in rules:
        parts = {part for part in shown for item in public if item in part}
        for size in range(1, len(parts) + 1):
            antecedents |= {frozenset(some) for some in combinations(parts, size)}
    n_broken = 0
    for parts in antecedents:
        holding = [row for row in released if parts <= row]
        for item in shown_sensitive:
            joint = sum(frozenset({item}) in row for row in holding)
            is_rare = 0 < len(holding) < k
            limit = Fraction(str(confidence)) * len(holding)
            n_broken += bool(holding) and (is_rare or joint > limit)
    return len(antecedents) * len(shown_sensitive), n_broken


def rare_sets(released, k, m):
    """Return, for the first size up to m that has such, the shown sets of parts below k."""
    for size in range(1, m + 1):
        shown = {frozenset(some) for row in released for some in combinations(row, size)}
        rare = {some for some in shown if sum(some <= row for row in released) < k}
        if rare:
            return size, rare
    return None, set()


def utility_loss(released, parts, weight):
    """Return Σ (2^|part| − 1)/(2^|P| − 1) · mean weight · support, and it without denominator."""
    n_public = sum(len(part) for part in parts)
    loss = sum(
        (
            (2 ** len(part) - 1)
            * sum(Fraction(weight[item]) for item in part)
            / len(part)
            * sum(frozenset(part) in row for row in released)
            for part in parts
        ),
        Fraction(0),
    )
    return loss / max(2**n_public - 1, 1), loss


def chance(item, part, reading):
    """Return how likely an item is where its part is shown, by listing what the part may mean."""
    if reading == "share":
        return Fraction(1, len(part))
    meanings = [
        some for size in range(1, len(part) + 1) for some in combinations(sorted(part), size)
    ]
    return Fraction(sum(item in some for some in meanings), len(meanings))


def expected(released, query, reading):
    """Return the sum over rows of the product over the query's items of their chances."""
    total = Fraction(0)
    for row in released:
        product = Fraction(1)
        for item in query:
            product *= sum(
                (chance(item, part, reading) for part in row if item in part), Fraction(0)
            )
        total += product
    return total
