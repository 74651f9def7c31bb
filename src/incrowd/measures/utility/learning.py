"""A machine-learning task: a column predicted by models trained on a release, and on its original.

Both are tested on the same original rows, which neither was trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.codes import factorize
from incrowd.encoding.encode import encode_labels
from incrowd.errors import InputError, JobError, unknown
from incrowd.guarantees.evidence import Finding
from incrowd.measures.utility.cells import (
    Codes,
    Column,
    Encoder,
    Numbers,
    columns_of,
    require_owner,
)
from incrowd.tables.columns.types import parse_days, parse_numbers
from incrowd.tables.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.checking.material import TableMaterial


NAME = "utility: learning"
HELD_SHARE = 0.3
MOST_CLASSES = 20
MOST_ROWS = 50_000
"""Rows that a model is trained on, and tested on; of more, so many are drawn by the seed."""

DIGITS = 6


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows to learn from or to be tested on: a class per row, and the cells of each column."""

    classes: Codes
    cells: list[Codes]
    numbers: list[Numbers | None]

    def taken(self, rows: NDArray[Any]) -> _Sample:
        """Return some of the rows."""
        numbers = [None if one is None else one[rows] for one in self.numbers]
        return _Sample(self.classes[rows], [one[rows] for one in self.cells], numbers)

    def drawn(self, seed: int) -> _Sample:
        """Return at most so many rows as a model takes."""
        if len(self.classes) <= MOST_ROWS:
            return self
        draw = np.random.default_rng([seed, 3])
        return self.taken(np.sort(draw.choice(len(self.classes), MOST_ROWS, replace=False)))


def learning_finding(
    material: TableMaterial,
    target: str,
    *,
    seed: int = 0,
    held_share: float = HELD_SHARE,
    held_back: Table | None = None,
) -> Finding:
    """Train models on the release and on the original, and test both on original rows.

    Without ``held_back`` a share of the original's rows, of whole people where a column tells
    these apart, is held back by the seed: the models are trained on the other rows, released or
    original. The release's groups were still formed with them. To keep them out of that too,
    anonymize the rest alone and give the rows apart as ``held_back``; ``compare`` does.

    Raises InputError where scikit-learn is not installed, JobError where the column cannot be
    predicted.
    """
    require_learning()
    if not isinstance(material.released, Table):
        raise JobError(
            "a column is predicted of a table, and these are sets",
            remedy="Leave --predict out.",
        )
    columns = columns_of(material)
    names = [column.name for column in columns]
    if target not in names:
        raise unknown("published column", target, names, where="--predict")
    goal = columns.pop(names.index(target))
    if not columns:
        raise JobError(
            "there is no other published column to predict from",
            remedy="Publish more columns, or leave --predict out.",
        )
    own = require_owner(material)
    classes = _classes(goal)
    original = _Sample(goal.before, [one.before for one in columns], [None] * len(columns))
    labels = _draw_values(goal, seed)
    released = _Sample(labels, [one.after for one in columns], [None] * len(columns))
    if held_back is None:
        is_held = choose_test_rows(own.original, material.schema.person, held_share, seed)
        test = original.taken(np.flatnonzero(is_held))
        original = original.taken(np.flatnonzero(~is_held))
        released = released.taken(np.flatnonzero(~is_held[own.original_row]))
    else:
        test = _encode_other_table(held_back, goal, columns)
    parts = [_keep_classes(part, classes) for part in (original, released, test)]
    original, released, test = (part.drawn(seed) for part in parts)
    return _finding(goal, columns, original, released, test, held_back is not None, seed)


def require_learning() -> None:
    """Raise where scikit-learn is not installed."""
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        raise InputError(
            "predicting a column needs scikit-learn, which is not installed",
            remedy='Install it with  pip install "incrowd[bench]"',
        )


def choose_test_rows(
    table: Table, person: str | None, held_share: float, seed: int
) -> NDArray[np.bool_]:
    """Return which rows are held back, whole people where a column tells these apart."""
    draw = np.random.default_rng([seed, 1])
    if person is not None and person in table.columns:
        people = factorize(table.frame.column(person))
        return np.asarray((draw.random(people.n_codes) < held_share)[people.codes])
    is_held = np.zeros(table.n_rows, dtype=np.bool_)
    is_held[draw.permutation(table.n_rows)[: round(held_share * table.n_rows)]] = True
    return is_held


def _classes(goal: Column) -> NDArray[np.bool_]:
    """Return which values of a column are classes; raise where they are too few or too many."""
    is_class = (goal.counted(goal.before) > 0) & ~goal.is_missing
    if not 2 <= int(is_class.sum()) <= MOST_CLASSES:
        raise JobError(
            f"column {goal.name!r} has {int(is_class.sum())} values: from 2 to {MOST_CLASSES} can "
            "be predicted",
            remedy="Predict a column with few values, such as a yes or no.",
        )
    return is_class


def _draw_values(goal: Column, seed: int) -> Codes:
    """Return a value per released cell, drawn from those under it where it is generalized."""
    draw = np.random.default_rng([seed, 2])
    value_at = np.empty(goal.n_values, dtype=np.int32)
    value_at[goal.place] = np.arange(goal.n_values, dtype=np.int32)
    first, sizes = goal.first[goal.after], goal.sizes[goal.after]
    return np.asarray(value_at[first + (draw.random(len(first)) * sizes).astype(np.int64)])


