"""Rules, roles and weights as text: read as stated, written back, every problem told at once."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import DataError, JobError
from incrowd.transactions.rule_files import (
    find_sensitive_items,
    read_rules,
    read_weights,
    write_rules,
)
from incrowd.transactions.rules import Rules
from tiers import examples

NAMES = pa.array(["a", "b", "c", "d e", "h", "i"])
IS_SENSITIVE = np.array([False, False, False, False, True, True])


def rules_of(rules):
    return [rules.rule(number) for number in range(rules.n_rules)]


def written(folder, text):
    path = folder / "some.rules"
    path.write_text(text, encoding="utf-8")
    return path


# ── rules ───────────────────────────────────────────────────────────────────────────────────────


def test_rules_are_read_as_stated(tmp_path):
    text = '# known -> inferred\n\nc a -> h\r\n"d e"\tb → i h\n  a   ->  i  \n'
    rules, notes = read_rules(written(tmp_path, text), NAMES, IS_SENSITIVE)
    assert rules_of(rules) == [
        (["a", "c"], ["h"]),
        (["b", "d e"], ["h", "i"]),
        (["a"], ["i"]),
    ]
    assert notes == []
    assert rules.public.dtype == np.int32
    assert rules.public_starts.dtype == np.int64


def test_a_rule_again_is_kept_once_and_said_so(tmp_path):
    text = "a b -> h\nb a a -> h\na -> h i\na -> i h\na b -> i\n"
    rules, notes = read_rules(written(tmp_path, text), NAMES, IS_SENSITIVE)
    assert rules.n_rules == 3
    assert len(notes) == 1
    assert "2 rules" in notes[0]


def test_all_problems_are_listed_with_their_lines_and_no_values(tmp_path):
    text = "\n".join(
        [
            "a -> zq1",  # unknown
            "zq2 b -> h",  # unknown
            "h -> i",  # a sensitive item in front
            "a -> b",  # a public item behind
            "-> h",
            "a ->",
            "a b",
            "a -> h -> i",
            "a h -> h",  # on both sides
            'a "b -> h',
            "a -> h",
        ]
    )
    with pytest.raises(DataError) as caught:
        read_rules(written(tmp_path, text), NAMES, IS_SENSITIVE)
    what = caught.value.what
    for told in (
        "none of the data's: 2 (lines 1, 2)",
        "sensitive items before the arrow: 1 (line 3)",
        "public items behind the arrow: 1 (line 4)",
        "no public item before the arrow: 1 (line 5)",
        "no sensitive item behind the arrow: 1 (line 6)",
        "no arrow, or several: 2 (lines 7, 8)",
        "same item on both sides: 1 (line 9)",
        "quote that does not close: 1 (line 10)",
    ):
        assert told in what
    assert "zq" not in str(caught.value)
    assert "zq1" in caught.value.examples
    assert caught.value.exit_status == 2


def test_many_lines_are_counted_and_the_first_shown(tmp_path):
    with pytest.raises(DataError, match=r"20 \(lines 1, 2, 3, 4, 5, …\)"):
        read_rules(written(tmp_path, "x -> h\n" * 20), NAMES, IS_SENSITIVE)


def test_roles_follow_from_arrows_where_none_are_stated(tmp_path):
    rules, _ = read_rules(written(tmp_path, "a b -> h\nc -> i\n"), NAMES)
    assert rules.n_rules == 2
    with pytest.raises(DataError, match=r"behind it in another line: 1 \(line 2\)"):
        read_rules(written(tmp_path, "a b -> h\nh -> i\n"), NAMES)


def test_a_comment_that_is_an_item_is_refused(tmp_path):
    names = pa.array(["#1", "h", "->"])
    with pytest.raises(DataError, match="begins with the name of an item"):
        read_rules(written(tmp_path, "#1 -> h\n"), names)
    rules, _ = read_rules(written(tmp_path, '"#1" "->" -> h\n# 1 -> h\n'), names)
    assert rules_of(rules) == [(["#1", "->"], ["h"])]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_a_file_without_rules_is_refused(tmp_path, text):
    with pytest.raises(DataError, match="no rule"):
        read_rules(written(tmp_path, text), NAMES, IS_SENSITIVE)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\x80")
    for name in ("absent", "bytes", "."):
        with pytest.raises(DataError, match="cannot be read"):
            read_rules(tmp_path / name, NAMES, IS_SENSITIVE)


def test_numbers_are_names_too(tmp_path):
    rules, _ = read_rules(written(tmp_path, "10 2 -> 7\n"), pa.array([2, 7, 10]))
    assert rules_of(rules) == [(["2", "10"], ["7"])]


NAME = st.text(st.sampled_from('ab"# ,->→é\t'), min_size=1, max_size=4)


@examples(150)
@given(data=st.data(), names=st.lists(NAME, min_size=2, max_size=8, unique=True))
def test_what_is_written_is_read_back(tmp_path_factory, data, names):
    n_public = data.draw(st.integers(1, len(names) - 1))
    public = st.sets(st.integers(0, n_public - 1), min_size=1)
    sensitive = st.sets(st.integers(n_public, len(names) - 1), min_size=1)
    stated = data.draw(st.lists(st.tuples(public, sensitive), min_size=1, max_size=5))
    rules = Rules.of([(list(p), list(s)) for p, s in stated], pa.array(names)).distinct()
    path = tmp_path_factory.mktemp("rules") / "some.rules"
    write_rules(rules, path)
    again, notes = read_rules(path, names, np.arange(len(names)) >= n_public)
    assert notes == []
    for mine, theirs in (
        (rules.public_starts, again.public_starts),
        (rules.public, again.public),
        (rules.sensitive_starts, again.sensitive_starts),
        (rules.sensitive, again.sensitive),
    ):
        assert mine.tolist() == theirs.tolist()


# ── which items are sensitive ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("stated", ["h,i", "h, i,h", ["h", "i"], '"h",i'])
def test_lists_of_sensitive_items(stated):
    is_sensitive, notes = find_sensitive_items(stated, NAMES)
    assert is_sensitive.tolist() == IS_SENSITIVE.tolist()
    assert notes == []


def test_one_item_and_items_with_commas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_sensitive_items("h", NAMES)[0].sum() == 1
    assert find_sensitive_items("h,", NAMES)[0].sum() == 1
    assert find_sensitive_items('"x, y",z', ["x, y", "z", "u"])[0].tolist() == [True, True, False]
    with pytest.raises(JobError, match="left open"):
        find_sensitive_items('"x, y,z', ["x, y", "z", "u"])


def test_a_file_of_sensitive_items(tmp_path):
    path = written(tmp_path, '\ufeffh\n\n"d e"\nh\n')
    for stated in (path, str(path)):
        assert find_sensitive_items(stated, NAMES)[0].tolist() == [False] * 3 + [True, True, False]
    quoted = written(tmp_path, '"5"" nails"\n')
    assert find_sensitive_items(quoted, ['5" nails', "u"])[0].tolist() == [True, False]


def test_a_comment_is_no_comment_among_items(tmp_path):
    """A line that would be skipped would publish its item as a public one."""
    assert find_sensitive_items(written(tmp_path, "#1\n"), ["#1", "u"])[0].tolist() == [True, False]


def test_a_file_that_is_called_like_an_item_is_ambiguous(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("h").write_text("i\n", encoding="utf-8")
    with pytest.raises(JobError, match="both a file and an item"):
        find_sensitive_items("h", NAMES)
    assert find_sensitive_items("./h", NAMES)[0].tolist() == [False] * 5 + [True]
    assert find_sensitive_items("h,", NAMES)[0].tolist() == [False] * 4 + [True, False]


def test_neither_file_nor_item(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JobError, match="neither a file nor an item"):
        find_sensitive_items("absent.txt", NAMES)


def test_unknown_items_are_all_counted():
    with pytest.raises(DataError, match="3 of 4 items") as caught:
        find_sensitive_items("h,zq1,zq2,zq3,zq1", NAMES)
    assert "zq" not in caught.value.what
    assert caught.value.examples == ["zq1", "zq2", "zq3"]


@pytest.mark.parametrize("stated", [[], ",", ["a", "b", "c", "d e", "h", "i"]])
def test_rules_need_both(stated):
    with pytest.raises(DataError, match="item would be sensitive"):
        find_sensitive_items(stated, NAMES)
    assert len(find_sensitive_items(stated, NAMES, needs_both=False)[0]) == 6


def test_a_share_is_drawn_by_seed_and_said_so():
    names = pa.array(np.arange(200))
    is_sensitive, notes = find_sensitive_items("share:0.1", names, seed=3)
    assert is_sensitive.sum() == 20
    assert "experiments" in notes[0]
    again, other = (find_sensitive_items("share:0.1", names, seed=seed)[0] for seed in (3, 4))
    assert (is_sensitive == again).all()
    assert (is_sensitive != other).any()
    for stated in ("share:0", "share:1", "share:x", "share:-1", "share:nan"):
        with pytest.raises(JobError, match="no share"):
            find_sensitive_items(stated, names)


# ── weights ─────────────────────────────────────────────────────────────────────────────────────


def test_weights_are_read(tmp_path):
    path = written(tmp_path, 'item,weight\nc,2.5\n"d e",1e-3\n\n')
    assert read_weights(path, NAMES).tolist() == [1, 1, 2.5, 1e-3, 1, 1]


def test_all_problems_of_weights_are_listed(tmp_path):
    text = "item,weight\na,1\na,2\nzq,1\nb,0\nc,-1\nh,x\ni,nan\nb,inf\nc\n,3\na,1,2\n"
    with pytest.raises(DataError) as caught:
        read_weights(written(tmp_path, text), NAMES)
    for told in (
        "named again: 2 (lines 3, 9)",
        "none of the data's: 1 (line 4)",
        "no numbers above 0: 5 (lines 5, 6, 7, 8, 9)",
        "not  item,weight: 3 (lines 10, 11, 12)",
    ):
        assert told in caught.value.what
    assert "zq" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "a,1\n", "item;weight\na;1\n"])
def test_weights_need_their_header(tmp_path, text):
    with pytest.raises(DataError, match="first line"):
        read_weights(written(tmp_path, text), NAMES)
