"""Two releases together: what their intersection exposes, from files and with keys."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import IncrowdError, InputError
from incrowd.hierarchies.groupings import build_ranges
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.attacks.composition import (
    PublishedRelease,
    composition_finding,
    find_overlaps,
)
from incrowd.measures.options import CompositionOptions
from incrowd.tables.frames import as_table
from oracles import attackers
from tiers import examples

QUASI, ILL = ("zip", "age"), ("ill",)


def published(lines, people=None, quasi=QUASI, sensitive=ILL):
    names = [*quasi, *sensitive]
    cells = [line.split() for line in lines]
    table = pa.table({name: [row[place] for row in cells] for place, name in enumerate(names)})
    return PublishedRelease(
        as_table(table), quasi, sensitive, None if people is None else pa.array(people)
    )


def two_hospitals():
    """Each has groups of at least 3; one young patient of both has the one illness in common."""
    first = published(
        [f"130** <30 {ill}" for ill in ("aids", "heart", "viral")]
        + [f"130** 30-39 {ill}" for ill in ("cancer", "cancer", "cancer")]
        + [f"130** >=40 {ill}" for ill in ("cancer", "heart", "viral")]
    )
    second = published(
        [f"130** <35 {ill}" for ill in ("aids", "flu", "flu")]
        + [f"130** >=35 {ill}" for ill in ("cancer", "cancer", "cancer", "viral", "heart")]
    )
    return first, second


def test_two_releases_that_are_3_anonymous_expose_a_patient_together():
    finding = composition_finding(*two_hospitals(), 3)
    assert finding.name == "attack: composition"
    assert finding.holds is False
    figures = finding.figures
    # (<30, <35): aids, 1 in common. (30-39, <35): none. (30-39, >=35): 3 cancer.
    # (>=40, >=35): cancer, viral and heart, 3.
    assert figures["n_overlapping_pairs"] == 3
    assert figures["fewest_in_common"] == 1
    assert figures["n_pairs_below_k"] == 1
    assert figures["n_pairs_telling_a_value"] == {"ill": 1}
    assert figures["n_exposed_pairs"] == 1
    assert finding.exposed_rows == (1, 2, 3)
    assert not finding.is_public  # it is about two files
    assert "not proven" in finding.summary
    assert "aids" not in finding.summary


def test_the_same_release_twice_exposes_nobody():
    first, _ = two_hospitals()
    finding = composition_finding(first, first, 3, CompositionOptions(same_people=True))
    assert finding.holds is None
    assert finding.figures["n_exposed_pairs"] == 0
    assert finding.figures["n_groups_without_room"] == 0


def test_groups_that_overlap_within_a_release_expose_nobody_for_sure():
    """The same release twice: a wide group meets a narrow one, and nobody need be in both."""
    release = published(["1 * a", "1 * b", "* * a", "* * b"])
    alone = composition_finding(release, release, 3)
    assert alone.holds is False  # groups of two: fewer than three in common
    same = composition_finding(release, release, 2, CompositionOptions(same_people=True))
    assert same.holds is None
    apart = published(["1 * a", "1 * b", "* * a", "* * c"])
    possible = composition_finding(apart, apart, 2)
    assert possible.holds is False
    assert possible.figures["n_exposed_pairs"] == 2  # the narrow and the wide one, both ways
    settled = composition_finding(apart, apart, 2, CompositionOptions(same_people=True))
    assert settled.holds is None
    assert settled.figures["n_exposed_pairs"] == 2
    assert settled.figures["n_sure_pairs"] == 0
    assert "0 people surely are" in settled.summary


def test_releases_that_cannot_be_about_the_same_people_are_told():
    first, second = published(["1 * a", "1 * b"]), published(["1 * a", "1 * c"])
    finding = composition_finding(first, second, 2, CompositionOptions(same_people=True))
    assert finding.figures["n_groups_without_room"] == 1
    assert "cannot be the same" in finding.summary


def test_people_surely_exposed_are_counted_where_the_people_are_the_same():
    """Two ways of pairing four people: every pair of groups has exactly one of them."""
    first = published(["1 * a", "1 * b", "2 * a", "2 * b"])
    second = published(["* x a", "* x a", "* y b", "* y b"])
    finding = composition_finding(first, second, 2, CompositionOptions(same_people=True))
    assert finding.figures["n_overlapping_pairs"] == 4
    assert finding.figures["fewest_in_common"] == 1
    assert finding.figures["n_sure_pairs"] == 4
    assert finding.figures["n_sure_people"] == 4
    with pytest.raises(InputError, match="4 and 2 rows"):
        composition_finding(
            first, published(["1 * a", "1 * b"]), 2, CompositionOptions(same_people=True)
        )


def test_with_keys_people_are_counted():
    """Groups {p, q, r} and {s, t, u}, then {p, s, t} and {q, r, u}."""
    first = published(["1 x a", "1 x b", "1 x b", "2 x a", "2 x b", "2 x c"], list("pqrstu"))
    second = published(["* y a", "* y b", "* y a", "* z b", "* z c", "* z b"], list("ptsquR"))
    finding = composition_finding(first, second, 3)
    figures = finding.figures
    assert figures["basis"] == "keys"
    assert figures["n_people_in_both"] == 5  # R is somebody else than r
    # p; s and t; q; u: intersections of 1, 2, 1 and 1
    assert figures["fewest_in_common"] == 1
    assert figures["n_people_below_k"] == 5
    assert figures["n_exposed_people"] == 5
    assert figures["n_people_told_a_value"] == {"ill": 3}  # p, q and u; s and t differ
    assert figures["after"]["rate"] == pytest.approx((1 + 1 / 2 + 1 / 2 + 1 + 1) / 5)
    assert figures["before"]["rate"] == pytest.approx(1 / 3)
    assert finding.holds is False
    assert not finding.is_public
    together = composition_finding(first, first, 3)
    assert together.holds is None
    assert together.figures["after"] == together.figures["before"]


LABELS = st.sampled_from(
    ["1", "2", "1-3", "4-6", "2-5", "<2", ">=5", "*", "x", "[1, 2)", "1.5 to <3"]
)


def plain_overlap(one, other):
    """The numbers 0 … 9 and their halves that a label stands for, else the label itself."""

    def meant(label):
        numbers = [half / 2 for half in range(20)]
        known = {
            "1": lambda n: n == 1,
            "2": lambda n: n == 2,
            "1-3": lambda n: 1 <= n <= 3,
            "4-6": lambda n: 4 <= n <= 6,
            "2-5": lambda n: 2 <= n <= 5,
            "<2": lambda n: n < 2,
            ">=5": lambda n: n >= 5,
            "[1, 2)": lambda n: 1 <= n < 2,
            "1.5 to <3": lambda n: 1.5 <= n < 3,
        }
        return {n for n in numbers if known[label](n)} if label in known else {label}

    return "*" in (one, other) or bool(meant(one) & meant(other))


@given(
    *[
        st.lists(
            st.fixed_dictionaries(
                {"zip": LABELS, "age": LABELS, "ill": st.sampled_from("ab"), "job": st.just("c")}
            ),
            min_size=1,
            max_size=8,
        )
        for _ in range(2)
    ],
    st.booleans(),
)
def test_pairs_agree_with_comparing_every_group(rows, others, has_sensitive):
    sensitive = ("ill", "job") if has_sensitive else ()
    releases = [
        PublishedRelease(
            as_table(pa.table({name: [row[name] for row in part] for name in part[0]})),
            QUASI,
            sensitive,
        )
        for part in (rows, others)
    ]
    figures = composition_finding(*releases, 2).figures
    expected = attackers.in_common(rows, others, QUASI, sensitive, plain_overlap)
    assert figures["n_overlapping_pairs"] == len(expected)
    assert figures["n_pairs_below_k"] == sum(n_both < 2 for n_both, _ in expected.values())
    if expected:
        assert figures["fewest_in_common"] == min(n_both for n_both, _ in expected.values())
    if has_sensitive:
        values = [
            {
                key: {row["ill"] for row in part if (row["zip"], row["age"]) == key}
                for key in Counter(attackers.groups_of(part, QUASI))
            }
            for part in (rows, others)
        ]
        tells = sum(
            kept[0] == 1 and len(values[0][one]) > 1 and len(values[1][other]) > 1
            for (one, other), (_, kept) in expected.items()
        )
        assert figures["n_pairs_telling_a_value"] == {"ill": tells, "job": 0}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from("ab")), min_size=1))
@examples(30)
def test_what_files_bound_is_never_less_than_what_keys_find(people):
    """Everybody in both: a pair's people are between what the files say at least and at most."""
    first = published([f"{a} * {ill}" for a, _, ill in people])
    second = published([f"* {b} {ill}" for _, b, ill in people])
    names = [str(person) for person in range(len(people))]
    known = [
        PublishedRelease(release.table, release.quasi, release.sensitive, pa.array(names))
        for release in (first, second)
    ]
    files = composition_finding(first, second, 3, CompositionOptions(same_people=True)).figures
    keys = composition_finding(*known, 3).figures
    assert files["n_sure_people"] <= keys["n_exposed_people"]
    assert files["n_groups_without_room"] == 0
    assert keys["n_overlapping_pairs"] <= files["n_overlapping_pairs"]


