"""The workload compare: what it measures, and what the docs make of it."""

import os
from pathlib import Path

import pytest

from benchmarks.compare import workload
from benchmarks.compare.page import COMPARE_DRAWINGS, COMPARE_TABLES
from incrowd.compare import comparison
from incrowd.compare.measure import measure_point
from incrowd.progress import silent

DATA = os.environ.get("INCROWD_DATA")


def made_up():
    """Results of four points, one of them recommended."""
    points = [
        {
            "key": f"k={k} method={method}",
            "point": {"k": k, "method": method},
            "losses": {"loss": loss},
            "seconds": seconds,
            "cpu_seconds": 1.5 * seconds,
            "peak_memory_bytes": 300 << 20,
            "utility": {
                "queries": {"are": 2 * loss, "n_queries": 1000, "n_predicates": 2, "bound": 30.1},
                "learning": {
                    "accuracy": 0.8 - loss / 10,
                    "accuracy_original": 0.83,
                    "column": "salary-class",
                    "best_model": "gradient boosting",
                    "n_tested": 9049,
                    "baseline": {"accuracy": 0.75},
                },
            },
        }
        for k, method, loss, seconds in (
            (2, "cluster", 0.1, 4.0),
            (2, "mondrian", 0.2, 0.5),
            (50, "cluster", 0.3, 8.0),
            (50, "mondrian", 0.4, 0.4),
        )
    ]
    return {
        "machine": {"cores": 2},
        "commit": "0123456",
        "comparison": {
            "points": points,
            "front": ["k=2 method=cluster", "k=50 method=mondrian"],
            "recommended": {"key": "k=50 method=cluster", "reason": "It is the one."},
        },
    }


def test_the_table_has_a_line_per_point():
    text = COMPARE_TABLES["compare-adult"](made_up())
    lines = text.splitlines()
    assert (
        lines[2] == "| `cluster` | 2 | 10.00 | 20.00 | 79.00 | 4.00 s | 6.00 s | 300 MB | front |"
    )
    assert lines[4].endswith("| **recommended** |")
    assert lines[5].endswith("| front |")
    assert "9,049 held-back rows" in text
    assert "It is the one." in COMPARE_TABLES["compare-reason"](made_up())


def test_the_drawings_have_a_line_per_method_and_a_panel_per_k():
    against_k = COMPARE_DRAWINGS["compare-adult-k.svg"](made_up())
    assert against_k.count("<polyline") == 4  # two methods, loss and error
    against_time = COMPARE_DRAWINGS["compare-adult-time.svg"](made_up())
    assert "k = 2" in against_time
    assert "k = 50" in against_time


@pytest.mark.skipif(not DATA, reason="INCROWD_DATA names no folder of data sets")
def test_adult_is_compared(monkeypatch):
    def here(planned, folder, asked):
        folder.mkdir(mode=0o700)
        return measure_point(planned.job, folder, asked)

    monkeypatch.setattr(comparison, "_in_process", here)
    monkeypatch.setattr(workload, "K", (50,))
    monkeypatch.setattr(workload, "METHODS", ("mondrian",))
    found = workload.run(Path(DATA), silent)
    (point,) = found["comparison"]["points"]
    assert point["smallest_group"] >= 50
    assert point["utility"]["learning"]["is_split_first"]
    baseline = point["utility"]["learning"]["baseline"]["accuracy"]
    assert point["utility"]["learning"]["accuracy"] > baseline + 0.03
    assert "mondrian" in COMPARE_TABLES["compare-adult"](found)