def _keep_classes(part: _Sample, classes: NDArray[np.bool_]) -> _Sample:
    is_known = (part.classes >= 0) & classes[np.maximum(part.classes, 0)]
    return part.taken(np.flatnonzero(is_known))


def _encode_other_table(table: Table, goal: Column, columns: Sequence[Column]) -> _Sample:
    """Return rows of another table in the same codes; what the columns do not know says nothing."""
    cells: list[Codes] = []
    numbers: list[Numbers | None] = []
    for column in columns:
        codes, own = _encode_other_column(table.frame.column(column.name), column)
        cells.append(np.where(codes < 0, column.whole, codes).astype(np.int32))
        numbers.append(own)
    return _Sample(_encode_other_column(table.frame.column(goal.name), goal)[0], cells, numbers)


def _encode_other_column(cells: pa.ChunkedArray, column: Column) -> tuple[Codes, Numbers | None]:
    found = encode_labels(cells)
    value_of = {label: value for value, label in enumerate(column.labels)}
    labels = [*found.labels, ""]  # code −1, missing, is the last entry
    codes = np.array([value_of.get(label, -1) for label in labels], dtype=np.int32)
    if column.numbers is None:
        return codes[found.codes], None
    numbers = parse_days(labels) if column.is_date else parse_numbers(labels)
    return codes[found.codes], numbers[found.codes]


# ── models ──────────────────────────────────────────────────────────────────────────────────────


def _models(seed: int) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "logistic regression": make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=300, tol=1e-3, C=0.1)
        ),
        "gradient boosting": HistGradientBoostingClassifier(
            max_iter=50, max_leaf_nodes=15, max_bins=64, early_stopping=False, random_state=seed
        ),
    }


def _finding(
    goal: Column,
    columns: Sequence[Column],
    original: _Sample,
    released: _Sample,
    test: _Sample,
    is_apart: bool,
    seed: int,
) -> Finding:
    from threadpoolctl import threadpool_limits

    if not len(test.classes) or not len(original.classes):
        raise JobError(
            "there are no rows to learn from, or none to be tested on",
            remedy="Hold back a smaller or larger share, or use more rows.",
        )
    values = np.unique(np.concatenate([original.classes, test.classes]))
    majority = int(np.bincount(original.classes).argmax())
    baseline = _score(test.classes, np.full(len(test.classes), majority), None, values)
    models: list[dict[str, Any]] = []
    with threadpool_limits(1):  # the same figures on any machine, and no threads that wait
        for name in _models(seed):
            models.append(
                {
                    "model": name,
                    "original": _train(name, columns, original, test, values, seed),
                    "release": _train(name, columns, released, test, values, seed),
                }
            )
    best = max(range(len(models)), key=lambda place: models[place]["original"]["accuracy"])
    figures = {
        "column": goal.name,
        "n_classes": len(values),
        "n_trained_original": len(original.classes),
        "n_trained_release": len(released.classes),
        "n_tested": len(test.classes),
        "is_split_first": is_apart,
        "seed": seed,
        "baseline": baseline,
        "models": models,
        "best_model": models[best]["model"],
        "accuracy": models[best]["release"]["accuracy"],
        "accuracy_original": models[best]["original"]["accuracy"],
    }
    summary = (
        f"{goal.name} is predicted right for {figures['accuracy']:.1%} of held-back rows after "
        f"training on the release, {figures['accuracy_original']:.1%} on the original "
        f"({models[best]['model']}); always guessing the most common value: "
        f"{baseline['accuracy']:.1%}"
    )
    return Finding(NAME, None, summary, figures, is_public=False)


def _train(
    name: str,
    columns: Sequence[Column],
    train: _Sample,
    test: _Sample,
    values: NDArray[Any],
    seed: int,
) -> dict[str, float | None]:
    """Train a model on a part and return its scores on another."""
    n_tested = len(test.classes)
    if len(np.unique(train.classes)) < 2:
        only = int(train.classes[0]) if len(train.classes) else int(values[0])
        return _score(test.classes, np.full(n_tested, only), None, values)
    encoder = Encoder.of(columns, train.cells)
    model = _models(seed)[name]
    model.fit(encoder.features(train.cells, train.numbers), train.classes)
    features = encoder.features(test.cells, test.numbers)
    chances = model.predict_proba(features)
    predicted = model.classes_[chances.argmax(axis=1)]
    of_last = None
    if len(values) == 2 and values[-1] in model.classes_:
        of_last = chances[:, list(model.classes_).index(values[-1])]
    return _score(test.classes, predicted, of_last, values)


def _score(
    true: NDArray[Any], predicted: NDArray[Any], chance: Numbers | None, values: NDArray[Any]
) -> dict[str, float | None]:
    """Return the accuracy, its mean over the classes, and the area under the curve of two."""
    from sklearn.metrics import roc_auc_score

    is_right = true == predicted
    per_class = [float(is_right[true == value].mean()) for value in np.unique(true)]
    auc: float | None = None
    if len(values) == 2 and len(np.unique(true)) == 2:
        auc = 0.5 if chance is None else float(roc_auc_score(true == values[-1], chance))
    return {
        "accuracy": round(float(is_right.mean()), DIGITS),
        "balanced_accuracy": round(float(np.mean(per_class)), DIGITS),
        "auc": None if auc is None else round(auc, DIGITS),
    }
