"""Equation 2 of greedy's paper: the parts' losses, weighed by their rows, against a count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines.local.engine import LocalEngine
from incrowd.hierarchies.costs import cost_to_root
from incrowd.measures.losses.tables import METRICS as LOSSES
from incrowd.methods.greedy.search import loss_by_parts
from incrowd.methods.shared.conditions import Conditions
from incrowd.methods.shared.options import METRICS
from incrowd.progress import silent
from oracles.generated import grid, tables


def counted(rows, after, parts, metric):
    """Equation 2 as it is printed, part by part and cell by cell."""
    total = 0.0
    for part in set(parts):
        members = [row for row, other in enumerate(parts) if other == part]
        lost = most = 0.0
        for tree, old, new in zip(rows.hierarchies, rows.nodes, after, strict=True):
            price = cost_to_root(tree, metric).tolist()
            for row in members:
                lost += price[old[row]] - price[tree.root if new[row] < 0 else new[row]]
                most += price[old[row]]
        total += (lost / most if most else 0.0) * len(members) / len(parts)
    return total


@given(st.data())
def test_against_the_printed_sum(data):
    rows = data.draw(tables())
    metric = data.draw(st.sampled_from(METRICS))
    parts = data.draw(st.lists(st.integers(0, 3), min_size=rows.n_rows, max_size=rows.n_rows))
    after = rows.nodes.copy()
    for column, tree in enumerate(rows.hierarchies):
        for row in range(rows.n_rows):
            after[column, row] = data.draw(st.sampled_from(tree.ancestors(after[column, row])))
    if data.draw(st.booleans()):
        after[:, 0] = -1
    found = loss_by_parts(rows, after, np.asarray(parts), metric)
    assert found == pytest.approx(counted(rows, after, parts, metric))


def test_the_trace_has_it_where_there_are_parts():
    rows = grid(600)
    engine = LocalEngine(1)
    whole = ic.Greedy().run(rows, Conditions(5), engine, 0, silent)
    assert "equation_2" not in whole.trace.figures
    for metric in ("loss", "nllm"):
        after = ic.Greedy(metric=metric, partitions=3, repair="no").run(
            rows, Conditions(5), engine, 0, silent
        )
        assert after.trace.figures["partitions_searched"] == 3
        joined = LOSSES[metric](rows, after)
        assert after.trace.figures["equation_2"] == pytest.approx(joined, rel=0.05)
        if metric == "loss":  # every leaf costs 1: the same
            assert after.trace.figures["equation_2"] == pytest.approx(joined, abs=1e-8)


def test_the_audit_has_it():
    job = ic.Job(
        schema=ic.Schema(quasi=["age", "sex", "zip"]),
        guarantee=ic.KAnonymity(4),
        method=ic.Greedy(metric="ncp", partitions=2, repair="no"),
    )
    audit = ic.anonymize(ic.sample_census(400), job).audit
    said = audit.method["parameters"]
    assert said["partitions_searched"] == 2
    assert said["equation_2"] == pytest.approx(audit.losses["ncp"], abs=1e-8)
