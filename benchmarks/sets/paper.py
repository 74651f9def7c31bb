"""What Esfandiari et al. (2022) print: Table 3 (k = 8) and deviations, from its Appendix D."""

from __future__ import annotations

K = 8

TABLE_3: dict[str, dict[str, tuple[float, float, float]]] = {
    "block-model": {
        "mondrian": (2.2, 97.8, 0.0),
        "suppression": (16.4, 83.6, 0.0),
        "smooth": (68.1, 17.7, 21.0),
    },
    "adult": {
        "mondrian": (59.9, 40.1, 0.0),
        "suppression": (64.8, 35.2, 0.0),
        "smooth": (85.0, 8.9, 7.2),
    },
    "playstore": {
        "mondrian": (51.2, 48.8, 0.0),
        "suppression": (39.2, 60.8, 0.0),
        "smooth": (66.1, 26.2, 11.6),
    },
    "dblp": {"suppression": (4.3, 95.7, 0.0), "smooth": (7.4, 92.5, 1.4)},
    "stanford": {"suppression": (48.0, 52.0, 0.0), "smooth": (52.6, 46.1, 2.4)},
    "user-lists": {"suppression": (67.3, 32.7, 0.0), "smooth": (71.0, 27.7, 1.9)},
}
"""Percent of Jaccard similarity, of entries suppressed and created. Smooth and suppression are of
the paper's own method, Mondrian of another's, by suppression. Table 1 is a part of it."""

OF_THE_KIND = {"ca-condmat": "dblp", "cit-hepph": "stanford"}
"""Data of the same kind, not the same data: the paper's are larger."""

EPSILON_OF_K = (
    ("adult and playstore, k from 4 to 64", "about 4 to 5"),
    ("k = 16 on the data that need most", "11"),
)
"""Appendix D on Figure 6: the ε for edges that keeps as much as a k."""
