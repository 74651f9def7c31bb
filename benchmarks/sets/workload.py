"""The workload ``sets``: lists, sparse matrices and graphs beside their paper, in named cases.

==========  =========================================================================
part        what it measures
==========  =========================================================================
tables      Tables 1 and 3: every method on every data set, by k, with means of seeds
paper       Tables 1 and 3 as the paper has them: clusters divided, Mondrian by columns
most        what no release of a data set can exceed
parameters  facility's α and β
noise       Figures 2, 3(c) and 6: ε and similarity; the bound of Theorem 4.4
learning    Figures 4 and 7: a network learns from anonymized rows
scale       millions of generated lists through the whole product
chunks      facility in chunks of near lists, as they come and repaired, beside cluster
neighbours  near rows by our loops, by SciPy and by scikit-learn
==========  =========================================================================

Esfandiari, Epasto, Mirrokni, Munoz Medina and Vassilvitskii (2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.scale.runs import Place, lists, measure
from benchmarks.sets.data import BASKETS, BLOCK_MODEL, FULL, GRAPHS, SMALL, SetData, Sizes
from benchmarks.sets.learning import learning
from benchmarks.sets.neighbours import neighbours
from benchmarks.sets.noise import bound_case, density_case, epsilon_case
from benchmarks.sets.page import CHARTS, TABLES
from benchmarks.sets.paper import bound_of
from benchmarks.sets.runs import GROUPED_FOR_ANY, task_of
from benchmarks.shared.cases import Task, Workload
from benchmarks.shared.processes import Case

BOTH, MAJORITY = ["smooth", "suppression"], "majority"


# ── tables ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Repeats:
    """How often a method is run on some data: at k = 8, and at each other k.

    ``seeds`` and ``few_seeds`` are of the sizes, ``once`` is one run, ``never`` none. Where a
    method is not run at all, ``outcome`` says why. ``settings`` are those that make it bearable.
    """

    at_k: str = "seeds"
    elsewhere: str = "once"
    outcome: str = ""
    settings: tuple[tuple[str, Any], ...] = ()

    def cases(self, sizes: Sizes, case: Case) -> list[Case]:
        """Return a case for every k that it is run at; majority is of one k, and of few seeds."""
        case = {**case, "settings": {**case["settings"], **dict(self.settings)}}
        if self.outcome:
            return [{**case, "k": sizes.k, "outcome": self.outcome}]
        times = {"seeds": sizes.seeds, "few_seeds": sizes.few_seeds, "once": 1, "never": 0}
        found = []
        for k in sizes.all_k:
            n_seeds = times[self.at_k if k == sizes.k else self.elsewhere]
            if not n_seeds:
                continue
            given = {**case, "k": k, "n_seeds": n_seeds, "guarantees": BOTH}
            if k == sizes.k and case["method"] in GROUPED_FOR_ANY:
                given["guarantees"] = [*BOTH, MAJORITY]
            found.append(given)
            if k == sizes.k and case["method"] not in GROUPED_FOR_ANY:
                few = min(n_seeds, sizes.few_seeds)
                found.append({**given, "n_seeds": few, "guarantees": [MAJORITY]})
        return found


OFTEN = Repeats(elsewhere="seeds")
ONCE = Repeats("once", "once")
QUICK = Repeats("once", "once", settings=(("effort", "quick"),))
ONE_ORDER = Repeats("once", "never", settings=(("orders", 1),))
LONG = ("kosarak70k", "retail", "t10i4d100k")
CLUSTER = {
    "adult": Repeats(elsewhere="few_seeds"),
    "cit-hepph": Repeats("few_seeds"),
    **dict.fromkeys(LONG, QUICK),
}
FACILITY = {
    "bms-webview1": Repeats("few_seeds", "never"),
    **dict.fromkeys(LONG, ONE_ORDER),
}
"""On which data a method is run more or less often than others, or with less effort."""


def tables(sizes: Sizes) -> dict[str, Task]:
    """Plan every method on every data set."""
    planned = {BLOCK_MODEL: _table(_block_model(sizes), OFTEN, OFTEN, sizes)}
    for name in ("adult", "playstore", *GRAPHS, *BASKETS):
        cluster = CLUSTER.get(name, Repeats())
        facility = FACILITY.get(name, Repeats("few_seeds"))
        planned[name] = _table(SetData(name, sizes.most_rows), cluster, facility, sizes)
    return planned


def _block_model(sizes: Sizes) -> SetData:
    return SetData(BLOCK_MODEL, sizes.block_rows, sizes.block_size, sizes.seeds)


def _table(data: SetData, cluster: Repeats, facility: Repeats, sizes: Sizes) -> Task:
    cases = cluster.cases(sizes, {"method": "cluster", "settings": {}})
    for is_cut in (False, True):
        cases += facility.cases(sizes, {"method": "facility", "settings": {"cut": is_cut}})
    by_instances = OFTEN if data.n_instances > 1 else ONCE  # there is no chance in it
    cases += by_instances.cases(sizes, {"method": "mondrian", "settings": {}})
    return task_of(data, cases)


def paper(sizes: Sizes) -> dict[str, Task]:
    """Plan the paper's own columns: its clusters whole and divided, and the Mondrian it names."""
    planned = {}
    for data in (
        _block_model(sizes),
        SetData("adult", sizes.most_rows),
        SetData("playstore", sizes.most_rows),
    ):
        n_seeds = sizes.seeds if data.n_instances > 1 else sizes.few_seeds
        given = {"k": sizes.k, "settings": {}, "guarantees": BOTH}
        planned[f"paper-{data.name}"] = task_of(
            data,
            [
                {**given, "method": "facility", "settings": {"cut": False}, "n_seeds": n_seeds},
                {**given, "method": "divided", "n_seeds": n_seeds},
                {**given, "method": "first-column", "n_seeds": sizes.seeds},
            ],
        )
    return planned


