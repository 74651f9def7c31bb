"""From a guarantee and a table to what every group of a search must meet."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.encoding.encode import encode_labels
from incrowd.encoding.personal_k import assign_k
from incrowd.errors import DataError, JobError
from incrowd.guarantees.adaptive.promise import AdaptiveAnonymity
from incrowd.guarantees.table import TableGuarantee
from incrowd.guarantees.tables.k_anonymity import KAnonymity
from incrowd.hierarchies.builders import ColumnValues, hierarchy_of_values
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.job.job import Job
from incrowd.methods.shared.conditions import Conditions, SensitiveCondition
from incrowd.tables.columns.types import parse_numbers
from incrowd.tables.table import Table


def derive_conditions(
    job: Job,
    table: Table,
    sensitive_hierarchies: dict[str, Hierarchy],
    n_of_row: NDArray[np.int64] | None = None,
) -> Conditions:
    """Translate the job's guarantee into arrays over the table's rows.

    Where rows stand for several each, there are ``n_of_row``.
    """
    guarantee, schema = cast(TableGuarantee, job.guarantee), job.schema
    sensitive: tuple[SensitiveCondition, ...] = ()
    if isinstance(guarantee, KAnonymity) and (guarantee.l is not None or guarantee.t is not None):
        sensitive = tuple(
            _sensitive_condition(guarantee, table, name, sensitive_hierarchies.get(name))
            for name in schema.sensitive
        )
    return Conditions(
        k=guarantee.k,
        k_of_row=assign_k(table, guarantee.k, guarantee.k_column, guarantee.k_rules, n_of_row)
        if guarantee.k_column or guarantee.k_rules
        else None,
        person_of_row=number_people(table, schema.person) if schema.person else None,
        sensitive=sensitive,
        n_suppressible=count_suppressible(
            job.release.suppression_limit, table.n_rows if n_of_row is None else n_of_row.sum()
        ),
        is_belief_bound=isinstance(guarantee, AdaptiveAnonymity)
        and guarantee.posterior == "refuse",
    )


def count_suppressible(limit: float, n_rows: int) -> int:
    """Return how many rows a share of them is, rounded down; 0.29 of 100 is 29."""
    return int(Fraction(repr(float(limit))) * int(n_rows))


def refuse_infeasible(
    job: Job, conditions: Conditions, n_rows: int, n_of_row: NDArray[np.int64] | None = None
) -> None:
    """Raise InfeasibleError where no release of such data can keep the promise.

    Where the rows that conditions speak of stand for several each, there are ``n_of_row``.
    """
    guarantee = cast(TableGuarantee, job.guarantee)
    if isinstance(guarantee, AdaptiveAnonymity):
        guarantee.refuse_infeasible(n_rows, k_of_row=conditions.k_of_row)
        return
    k_of_row = conditions.k_of_row
    if k_of_row is not None and n_of_row is not None:
        k_of_row = np.repeat(k_of_row, n_of_row)
    guarantee.refuse_infeasible(
        n_rows,
        k_of_row=k_of_row,
        person_of_row=conditions.person_of_row,
        sensitive={
            name: _count_known(part, n_of_row)
            for name, part in zip(job.schema.sensitive, conditions.sensitive, strict=False)
        },
        n_suppressible=conditions.n_suppressible,
    )


def _count_known(
    column: SensitiveCondition, n_of_row: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Return how many rows hold each value."""
    is_known = column.codes >= 0
    weights = None if n_of_row is None else n_of_row[is_known]
    counts = np.bincount(column.codes[is_known], weights, minlength=column.n_values)
    return counts.astype(np.int64)


def number_people(table: Table, column: str) -> NDArray[np.int32]:
    """Return a number per row that tells people apart; a row without a person is an error."""
    people = encode_labels(table.frame.column(column), table.missing_values)
    if people.has_missing:
        rows = np.flatnonzero(people.codes < 0)
        raise DataError(
            f"{table.name}, column {column!r}: {len(rows)} rows name no person "
            f"(first in row {rows[0] + 1})",
            remedy="Give every row its person, or leave --person out.",
        )
    return people.codes


