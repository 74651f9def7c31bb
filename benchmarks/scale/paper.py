"""What the papers say of running on many processors. Nothing here was measured by us.

Their figures are drawings: what stands here is told in their texts and tables. The speed-ups of
greedy's paper are in ``paper_tables``.
"""

from __future__ import annotations

GREEDY_COMMUNICATION = (
    ("`pgpkaa`", "O(p)", "falls with processors; 5 s for 32 of them and k = 100, Adult"),
    ("`pgkaa`", "O(np)", "grows with processors, two rounds for every merge; 82 s for the same"),
    ("`h-pgpkaa`", "O(np / log² p)", "falls with the number of blocks"),
)
"""Theorems 2 to 4, and Figures 7 and 10 as told in the text: rounds, and how long they take."""

ADAPTIVE = (
    ("Figure 4", "one node of 32 cores, strong", "27× on 32 threads for the larger problems"),
    ("Figure 5", "MPI and threads, strong", "scales to 8,192 cores; Adult to 1,024"),
    ("Figure 6", "64 to 4,096 cores, weak", "curves nearly level; no figures are printed"),
)
"""Khan et al. (2018), section VI: Haswell processors of 2.3 GHz, 32 cores and 128 GB a node."""

RULES = (
    (
        "Figure 2a",
        "4X, by the number of nodes (13, one the master)",
        "time falls with nodes; no figures are printed",
    ),
    ("Figure 2b", "the same", "near linear on few nodes, then less: one reducer splits"),
)
"""Memon and Shao (2015), section 5: Hadoop on nodes of 2 GB and 100 Mbit/s."""
