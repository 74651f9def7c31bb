"""Sets before and after, recounted in plain Python."""

from collections import Counter
from itertools import pairwise

from figures.materials import releases
from incrowd.checking.material import SetMaterial
from incrowd.figures.blocks import Bars, Facts, Listing, Steps, Tree
from incrowd.figures.item_lists import (
    entries_section,
    items_section,
    parts_section,
    rules_section,
    sizes_section,
)
from incrowd.sets.names import item_names_of
from incrowd.transactions.generalized import parse_label


def rows_of(sets):
    names = [str(name) for name in item_names_of(sets).to_pylist()]
    items = sets.items.tolist()
    return [[names[item] for item in items[s:e]] for s, e in pairwise(sets.starts.tolist())]


def block(section, kind):
    return next(one for one in section.blocks if isinstance(one, kind))


def test_items_before_and_after():
    _, _, material = releases()["lists"]
    before = Counter(item for row in rows_of(material.own.original) for item in row)
    after = Counter(item for row in rows_of(material.released) for item in row)
    section = items_section(material)
    bars = block(section, Bars)
    assert sum(bars.series["before"]) == sum(before.values())
    assert sum(bars.series["after"]) == sum(after.values())
    assert bars.categories[0] == before.most_common(1)[0][0]
    for name, had, shows in zip(
        bars.categories[:-1], bars.series["before"], bars.series["after"], strict=False
    ):
        assert (had, shows) == (before[name], after[name])
    assert f"{len(set(before) & set(after)):,} of them still are" in section.text[0]
    listing = block(section, Listing)
    assert sum(row[1] for row in listing.rows) == len(before)
    assert sum(row[2] for row in listing.rows) == len(set(before) & set(after))


def test_entries_are_kept_suppressed_or_created():
    audit, _, material = releases()["lists"]
    key = material.own.original_row.tolist()
    before, after = rows_of(material.own.original), rows_of(material.released)
    kept = sum(len(set(row) & set(before[key[place]])) for place, row in enumerate(after))
    n_before, n_after = sum(map(len, before)), sum(map(len, after))
    bars = block(entries_section(audit.losses), Bars)
    assert bars.series["entries"] == (kept, n_before - kept, n_after - kept)
    assert entries_section({}) is None


def test_sizes_of_lists():
    _, _, material = releases()["lists"]
    section = sizes_section(material)
    steps, facts = block(section, Steps), dict(block(section, Facts).facts)
    for name, sets in (("before", material.own.original), ("after", material.released)):
        sizes = [len(row) for row in rows_of(sets)]
        assert sum(steps.series[name]) == len(sizes)
        assert facts[f"longest, {name}"] == max(sizes)
        assert facts[f"empty rows, {name}"] == sizes.count(0)
    alone = sizes_section(SetMaterial(material.released))
    assert set(block(alone, Steps).series) == {"rows"}


def test_parts_are_what_the_release_says():
    _, _, material = releases()["transactions"]
    section = parts_section(material)
    shown = {item for row in rows_of(material.released) for item in row}
    members = [parse_label(item) for item in shown]
    facts = dict(block(section, Facts).facts)
    assert facts["items"] == sum(map(len, members))
    assert facts["shown as they are"] == sum(len(of) == 1 for of in members)
    assert facts["largest set"] == max(map(len, members))
    tree = block(section, Tree)
    n_public = sum(len(of) for of in members if len(of) > 1)
    assert tree.nodes[0].span == n_public
    assert sum(node.weight for node in tree.nodes) == n_public
    alone = parts_section(SetMaterial(material.released))
    assert not [one for one in alone.blocks if isinstance(one, Tree)]


def test_rules_are_told_to_the_owner():
    _, _, material = releases()["transactions"]
    section = rules_section(material.own)
    assert section.blocks[0].rows == (("1, 2", "0"), ("1, 9", "3"))
    assert section.text[0].startswith("2 rules")
