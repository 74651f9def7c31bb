"""Costs stated node by node: read, refused, and merged by as the paper's formula has it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import call
from incrowd.encoding.cost_matrices import costs_by_depth, fixed_point_matrices, read_costs
from incrowd.encoding.rows import Rows
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import HierarchyError, IncrowdError, InfeasibleError, InputError, JobError
from incrowd.hierarchies.tree import Hierarchy
from incrowd.measures.losses.tables import stated_cost_share
from incrowd.methods.greedy.method import Greedy
from incrowd.methods.greedy.search import Plan, merge
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.reorganize import column_order
from incrowd.progress import silent
from oracles.generated import as_trees, as_tuples, asked, tables
from oracles.methods import StuckError, greedy
from oracles.validity import is_valid
from tiers import examples

PATHS = [
    ["1st", "Primary", "HS", "*"],
    ["2nd", "Primary", "HS", "*"],
    ["7th", "HS", "*"],
    ["Masters", "Higher", "*"],
    ["Doctorate", "Higher", "*"],
]
WEIGHTS = {"1st": 6.0, "2nd": 6.0, "Primary": 2.0, "HS": 2.0}
PRINTED = """\
,1st,7th,Masters,Doctorate,Primary,HS,*
1st,0,8,10,10,6,8,10
2nd,6,8,10,10,6,8,10
Primary,0,2,4,4,0,2,4
HS,0,0,2,2,0,0,2
*,0,0,0,0,0,0,0
"""
"""The lines of the paper's Figure 4b that its text lets one read."""

COMPLETE = """\
,1st,2nd,7th,Masters,Doctorate,Primary,HS,Higher,*
1st,,6,8,10,10,6,8,10,10
2nd,6,,8,10,10,6,8,10,10
7th,,,,,,,3,,9
Masters,,,,,,,,1,1
Doctorate,,,,,,,,1.5,0.5
Primary,0,0,2,4,4,0,2,4,4
HS,0,0,0,2,2,0,0,2,2
Higher,,,,,,,,,0
*,0,0,0,0,0,0,0,0,0
"""


def education(weights=None):
    return Hierarchy.from_paths("education", PATHS, weight_of=weights)


def written(tmp_path, text):
    path = tmp_path / "education_costs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def cost_of(hierarchy, costs, node, above):
    labels = hierarchy.node_of_label
    return costs[labels[node], hierarchy.depth[labels[above]]]


def test_the_printed_matrix_as_matrix_and_as_weights(tmp_path):
    tree = education()
    stated = read_costs(written(tmp_path, COMPLETE), tree)
    weighted = education(WEIGHTS)
    by_weights = costs_by_depth(weighted, "weights")
    lines = [line.split(",") for line in PRINTED.splitlines()]
    n_compared = 0
    for line in lines[1:]:
        for label, text in zip(lines[0][1:], line[1:], strict=True):
            node, other = tree.node_of_label[line[0]], tree.node_of_label[label]
            paths = tree.ancestors(node), tree.ancestors(other)
            meeting = tree.labels[next(above for above in paths[0] if above in paths[1])]
            assert cost_of(tree, stated, line[0], meeting) == float(text)
            assert cost_of(weighted, by_weights, line[0], meeting) == float(text)
            n_compared += 1
    assert n_compared == 35
    # dearer below than above: no rule binds a matrix
    assert cost_of(tree, stated, "Doctorate", "Higher") > cost_of(tree, stated, "Doctorate", "*")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("7th,,,,,,,3,,9", "7th,,,,,,,3,,-9", "not numbers of 0 or more"),
        ("7th,,,,,,,3,,9", "7th,,,,,,,3,,many", "not numbers of 0 or more"),
        ("7th,,,,,,,3,,9", "7th,,,,,,,3,,inf", "not numbers of 0 or more"),
        ("7th,,,,,,,3,,9", "7th,,,,,,,3,,", "1 costs of a node to an ancestor are missing"),
        ("7th,,,,,,,3,,9\n", "", "2 costs of a node to an ancestor are missing"),
        ("7th,,,,,,,3,,9", "8th,,,,,,,3,,9", "1 labels are not in the hierarchy"),
        ("Higher,*", "Higher,top", "1 labels are not in the hierarchy"),
        ("7th,,,,,,,3,,9", "1st,,,,,,,3,,9", "a label occurs twice"),
        ("7th,,,,,,,3,,9", "7th,,,,,,,3,9", "a line has 9 cells"),
        ("1st,,6,8,10", "1st,,6,7,10", "1 cells contradict"),
        ("Higher,,,,,,,,,0", "Higher,,,,3,,,,,0", "1 cells contradict"),
    ],
)
def test_matrices_that_are_refused(tmp_path, old, new, what):
    assert old in COMPLETE
    with pytest.raises(HierarchyError) as caught:
        read_costs(written(tmp_path, COMPLETE.replace(old, new)), education())
    assert what in caught.value.what
    assert caught.value.remedy
    for value in ("7th", "8th", "many", "Higher"):
        assert value not in caught.value.what


