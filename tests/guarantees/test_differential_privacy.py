"""Differential privacy: no file can be checked for it, and a record is worth what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guarantees.small_sets import to_sets
from incrowd.errors import InputError, JobError
from incrowd.guarantees.sets.differential_privacy import (
    LABEL_NOT_DP,
    SEEDED_NOISE,
    SYSTEM_NOISE,
    EdgeDp,
    NodeDp,
    NoiseRecord,
)
from incrowd.guarantees.sets.promises import SetEvidence

RECORD = NoiseRecord(
    level="edge",
    epsilon=2.0,
    cell_epsilon=2.0,
    flip_probability=0.119,
    n_rows=10,
    n_items=5,
    graph="bipartite",
    has_self_loops=True,
    has_public_items=True,
    source=SYSTEM_NOISE,
)


@pytest.mark.parametrize("guarantee", [EdgeDp(1.0), NodeDp(1.0)])
def test_a_file_cannot_be_checked(guarantee):
    with pytest.raises(InputError, match="property of the mechanism, not of a file") as refused:
        guarantee.check(SetEvidence(to_sets([{0}] * 8)))
    assert refused.value.exit_status == 2


def test_record_of_a_good_run_holds_and_says_everything():
    finding, rerun = EdgeDp(2.0).attest(RECORD)
    assert finding.holds is True
    assert finding.figures["noise"] == SYSTEM_NOISE
    assert finding.figures["neighbours"] == "inputs that differ in one entry"
    assert "adds its epsilon" in rerun.summary
    node = replace(RECORD, level="node", cell_epsilon=0.4)
    finding, _ = NodeDp(2.0).attest(node)
    assert finding.holds is True
    assert finding.figures["neighbours"] == "inputs that differ in the items of one row"


def test_record_of_another_run_does_not_hold():
    assert EdgeDp(1.0).attest(RECORD)[0].holds is False  # it spent 2
    assert NodeDp(2.0).attest(RECORD)[0].holds is False  # it was about entries
    assert EdgeDp(2.0).attest(replace(RECORD, source=SEEDED_NOISE))[0].holds is False


def test_items_of_the_data_are_labelled():
    finding, _ = EdgeDp(2.0).attest(replace(RECORD, has_public_items=False))
    assert finding.holds is None
    assert finding.summary == LABEL_NOT_DP


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "2", True, 51.0])
def test_bad_epsilon(epsilon):
    with pytest.raises(JobError):
        EdgeDp(epsilon)
    if epsilon != 51.0:
        with pytest.raises(JobError):
            NodeDp(epsilon)
