"""The cost model of the workload scale, on runs whose costs are known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale.model import (
    STAGES,
    Line,
    Machines,
    StageCost,
    distinct_at,
    fitted,
    model_of,
    with_search_of,
)

TASKS = dict(zip(STAGES, (1.0, 4.0, 8.0, 6.0, 5.0, 3.0), strict=True))
REST = dict(zip(STAGES, (0.0, 2.0, 9.0, 1.0, 0.5, 0.25), strict=True))


def run_of(n_rows, n_distinct, n_cores=2, has_tasks=True):
    """Return a run whose every stage costs what the tables above say, and a start of 7 s."""
    millions, distinct = n_rows / 1e6, n_distinct / 1e6
    tasks = {
        name: cost * (distinct if name == "search" else millions) for name, cost in TASKS.items()
    }
    if has_tasks:
        stages = {name: 0.5 + REST[name] * distinct + tasks[name] / n_cores for name in STAGES}
    else:
        stages = {name: 0.5 + tasks[name] for name in STAGES}
    run = {
        "n_rows": n_rows,
        "n_cores": n_cores,
        "data": {"n_distinct": n_distinct},
        "stages": stages,
        "seconds": 7 + sum(stages.values()),
        "driver_memory_bytes": 1e8 + 100 * n_distinct,
        "worker_memory_bytes": 5e7 + 200 * n_rows / n_cores,
    }
    if has_tasks:
        run["shuffle_bytes"] = 40 * n_rows
        run["tasks_by_stage"] = {name: {"task_seconds": taken} for name, taken in tasks.items()}
    return run


FIT = [run_of(250_000, 80_000), run_of(1_000_000, 150_000), run_of(2_000_000, 210_000)]


@given(
    fixed=st.floats(0, 100),
    slope=st.floats(0, 100),
    counts=st.sets(st.integers(1, 10**7), min_size=2, max_size=6),
)
def test_a_line_is_found_again(fixed, slope, counts):
    true = Line(fixed, slope)
    found = fitted([(count, true.at(count)) for count in counts])
    for count in (min(counts), max(counts)):
        assert found.at(count) == pytest.approx(true.at(count), rel=1e-5, abs=1e-4)


@given(st.lists(st.tuples(st.integers(1, 10**8), st.floats(0, 1e4)), min_size=1, max_size=6))
def test_no_line_falls_or_begins_below_nothing(points):
    found = fitted(points)
    assert found.fixed >= 0
    assert found.per_million >= 0


def test_one_count_makes_a_line_through_nothing():
    assert fitted([(2_000_000, 6.0), (2_000_000, 10.0)]) == Line(0.0, 4.0)
    assert fitted([(1_000_000, 5.0), (2_000_000, 3.0)]) == Line(4.0, 0.0)
    with pytest.raises(ValueError, match="no line"):
        fitted([])
    with pytest.raises(ValueError, match="no model"):
        model_of([])


@pytest.mark.parametrize("has_tasks", [True, False])
def test_ten_times_the_rows_are_foretold(has_tasks):
    fit = [run_of(run["n_rows"], run["data"]["n_distinct"], 2, has_tasks) for run in FIT]
    model = model_of(fit)
    true = run_of(10_000_000, 510_000, 2, has_tasks)
    foretold = model.stage_seconds(10_000_000, 510_000, 2)
    assert foretold == pytest.approx(true["stages"])
    assert model.seconds(10_000_000, 510_000, 2) == pytest.approx(true["seconds"])
    assert model.driver_memory.at(510_000) == pytest.approx(1e8 + 100 * 510_000)
    assert model.worker_memory.at(5_000_000) == pytest.approx(5e7 + 200 * 5_000_000)


def test_a_cluster_shortens_tasks_alone_and_has_a_network():
    model = model_of(FIT)
    n_rows, n_distinct = 100_000_000, 1_000_000
    waiting = model.waiting(n_rows, n_distinct)
    assert waiting == pytest.approx(7 + sum(0.5 + REST[name] for name in STAGES))
    tasks = 8.0 + 100 * (sum(TASKS.values()) - 8.0)
    many = Machines(16, 8, network=1e9)
    wanted = waiting + tasks / 128 + 40 * n_rows / 16e9
    assert model.seconds(n_rows, n_distinct, many) == pytest.approx(wanted)


def test_what_every_worker_pays_for_itself_is_not_shortened():
    cost = StageCost(Line(60.0, 8.0), Line(1.0, 2.0), False, fitted_cores=2)
    assert cost.seconds(10e6, 3e6, 1) == pytest.approx(1 + 6 + 30 + 80)
    assert cost.seconds(10e6, 3e6, 80) == pytest.approx(1 + 6 + 30 + 1)


def test_the_search_grows_as_another_s():
    disk = model_of([run_of(run["n_rows"], run["data"]["n_distinct"], 2, False) for run in FIT])
    model = with_search_of(model_of(FIT), disk, 2)
    assert model.stages["search"].tasks.per_million == pytest.approx(16.0)
    assert model.stages["search"].tasks.fixed == model_of(FIT).stages["search"].tasks.fixed
    assert model.stages["read"] == model_of(FIT).stages["read"]


def test_distinct_rows_grow_by_a_power_up_to_all_there_can_be():
    known = [(1_000_000, 100_000), (100_000_000, 1_000_000), (2_000_000, 5)]
    assert distinct_at(10_000, known, 1e9) == pytest.approx(10_000)
    assert distinct_at(10_000_000_000, known, 1e9) == pytest.approx(10_000_000)
    assert distinct_at(10_000_000_000, known, 4e6) == 4e6
    assert distinct_at(2_000, [(1_000, 10)], 1e9) == 20