def test_no_file_and_no_matrix(tmp_path):
    with pytest.raises(InputError):
        read_costs(tmp_path / "nowhere.csv", education())
    with pytest.raises(HierarchyError):
        read_costs(written(tmp_path, "alone\n"), education())


def test_labels_that_two_nodes_share(tmp_path):
    tree = Hierarchy("c", ("a", "b", "a", "*"), np.array([2, 3, 3, 3], dtype=np.int32), 2)
    with pytest.raises(HierarchyError, match="one label"):
        read_costs(written(tmp_path, ",a,b,*\na,,,1\nb,,,1\n"), tree)


def test_the_leaf_of_missing_cells_costs_the_dearest(tmp_path):
    tree = education().with_leaves([""])
    costs = read_costs(written(tmp_path, COMPLETE.replace(",", ";")), tree)
    assert costs[tree.leaf_of_value[""], 0] == 10


@st.composite
def stated_costs(draw, tree):
    """Draw a cost for every node and ancestor, free of any rule."""
    costs = np.zeros((tree.n_nodes, int(tree.depth.max(initial=0)) + 1))
    for node in range(tree.n_nodes):
        for above in tree.ancestors(node)[1:]:
            costs[node, tree.depth[above]] = draw(st.integers(0, 12)) / 4
    return costs


def oracle_trees(rows, metric):
    """The oracle's trees, with every cost by pair."""
    found = []
    for tree, costs, shape in zip(
        rows.hierarchies,
        fixed_point_matrices(rows.hierarchies, metric),
        as_trees(rows, metric),
        strict=True,
    ):
        pairs = {
            (node, above): int(costs[node, tree.depth[above]])
            for node in range(tree.n_nodes)
            for above in tree.ancestors(node)
        }
        found.append(replace(shape, costs=pairs))
    return found


@examples(80)
@given(st.data())
def test_same_release_as_the_algorithm_written_out(data):
    rows = data.draw(tables())
    has_costs = data.draw(st.lists(st.booleans(), min_size=rows.n_columns, max_size=rows.n_columns))
    has_costs[0] = True
    trees = [
        replace(tree, costs=data.draw(stated_costs(tree))) if stated else tree
        for tree, stated in zip(rows.hierarchies, has_costs, strict=True)
    ]
    rows = replace(rows, hierarchies=tuple(trees))
    case = data.draw(asked(rows.n_rows))
    columns = column_order(rows, "levels-first")

    def valid(group):
        return is_valid(group, case.rules, 1e-12)

    try:
        expected = greedy(oracle_trees(rows, "ncp"), as_tuples(rows.nodes), columns, valid)
    except StuckError:
        with pytest.raises(InfeasibleError):
            run(rows, case.conditions)
        return
    after = run(rows, case.conditions)
    assert as_tuples(after.nodes) == expected
    lost = sum(
        costs_by_depth(tree, "ncp")[old, tree.depth[new]]
        for tree, olds, news in zip(trees, rows.nodes, after.nodes, strict=True)
        for old, new in zip(olds.tolist(), news.tolist(), strict=True)
    )
    most = sum(
        costs_by_depth(tree, "ncp")[old, 0]
        for tree, olds in zip(trees, rows.nodes, strict=True)
        for old in olds.tolist()
    )
    share = stated_cost_share(rows, after, "ncp")
    assert share == pytest.approx(lost / most if most else 0.0)


def run(rows, conditions, **settings_):
    return Greedy(metric="ncp", **settings_).run(rows, conditions, LocalEngine(1), 0, silent)


