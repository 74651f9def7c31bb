"""Trees of splits, as plain data and as they are drawn."""

from incrowd.figures.trees import MOST_NODES, split_data, split_tree


def test_splits_know_their_parents():
    # 6 items into 4 and 2, the 4 into 3 and 1; children are numbered after later splits here
    splits = split_data([1, 3, -1, -1, -1], [2, 4, -1, -1, -1], [6, 4, 2, 3, 1])
    assert [split["parent"] for split in splits] == [-1, 0, 0, 1, 1]
    assert [split["n_items"] for split in splits] == [6, 4, 2, 3, 1]
    assert [split["is_part"] for split in splits] == [False, False, True, True, True]
    tree = split_tree(splits)
    assert sum(node.weight for node in tree.nodes) == 6
    assert [node.is_shown for node in tree.nodes] == [False, False, True, True, True]


def test_no_split_at_all():
    assert split_data([], [], []) == ()
    (only,) = split_tree(split_data([-1], [-1], [5])).nodes
    assert (only.weight, only.is_shown, only.parent) == (5, True, -1)


def test_a_large_tree_is_cut_and_says_so():
    n_splits = 400  # a comb: one item off at a time
    left = [2 * n + 1 if n < n_splits else -1 for n in range(n_splits + 1)]
    n_items = [n_splits + 1]
    lefts, rights = [1], [2]
    for split in range(1, n_splits):
        n_items += [1, n_splits + 1 - split]
        lefts += [-1, 2 * split + 1]
        rights += [-1, 2 * split + 2]
    n_items += [1, 1]
    lefts += [-1, -1]
    rights += [-1, -1]
    assert len(left) == n_splits + 1
    tree = split_tree(split_data(lefts, rights, n_items))
    assert len(tree.nodes) == MOST_NODES
    assert "not drawn" in tree.note
    assert all(node.parent < place for place, node in enumerate(tree.nodes))
    assert [node.parent for node in tree.nodes].count(-1) == 1
