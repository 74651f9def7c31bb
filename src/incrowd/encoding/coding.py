"""Top and bottom coding: values beyond a limit are shown as one, ``<20`` or ``>80``.

The coded values of a column get a node of their own in its hierarchy, above them and below the
lowest node that holds others too. A search works on trees in which that node is a leaf; decoding,
losses and the proof of the key work on the trees that still have the values below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd.errors import DataError, HierarchyError, JobError, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.encoding.rows import Rows
    from incrowd.hierarchies.builders import ColumnValues
    from incrowd.hierarchies.tree import Hierarchy


Number = int | float


@dataclass(frozen=True)
class Coding:
    """The limits of one column: values below ``bottom`` and above ``top`` are coded.

    >>> import incrowd as ic
    >>> ic.Coding(bottom=20, top=80).labels
    ('<20', '>80')

    Parameters
    ----------
    bottom : int | float | None, default None
        Values below it are shown as one, ``<bottom``.
    top : int | float | None, default None
        Values above it are shown as one, ``>top``.
    """

    bottom: Number | None = None
    top: Number | None = None

    def __post_init__(self) -> None:
        for name, limit in (("bottom", self.bottom), ("top", self.top)):
            is_number = isinstance(limit, (int, float)) and not isinstance(limit, bool)
            if limit is not None and not (is_number and abs(limit) < 2**53):
                raise JobError(
                    f"coding: {name} is not a number", remedy=f"State {name} = 20, for example."
                )
        if self.bottom is None and self.top is None:
            raise JobError("coding: neither bottom nor top is stated", remedy="State one of them.")
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise JobError(
                "coding: bottom is not below top", remedy="Leave values between the two limits."
            )

    @classmethod
    def from_toml(cls, value: Any, column: str) -> Coding:
        """Read ``{ bottom = 20, top = 80 }``."""
        if isinstance(value, Coding):
            return value
        if not isinstance(value, Mapping):
            raise JobError(
                f"[coding] {column}: not a table", remedy=f"Write [coding.{column}] bottom = 20."
            )
        for name in value:
            if name not in ("bottom", "top"):
                raise unknown("limit", str(name), ("bottom", "top"), where=f"[coding.{column}]")
        return cls(value.get("bottom"), value.get("top"))

    def to_toml(self) -> dict[str, Number]:
        """Return what ``from_toml`` reads."""
        stated = {"bottom": self.bottom, "top": self.top}
        return {name: limit for name, limit in stated.items() if limit is not None}

    @property
    def labels(self) -> tuple[str, str]:
        """What is shown below bottom and above top; empty where nothing is coded."""
        below = "" if self.bottom is None else f"<{_format_limit(self.bottom)}"
        return below, "" if self.top is None else f">{_format_limit(self.top)}"

    def sides(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which numbers lie below bottom, and which above top; NaN lies nowhere."""
        import numpy as np

        nowhere = np.zeros(len(numbers), dtype=np.bool_)
        below = nowhere if self.bottom is None else numbers < self.bottom
        above = nowhere if self.top is None else numbers > self.top
        return np.asarray(below, dtype=np.bool_), np.asarray(above, dtype=np.bool_)


def add_coded_nodes(tree: Hierarchy, coding: Coding) -> Hierarchy:
    """Return the tree with a node above the values beyond each limit.

    The node's parent is the lowest that held all these values and others; groups that held none
    but them are gone. A group that lies across a limit keeps the values within it. Where steps
    have weights, the step up from a coded value weighs 1.
    """
    import numpy as np

    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.tables.columns.types import parse_numbers

    if tree.mean_unit is not None:
        raise JobError(
            f"column {tree.name!r} is shown as means and has a coding",
            remedy="A mean has no limits: remove the coding, or state another hierarchy.",
        )
    if len(set(tree.labels)) < tree.n_nodes:
        raise HierarchyError(
            f"column {tree.name!r}: coding needs a hierarchy in which every label is one node",
            remedy="Give its groups different names.",
        )
    parent = tree.parent.tolist()
    parent_of = {tree.labels[node]: tree.labels[parent[node]] for node in range(tree.n_nodes - 1)}
    weights = tree.edge_weights
    weight_of = None if weights is None else dict(zip(tree.labels, weights.tolist(), strict=True))
    numbers = parse_numbers(tree.labels[: tree.n_leaves])
    labels = [label for label in coding.labels if label]
    sides = coding.sides(numbers)
    for label, is_beyond in zip(coding.labels, sides, strict=True):
        leaves = np.flatnonzero(is_beyond).tolist()
        if leaves:
            parent_of[label] = tree.labels[_lowest_holder(tree, leaves)]
            for leaf in leaves:
                parent_of[tree.labels[leaf]] = label
    kept = _drop_childless(parent_of, set(tree.labels[: tree.n_leaves]))
    clashing = [label for label in labels if label in tree.node_of_label and label in kept]
    if any(_means_other_values(tree, label, sides, coding) for label in clashing):
        raise HierarchyError(
            f"column {tree.name!r}: its hierarchy has a node with the label of a coded value",
            remedy="Rename that node, or move the limit.",
        )
    return Hierarchy.from_parents(
        tree.name, kept, weight_of=weight_of, values=tree.values, origin=tree.origin
    )


def _lowest_holder(tree: Hierarchy, leaves: list[int]) -> int:
    """Return the lowest node above all the leaves that has others under it too, or the root."""
    import numpy as np

    coded = set(leaves)
    for node in tree.ancestors(leaves[0])[1:]:
        under = tree.is_ancestor(
            np.full(tree.n_leaves, node, dtype=np.int32), np.arange(tree.n_leaves, dtype=np.int32)
        )
        held = set(np.flatnonzero(under).tolist())
        if coded < held:
            return int(node)
    return tree.root


