"""A small neural network learns Adult's income from anonymized features (Figures 4 and 7).

Esfandiari et al. 2022, §6: only the features of the rows that are learned from are anonymized, not
the labels; accuracy is counted on rows held back, as they are. One hidden layer of ten rectified
units. A seed draws the rows held back, the search and the network's beginning.
"""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adaptive.data import ADULT
from benchmarks.sets.data import SetData, Sizes, adult_sets
from benchmarks.shared.cases import Measured, Task
from benchmarks.shared.provenance import require_file
from incrowd.engines.local.engine import LocalEngine
from incrowd.measures.losses.sets import measure_set_losses
from incrowd.methods.randomized_response.method import RandomizedResponse
from incrowd.methods.shared.set_groups.vote import SetConditions, shown
from incrowd.methods.table import METHODS
from incrowd.progress import silent
from incrowd.sets.sets import Sets
from incrowd.tables.files.read import read_table

HELD_BACK = 0.25
LABEL = "salary-class"

Anonymize = Callable[[Sets, int], Sets]

LEARNERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cluster-smooth": ("cluster", "smooth", {}),
    "cluster-suppression": ("cluster", "suppression", {}),
    "facility-smooth": ("facility", "smooth", {"cut": False}),
    "mondrian": ("mondrian", "suppression", {}),
}
"""By name: the method, the guarantee and the settings; the paper's own is facility's, uncut."""


def learning(sizes: Sizes) -> dict[str, Task]:
    """Plan the baselines, each method by k, and node differential privacy by ε."""
    planned = {"learning-baselines": _case(sizes, _baselines)}
    for name, (method, guarantee, settings) in LEARNERS.items():
        planned[f"learning-{name}"] = _case(sizes, _by_k(method, guarantee, settings))
    planned["learning-node-dp"] = _case(sizes, _by_epsilon)
    return planned


class Learner:
    """Adult's rows as sets with labels, and a network to be trained on some of them."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self.sizes = sizes
        path = require_file(folder, ADULT)
        sets = adult_sets(path)
        labels = np.array(read_table(path).frame.column(LABEL).to_pylist())
        n_rows = min(sizes.most_rows or sets.n_rows, sets.n_rows)
        self.sets = sets.take(np.arange(n_rows))
        self.is_rich = labels[:n_rows] == max(labels)  # '>50K' sorts after '<=50K'
        self.record = SetData("adult", sizes.most_rows).record(folder)

    def accuracy(self, anonymize: Anonymize) -> Measured:
        """Train on anonymized rows and test on original ones, with every seed."""
        found = []
        for seed in range(self.sizes.learning_seeds):
            learned, held_back = self._split(seed)
            features = as_matrix(anonymize(self.sets.take(learned), seed))
            tested = as_matrix(self.sets.take(held_back))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it could go on learning
                network = self._network(seed).fit(features, self.is_rich[learned])
            found.append(float(network.score(tested, self.is_rich[held_back])))
        return interval(found)

    def majority(self) -> Measured:
        """Say of every row held back what most of the others are."""
        found = []
        for seed in range(self.sizes.learning_seeds):
            learned, held_back = self._split(seed)
            says = self.is_rich[learned].mean() >= 0.5
            found.append(float((self.is_rich[held_back] == says).mean()))
        return interval(found)

    def _split(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.random.default_rng([seed, 0xF16]).permutation(self.sets.n_rows)
        n_held_back = round(HELD_BACK * self.sets.n_rows)
        return np.sort(order[n_held_back:]), np.sort(order[:n_held_back])

    def _network(self, seed: int) -> Any:
        from sklearn.neural_network import MLPClassifier

        return MLPClassifier(
            hidden_layer_sizes=(10,),
            activation="relu",
            max_iter=self.sizes.epochs,
            random_state=seed,
        )


def interval(found: list[float]) -> Measured:
    """Return the mean and half the width of its 95% interval, by Student's distribution."""
    from scipy.stats import t

    half = 0.0
    if len(found) > 1:
        half = float(t.ppf(0.975, len(found) - 1)) * statistics.stdev(found) / math.sqrt(len(found))
    return {"n_seeds": len(found), "accuracy": statistics.fmean(found), "interval": half}


def as_matrix(sets: Sets) -> Any:
    """Return the sets as SciPy's sparse matrix of zeros and ones."""
    from scipy.sparse import csr_matrix

    ones = np.ones(sets.n_entries, dtype=np.float32)
    return csr_matrix((ones, sets.items, sets.starts), shape=(sets.n_rows, sets.n_items))


def _case(sizes: Sizes, measure: Callable[[Learner], list[Measured]]) -> Task:
    def task(folder: Path) -> list[Measured]:
        versions = {name: version(name) for name in ("scikit-learn", "scipy")}
        learner = Learner(folder, sizes)
        stated = {"data": learner.record, "epochs": sizes.epochs, "versions": versions}
        return [{**stated, **one} for one in measure(learner)]

    return task


def _baselines(learner: Learner) -> list[Measured]:
    return [
        {"name": "no anonymization", **learner.accuracy(lambda sets, _: sets)},
        {"name": "majority label", **learner.majority()},
    ]


def _by_k(
    name: str, guarantee: str, settings: dict[str, Any]
) -> Callable[[Learner], list[Measured]]:
    def measure(learner: Learner) -> list[Measured]:
        method: Any = METHODS[name](**settings)
        results = []
        for k in learner.sizes.learning_k:
            conditions = SetConditions(guarantee, k)
            similarities: list[float] = []

            def anonymize(
                sets: Sets,
                seed: int,
                conditions: SetConditions = conditions,
                kept: list[float] = similarities,
            ) -> Sets:
                found = method.search(sets, conditions, LocalEngine(threads=1), seed, silent)
                released = shown(sets, found.group_of_row, conditions)
                kept.append(measure_set_losses(sets, released).jaccard)
                return released

            stated = {"method": name, "guarantee": guarantee, "settings": settings, "k": k}
            accuracy = learner.accuracy(anonymize)
            results.append({**stated, **accuracy, "jaccard": statistics.fmean(similarities)})
        return results

    return measure


def _by_epsilon(learner: Learner) -> list[Measured]:
    results = []
    for epsilon in learner.sizes.learning_epsilons:

        def anonymize(sets: Sets, seed: int, epsilon: float = epsilon) -> Sets:
            method = RandomizedResponse(insecure_noise_seed=seed)
            return method.respond(sets, "node", epsilon, silent).released

        results.append({"epsilon": epsilon, **learner.accuracy(anonymize)})
    return results