@pytest.mark.parametrize("metric", ["ncp", "nllm", "weights"])
def test_a_metric_as_a_matrix_makes_the_same_merges(metric):
    random = np.random.default_rng(4)
    trees = (
        Hierarchy.from_ladder("a", [list("abcdef"), list("uuvvww")]),
        Hierarchy.from_ladder("b", [[str(n) for n in range(16)], [str(n // 4) for n in range(16)]]),
    )
    nodes = np.stack([random.integers(0, tree.n_leaves, 400) for tree in trees]).astype(np.int32)
    rows = Rows(("a", "b"), nodes, trees)
    stated = replace(
        rows,
        hierarchies=tuple(replace(tree, costs=costs_by_depth(tree, metric)) for tree in trees),
    )
    limits = Conditions(7).packed(400)
    found = [
        merge(one.nodes, Plan.of(one, metric, limits, True), limits, with_index=False)
        for one in (rows, stated)
    ]
    assert np.array_equal(found[0].merged_into, found[1].merged_into)
    assert np.array_equal(found[0].released(), found[1].released())


def test_parts_know_the_costs(tmp_path):
    random = np.random.default_rng(8)
    tree = education()
    costs = read_costs(written(tmp_path, COMPLETE), tree)
    flat = Hierarchy.from_ladder("sex", [["F", "M"]])
    nodes = np.stack([random.integers(0, 5, 60), random.integers(0, 2, 60)]).astype(np.int32)
    rows = Rows(("education", "sex"), nodes, (replace(tree, costs=costs), flat))
    after = run(rows, Conditions(11), partitions=2)
    plain = run(replace(rows, hierarchies=(tree, flat)), Conditions(11), partitions=2)
    assert not np.array_equal(after.nodes, plain.nodes)


@pytest.mark.parametrize("costs", [["a=b"], {"a": 3}, {"a": ""}, "a.csv"])
def test_costs_that_are_no_files(costs):
    with pytest.raises(IncrowdError):
        Greedy(costs=costs)


def test_a_run_with_costs(tmp_path):
    import csv

    random = np.random.default_rng(3)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        lines = [[PATHS[random.integers(0, 5)][0], random.integers(20, 40)] for _ in range(80)]
        csv.writer(file).writerows([["education", "age"], *lines])
    paths = "\n".join(";".join([*path[:-1], *["*"] * (5 - len(path))]) for path in PATHS)
    (tmp_path / "education.csv").write_text(paths.replace("7th;HS;*;*", "7th;HS;HS;*"))
    written(tmp_path, COMPLETE)
    words = ["run", "t.csv", "--k", "4", "--quasi", "education,age", "--method", "greedy"]
    words += ["--hierarchy", "education=education.csv", "--json", "--force"]
    words += ["--costs", "education=education_costs.csv", "--save-job", "job.toml"]
    audit = call(*words, folder=tmp_path).json
    assert 0 < audit["losses"]["costs"] < 1
    assert audit["method"]["parameters"]["costs"] == {"education": "education_costs.csv"}
    assert "[method.costs]" in (tmp_path / "job.toml").read_text()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    base = ["run", "../job.toml", "--force", "--json"]
    again = call(*base, folder=elsewhere).json
    assert again["release_sha256"] == audit["release_sha256"]
    moved = [*base, "--costs", "education=../education_costs.csv"]
    assert call(*moved, folder=elsewhere).json["release_sha256"] == audit["release_sha256"]
    release = (tmp_path / "t.release.csv").read_bytes()
    written(tmp_path, COMPLETE.replace("7th,,,,,,,3,,9", "7th,,,,,,,3,,-9"))
    refused = call(*moved, folder=elsewhere)
    assert refused.status == 2
    assert "not numbers of 0 or more" in refused.err
    assert call(*base, "--costs", "education", folder=elsewhere).status == 2
    assert (tmp_path / "t.release.csv").read_bytes() == release


def test_a_job_with_costs(tmp_path):
    from incrowd.job.job import Job

    mapping = {
        "roles": {"education": "quasi-identifying"},
        "guarantee": {"k": 2},
        "method": {"name": "greedy", "costs": {"education": "costs/e.csv"}},
    }
    job = Job.from_mapping(mapping, base=tmp_path)
    assert job.method.costs == {"education": str(tmp_path / "costs" / "e.csv")}
    assert job.to_mapping(tmp_path)["method"]["costs"] == {"education": "costs/e.csv"}
    again = Job.from_mapping(job.to_mapping(tmp_path / "costs"), base=tmp_path / "costs")
    assert again.method.costs["education"].endswith("e.csv")
    with pytest.raises(JobError, match="age"):
        Job.from_mapping({**mapping, "method": {"name": "greedy", "costs": {"age": "e.csv"}}})
    with pytest.raises(JobError, match="not a table"):
        Job.from_mapping({**mapping, "method": {"name": "greedy", "costs": ["education=e.csv"]}})
    with pytest.raises(JobError, match="both costs of its own and a coding"):
        Job.from_mapping({**mapping, "coding": {"education": {"top": 5}}})
    plain = Job.from_mapping({**mapping, "method": {"name": "greedy"}})
    assert "costs" not in plain.to_mapping()["method"]