def _drop_childless(parent_of: dict[str, str], leaves: set[str]) -> dict[str, str]:
    """Return the tree without groups that nothing is left under."""
    kept = dict(parent_of)
    while True:
        above = set(kept.values())
        childless = [label for label in kept if label not in above and label not in leaves]
        if not childless:
            return kept
        for label in childless:
            del kept[label]


def _means_other_values(
    tree: Hierarchy,
    label: str,
    sides: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    coding: Coding,
) -> bool:
    """Return whether a node of the given tree with a coded label holds other values than it."""
    import numpy as np

    node = np.full(tree.n_leaves, tree.node_of_label[label], dtype=np.int32)
    under = tree.is_ancestor(node, np.arange(tree.n_leaves, dtype=np.int32))
    return not np.array_equal(under, sides[coding.labels.index(label)])


def refuse_uncodable(where: str, values: ColumnValues) -> None:
    """Raise where a coded column holds anything but numbers and missing cells."""
    import numpy as np

    from incrowd.tables.columns.types import parse_numbers

    is_odd = np.isnan(parse_numbers(values.labels))
    if is_odd.any():
        raise DataError(
            f"{where}: {int(values.counts[is_odd].sum())} cells hold no number, and only numbers "
            "can lie below bottom or above top",
            remedy="Name them with --missing-values if they mean missing, or remove the "
            "column's coding.",
            examples=np.asarray(values.labels, dtype=object)[is_odd][:3].tolist(),
        )


def note_on_coding(tree: Hierarchy, coding: Coding, n_of_leaf: NDArray[np.int64]) -> str:
    """Return how many cells the nodes of a coded tree take in; ``n_of_leaf`` are at each leaf."""
    counts = []
    for label in filter(None, coding.labels):
        node = tree.node_of_label.get(label, -1)
        n_cells = int(n_of_leaf[tree.parent[: tree.n_leaves] == node].sum())
        counts.append(f"{n_cells} cells are coded as {label} or coarser")
    return f"column {tree.name!r}: {', '.join(counts)}"


@dataclass(frozen=True, eq=False)
class CodedView:
    """A table as a search sees it: coded values are leaves of their own.

    ``rows`` are on trees without the values beyond the limits; ``restore`` brings what a search
    makes of them back to the trees of the table.
    """

    rows: Rows
    _before: Rows
    _node_back: tuple[NDArray[np.int32] | None, ...]

    @classmethod
    def of(cls, before: Rows, codings: Mapping[str, Coding]) -> CodedView:
        """Return the view of rows that are leaves of coded hierarchies."""
        import numpy as np

        from incrowd.encoding.rows import Rows

        nodes, trees = before.nodes.copy(), list(before.hierarchies)
        back: list[NDArray[np.int32] | None] = [None] * before.n_columns
        for place, (name, tree) in enumerate(zip(before.names, before.hierarchies, strict=True)):
            if name not in codings:
                continue
            labels = [label for label in codings[name].labels if label in tree.node_of_label]
            if not labels:
                continue
            trees[place] = shorter = _prune_below(tree, labels)
            seen = np.full(tree.n_nodes, -1, dtype=np.int32)
            for node, label in enumerate(tree.labels):
                seen[node] = shorter.node_of_label.get(label, -1)
            for label in labels:
                coded = tree.node_of_label[label]
                seen[: tree.n_leaves][tree.parent[: tree.n_leaves] == coded] = seen[coded]
            nodes[place] = seen[before.nodes[place]]
            back[place] = np.asarray(
                [tree.node_of_label[label] for label in shorter.labels], dtype=np.int32
            )
        rows = Rows(before.names, nodes, tuple(trees), before.is_suppressed)
        return cls(rows, before, tuple(back))

    def restore(self, after: Rows) -> Rows:
        """Return what a search released as nodes of the table's own trees."""
        nodes = after.nodes.copy()
        for place, node_back in enumerate(self._node_back):
            if node_back is not None:
                nodes[place] = node_back[after.nodes[place]]
        restored = self._before.with_nodes(nodes, after.is_suppressed, after.trace)
        return replace(restored, group_of_row=after.group_of_row)


def _prune_below(tree: Hierarchy, labels: list[str]) -> Hierarchy:
    """Return the tree with nothing under the named nodes."""
    import numpy as np

    from incrowd.hierarchies.tree import Hierarchy

    coded = {tree.node_of_label[label] for label in labels}
    parent = tree.parent.tolist()
    kept = {
        tree.labels[node]: tree.labels[parent[node]]
        for node in range(tree.n_nodes - 1)
        if parent[node] not in coded
    }
    values = None
    if tree.values is not None:
        # a coded value takes the place, in order, of its nearest value
        inner = [
            tree.values[: tree.n_leaves][tree.parent[: tree.n_leaves] == node]
            for node in sorted(coded)
        ]
        nearest = [
            float(np.max(under) if tree.labels[node].startswith("<") else np.min(under))
            for node, under in zip(sorted(coded), inner, strict=True)
        ]
        leaf_values = [
            value
            for value, above in zip(tree.values.tolist(), parent, strict=False)
            if above not in coded
        ]
        values = np.asarray([*leaf_values, *nearest])
    weights = tree.edge_weights
    weight_of = None if weights is None else dict(zip(tree.labels, weights.tolist(), strict=True))
    return Hierarchy.from_parents(
        tree.name, kept, weight_of=weight_of, values=values, origin=tree.origin
    )


def _format_limit(number: Number) -> str:
    """Format a limit exactly, and as people write it: 20, not 20.0."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))