def sensitive_hierarchies_of(
    job: Job, values_of: Callable[[str], ColumnValues]
) -> dict[str, Hierarchy]:
    """Read or build the hierarchies that closeness measures on or takes its order from."""
    guarantee = job.guarantee
    if not isinstance(guarantee, KAnonymity) or guarantee.t is None:
        return {}
    kind = guarantee.t_kind
    if kind == "equal":
        return {}
    found = {}
    for name in job.schema.sensitive:
        if name not in job.hierarchy_specs:
            if kind == "ordered":
                continue
            raise JobError(
                f"column {name!r}: hierarchical t-closeness needs a hierarchy of it",
                remedy=f"State it: --hierarchy {name}=FILE.",
            )
        found[name], _ = hierarchy_of_values(name, values_of(name), job.hierarchy_specs[name])
    return found


def _sensitive_condition(
    guarantee: KAnonymity, table: Table, name: str, hierarchy: Hierarchy | None
) -> SensitiveCondition:
    values = encode_labels(table.frame.column(name), (*table.missing_values, STAR))
    codes, labels = values.codes, values.labels
    if guarantee.t is not None and guarantee.t_kind == "ordered":
        if values.has_missing:
            raise JobError(
                f"column {name!r}: ordered t-closeness has no rank for missing values",
                remedy="Use --t-kind equal (or hierarchical, with a hierarchy).",
            )
        keys = _order_keys(table, name, labels, hierarchy)
        distinct, rank = np.unique(keys, return_inverse=True)
        codes = rank.astype(np.int32)[codes]
        labels = [str(key) for key in distinct.tolist()]
    parent, weight = None, None
    if guarantee.t is not None:
        parent, weight = _distance_tree(guarantee.t_kind, labels, hierarchy)
    return SensitiveCondition(
        codes=codes,
        n_values=len(labels),
        l=guarantee.l or 0.0,
        l_kind=guarantee.l_kind,
        c=guarantee.c,
        t=-1.0 if guarantee.t is None else guarantee.t,
        tree_parent=parent,
        tree_weight=weight,
    )


def _order_keys(
    table: Table, name: str, labels: list[str], hierarchy: Hierarchy | None
) -> NDArray[np.float64]:
    """Return numbers in whose order a column's labels stand: numbers, dates or leaves."""
    numbers = parse_numbers(labels)
    if not bool(np.isnan(numbers).any()):
        return numbers
    if pa.types.is_temporal(table.frame.schema.field(name).type):
        return np.arange(len(labels), dtype=np.float64)  # ISO texts sort by time
    if hierarchy is not None:
        leaves = [hierarchy.leaf_of_value[label] for label in labels]
        return hierarchy.leaf_order[leaves].astype(np.float64)
    raise JobError(
        f"column {name!r}: its values are not all numbers, and no hierarchy orders them",
        remedy=f"Name one with --hierarchy {name}=FILE, or use --t-kind equal.",
    )


def _distance_tree(
    kind: str, labels: list[str], hierarchy: Hierarchy | None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the tree on which the earth mover's distance is the kind's distance."""
    n_values = len(labels)
    parent = np.full(n_values + 1, -1, dtype=np.int32)
    if kind == "ordered":
        weight = np.zeros(n_values + 1)
        parent[: max(0, n_values - 1)] = np.arange(1, max(1, n_values))
        weight[: max(0, n_values - 1)] = 1.0 / max(1, n_values - 1)
        return parent, weight
    if kind == "equal" or hierarchy is None:
        return parent, np.full(n_values + 1, 0.5)
    # hierarchical: distance = height(lowest common ancestor) / height(root)
    top = float(hierarchy.height[hierarchy.root])
    n_inner = hierarchy.n_nodes - hierarchy.n_leaves
    shift = n_values + 1 - hierarchy.n_leaves
    parent = np.full(n_values + 1 + n_inner, -1, dtype=np.int32)
    weight = np.zeros(n_values + 1 + n_inner)
    for number, label in enumerate(labels):
        leaf = hierarchy.leaf_of_value[label]
        parent[number] = hierarchy.parent[leaf] + shift
        weight[number] = hierarchy.height[hierarchy.parent[leaf]] / (2 * top)
    parent[n_values] = hierarchy.root + shift
    weight[n_values] = 0.5
    for node in range(hierarchy.n_leaves, hierarchy.n_nodes - 1):
        above = hierarchy.parent[node]
        parent[node + shift] = above + shift
        weight[node + shift] = (hierarchy.height[above] - hierarchy.height[node]) / (2 * top)
    return parent, weight