def most(sizes: Sizes) -> dict[str, Task]:
    """Plan the bound that the nearest rows of every data set give."""
    names = ("adult", "playstore", *GRAPHS, *(name for name in BASKETS if name not in LONG))
    every = [_block_model(sizes), *(SetData(name, sizes.most_rows) for name in names)]
    return {f"most-{data.name}": partial(bound_of, data, sizes.k) for data in every}


# ── parameters ──────────────────────────────────────────────────────────────────────────────────


def parameters(sizes: Sizes) -> dict[str, Task]:
    """Plan facility's α (Alg. 2) and β (the practical variant), as the paper leaves them uncut."""
    planned = {}
    for data in (_block_model(sizes), SetData("adult", sizes.most_rows)):
        settings: list[dict[str, Any]] = [
            {"variant": "alg2", "alpha": alpha, "cut": False} for alpha in sizes.alphas
        ]
        settings += [{"beta": beta, "cut": False} for beta in sizes.betas]
        given = {"method": "facility", "k": sizes.k, "n_seeds": sizes.few_seeds, "guarantees": BOTH}
        planned[f"parameters-{data.name}"] = task_of(
            data, [{**given, "settings": one} for one in settings]
        )
    return planned


def noise(sizes: Sizes) -> dict[str, Task]:
    """Plan ε by density, ε on each data set of the paper's kind, and the bound."""
    planned = {"density": density_case(sizes), "epsilon-block-model": _epsilon(sizes, BLOCK_MODEL)}
    for name in ("adult", "playstore", *GRAPHS):
        planned[f"epsilon-{name}"] = _epsilon(sizes, name)
    for n_rows, block_size in sizes.bound_rows:
        planned[f"bound-{n_rows}"] = bound_case(n_rows, block_size, sizes.few_seeds)
    return planned


def _epsilon(sizes: Sizes, name: str) -> Task:
    data = _block_model(sizes) if name == BLOCK_MODEL else SetData(name, sizes.most_rows)
    return epsilon_case(data, sizes)


def scale(sizes: Sizes) -> dict[str, Task]:
    """Plan lists through the whole product, and one length quickly, in chunks and as a whole."""
    place = Place("memory", sizes.list_memory)
    planned = {f"lists-{n_rows}": _lists(sizes, n_rows, place) for n_rows in sizes.list_rows}
    n_rows, quick = sizes.whole_rows, ("--effort", "quick")
    planned[f"quick-chunks-{n_rows}"] = _lists(sizes, n_rows, Place("memory"), *quick)
    whole = (*quick, "--chunk-rows", str(n_rows))
    planned[f"quick-whole-{n_rows}"] = _lists(sizes, n_rows, Place("memory"), *whole)
    return planned


def chunks(sizes: Sizes) -> dict[str, Task]:
    """Plan the paper's way to many rows, and what repairs and another search make of its chunks."""
    small, facility = ("--chunk-rows", str(sizes.chunk_rows)), ("--orders", "2")
    first, *_ = sizes.chunked_rows
    wanted = {
        f"facility-alone-{first}": (first, "facility", (*facility, "--repairs", "0")),
        **{f"facility-{n_rows}": (n_rows, "facility", facility) for n_rows in sizes.chunked_rows},
        f"cluster-{first}": (first, "cluster", ()),
    }
    return {
        name: partial(
            measure,
            lists(n_rows, sizes.list_items, *small, *more, method=method),
            Place("memory"),
        )
        for name, (n_rows, method, more) in wanted.items()
    }


def _lists(sizes: Sizes, n_rows: int, place: Place, *more: str) -> Task:
    return partial(measure, lists(n_rows, sizes.list_items, *more), place)


WORKLOAD = Workload(
    "sets",
    {
        "tables": tables,
        "paper": paper,
        "most": most,
        "parameters": parameters,
        "noise": noise,
        "learning": learning,
        "scale": scale,
        "chunks": chunks,
        "neighbours": neighbours,
    },
    FULL,
    SMALL,
    TABLES,
    CHARTS,
)
