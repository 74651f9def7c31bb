"""What Khan et al. (2018) print: Tables II and III, on Haswell processors of 2.3 GHz."""

from __future__ import annotations

UTILITY_DIFFERENCE = {"caltech36": -0.85, "reed98": -0.32}
"""Table II: utility of MCE against exact b-matching by belief propagation, in percent points."""

MCE_SECONDS = {"caltech36": 10, "reed98": 22}
EXACT_SECONDS = {"caltech36": 795, "reed98": 1_247}
"""Table II: one thread, to convergence, and belief propagation."""

LARGE = {
    "adult": (90.4, "15 s"),
    "census": (87.1, "13 min"),
    "poker": (81.3, "46 min"),
    "hands": (81.3, "46 min"),
    "payments": (79.3, "6 h 11 min"),
}
"""Table III: utility in percent at the end and the least time, 32 cores, all iterations."""

FIRST_UTILITY = {"payments": 70.9}
"""Section VI: utility in percent after the first iteration, of the CMS data alone."""

WORKING_SETS = ("on the fly", "8", "32", "128")
SECONDS_BY_WORKING_SET = {"adult": (108, 18, 15, 20), "poker": (86_400, 3_060, 2_760, 3_720)}
"""Table III: seconds by entries a row in units of the largest k; 86,400 is "more than 24 h"."""
