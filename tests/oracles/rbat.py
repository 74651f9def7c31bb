"""Rule-based splitting of transactions, one step at a time, with sets and whole numbers.

Follows Algorithms 1 and 4 of Memon and Shao 2015, with the sign of line 11 put right: an item goes
to the side on which it loses less, ties go right. Orders that the paper leaves open: the seed pair
with the largest loss, ties by the smallest (a, b), a to the left; the other items ascending, in
consecutive buckets of ceil(n / alpha); a queue first in, first out.
"""

from collections import deque
from fractions import Fraction
from itertools import combinations


def utility_loss(part, rows, weight):
    """Return what a part loses, without the factor that all parts share."""
    held = sum(1 for row in rows if row & part)
    mean = sum((Fraction(weight[item]) for item in part), Fraction(0)) / len(part)
    return (2 ** len(part) - 1) * mean * held


def support(rule_items, rows, partition):
    """Return the rows that hold every distinct part of these items."""
    parts = {part for part in partition if part & rule_items}
    return [row for row in rows if all(row & part for part in parts)]


def keeps_rules(partition, rows, rules, k, confidence):
    """Whether every rule has enough support and no more confidence than allowed."""
    for public, sensitive in rules:
        holding = support(public, rows, partition)
        both = sum(1 for row in holding if sensitive <= row)
        if len(holding) < k or both > Fraction(str(confidence)) * len(holding):
            return False
    return True


def keeps_km(partition, rows, k, m):
    """Whether every set of up to m parts that some row shows is shown by at least k rows."""
    shown = [frozenset(part for part in partition if row & part) for row in rows]
    counts = {}
    for parts in shown:
        for size in range(1, m + 1):
            for some in combinations(sorted(parts, key=min), size):
                counts[some] = counts.get(some, 0) + 1
    return all(count >= k for count in counts.values())


def seeds(node, rows, weight):
    """Return the pair of items that loses most as a part."""
    best, best_loss = None, None
    for a, b in combinations(sorted(node), 2):
        loss = utility_loss(frozenset((a, b)), rows, weight)
        if best is None or loss > best_loss:
            best, best_loss = (a, b), loss
    return best


def split(node, rows, weight, alpha):
    """Return the two sides of a node."""
    a, b = seeds(node, rows, weight)
    left, right = frozenset((a,)), frozenset((b,))
    rest = [item for item in sorted(node) if item not in (a, b)]
    size = 1 if alpha == "full" else max(1, -(-len(rest) // alpha))
    for start in range(0, len(rest), size):
        to_left, to_right = set(), set()
        for item in rest[start : start + size]:
            loss_left = utility_loss(left | {item}, rows, weight)
            loss_right = utility_loss(right | {item}, rows, weight)
            (to_left if loss_left < loss_right else to_right).add(item)
        left, right = left | to_left, right | to_right
    return left, right


def top_down(rows, public, weight, alpha, keeps):
    """Return the partition that splitting reaches while ``keeps(partition)`` holds."""
    root = frozenset(item for item in public if any(item in row for row in rows))
    if not root:
        return set()
    partition, queue = {root}, deque([root])
    while queue:
        node = queue.popleft()
        if len(node) == 1:
            continue
        left, right = split(node, rows, weight, alpha)
        trial = (partition - {node}) | {left, right}
        if keeps(trial):
            partition = trial
            queue += [left, right]
    return partition


def rbat(rows, public, rules, k, confidence, weight, alpha="full"):
    """Return the parts that keep all rules, as a set of frozensets."""
    return top_down(
        rows,
        public,
        weight,
        alpha,
        lambda partition: keeps_rules(partition, rows, rules, k, confidence),
    )


def km(rows, public, k, m, weight, alpha="full"):
    """Return the parts that keep kᵐ-anonymity, as a set of frozensets."""
    return top_down(rows, public, weight, alpha, lambda partition: keeps_km(partition, rows, k, m))
