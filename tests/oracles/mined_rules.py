"""Broken rules, counted one by one with Python's sets."""

from itertools import combinations


def broken_rules(transactions, sensitive, k, confidence, largest):
    """Return {(public part, sensitive item)} of all broken rules, as the miner defines them."""
    transactions = [frozenset(transaction) for transaction in transactions]
    support = {item: sum(item in one for one in transactions) for item in sensitive}
    stand_in = min(sensitive, key=lambda item: (-support[item], item))
    antecedents = {
        frozenset(part)
        for one in transactions
        for size in range(1, largest + 1)
        for part in combinations(sorted(one - sensitive), size)
    }
    found = set()
    for part in antecedents:
        holders = [one for one in transactions if part <= one]
        with_item = {item: sum(item in one for one in holders) for item in sensitive}
        met = {item for item, count in with_item.items() if count}
        if len(holders) < k:
            found |= {(part, item) for item in met}
            is_part_of_another = any(part < other for other in antecedents)
            if not met and not is_part_of_another:
                found.add((part, stand_in))
        else:
            found |= {(part, item) for item in met if with_item[item] / len(holders) > confidence}
    return found
