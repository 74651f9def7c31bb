"""People of a batch who are in a former release, against sets of names."""

import hashlib
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.flow.former_releases import _find_repeats, digest_columns

KEY = hashlib.sha256(b"a release").hexdigest()
OTHER_KEY = hashlib.sha256(b"another").hexdigest()
NAMES = st.lists(st.sampled_from(["Ada", "Bo", "Cyd", "Dee", "", "Émile", "Jörg"]), max_size=12)


@given(NAMES, NAMES)
def test_repeats_by_a_person_column(ours, theirs):
    """Everybody who is in both, by name; whoever has no name is nobody."""
    ours, theirs = [name or None for name in ours], [name or None for name in theirs]
    found = _find_repeats(
        *(
            digest_columns(pa.table({"who": pa.array(names, pa.string())}), KEY)
            for names in (ours, theirs)
        ),
        "who",
        "who",
    )
    both = {name for name in ours if name} & {name for name in theirs if name}
    assert found.is_repeated.tolist() == [name in both for name in ours]
    assert found.n_people == found.in_common["who"] == len(both)
    assert found.column == "who"
    assert found.is_stated


def test_an_identifying_column_tells_people_apart_where_no_value_repeats_in_it():
    ours = {"case": ["1", "2", "3"], "surname": ["x", "x", "y"]}
    theirs = {"case": ["7", "3"], "surname": ["x", "y"]}
    found = _find_repeats(ours, theirs, None, None)
    assert found.column == "case"
    assert not found.is_stated
    assert found.is_repeated.tolist() == [False, False, True]
    assert found.in_common == {"case": 1, "surname": 2}
    assert _find_repeats({"surname": ["x", "x"]}, {"surname": ["x"]}, None, None).column == ""
    assert _find_repeats({"case": ["1", ""]}, {"case": ["1"]}, None, None).column == ""


def test_digests_hide_spelling_and_depend_on_the_release():
    table = pa.table({"who": ["Jörg ", "JÖRG", "jo\u0308rg", "Jorg", None]})
    first, second, third, other, missing = digest_columns(table, KEY)["who"]
    assert first == second == third != other
    assert missing == ""
    assert digest_columns(table, OTHER_KEY)["who"][0] != first


@pytest.mark.parametrize("seed", range(3))
def test_numbers_and_texts_of_people_are_alike(seed):
    """A file of text and one of numbers name the same people."""
    numbers = random.Random(seed).sample(range(1_000_000), 50)
    typed, text = pa.table({"id": numbers}), pa.table({"id": [str(number) for number in numbers]})
    assert digest_columns(typed, KEY) == digest_columns(text, KEY)