def test_labels_overlap_by_hierarchy_where_it_has_them():
    tree = Hierarchy.from_ladder("job", [["nurse", "cook"], ["care", "kitchen"]])
    found = find_overlaps(["nurse", "care", "cook"], ["care", "kitchen", "*"], tree)
    assert found.tolist() == [[True, False, True], [True, False, True], [False, True, True]]
    by_text = find_overlaps(["nurse", "care", "cook"], ["care", "kitchen", "*"], None)
    assert by_text.tolist() == [[False, False, True], [True, False, True], [False, False, True]]
    starred = find_overlaps(["021**", "0214*"], ["02148", "02***", "0219*", "021"], None)
    assert starred.tolist() == [[True, True, True, False], [True, True, False, False]]


def test_ranges_beyond_the_tree_overlap_by_their_cells():
    from incrowd.hierarchies.groupings import find_grid

    numbers = np.arange(10.0, 50.0)
    labels = [str(int(number)) for number in numbers]
    grid = find_grid("age", numbers, np.ones(40, dtype=np.int64), is_whole=True)
    tree = build_ranges("age", labels, numbers, grid, "ranges")
    ranges = [label for label in tree.all_labels if label not in labels]
    found = find_overlaps(ranges, ranges, tree)
    by_text = find_overlaps(ranges, ranges, None)
    assert np.array_equal(found, by_text)


def test_what_cannot_be_compared_is_refused():
    first, second = two_hospitals()
    other = published(["1 x a"], quasi=("town", "size"))
    with pytest.raises(InputError, match="no quasi-identifying column in common"):
        composition_finding(first, other, 3)
    with pytest.raises(IncrowdError):
        PublishedRelease(second.table, ("zip", "town"))
