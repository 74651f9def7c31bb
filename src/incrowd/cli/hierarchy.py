"""``incrowd hierarchy``: build, examine, repair, explain and draw a column's hierarchy."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.completion import complete_builder, complete_column
from incrowd.cli.flags import AsJson, Debug, Force, ShowValues, apply_flags, flags_of, with_flags
from incrowd.cli.terminal import complain, may_show_values, results, say
from incrowd.errors import HierarchyError, JobError
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.job.build import build as build_part
from incrowd.job.inputs import InputOptions

if TYPE_CHECKING:
    from incrowd.hierarchies.builders import ColumnValues
    from incrowd.hierarchies.doctor import Problem
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.tables.table import Table


MOST_LINES = 60  # of a drawing, about
DEEPEST = 12  # levels that are drawn


def draw_tree(tree: Hierarchy) -> None:
    """Draw the tree on standard output, large ones abbreviated to fit about MOST_LINES."""
    from rich.text import Text
    from rich.tree import Tree

    children = _children(tree)
    shown = next((few for few in (12, 6, 4, 3) if _n_lines(tree, children, few) <= MOST_LINES), 2)

    def grow(branch: Tree, node: int, depth: int) -> None:
        below = children[node]
        hidden = len(below) - shown if len(below) > shown + 1 else 0
        for place, child in enumerate(below):
            if hidden and shown - 1 <= place < len(below) - 1:
                if place == shown - 1:
                    branch.add(Text(f"… {hidden:,} more", style="dim"))
                continue
            twig = branch.add(Text(_line(tree, children, child)))
            if not _is_bundle(tree, children, child) and depth < DEEPEST:
                grow(twig, child, depth + 1)

    picture = Tree(Text(_line(tree, children, tree.root)))
    if not _is_bundle(tree, children, tree.root):
        grow(picture, tree.root, 1)
    results().print(picture)


def _children(tree: Hierarchy) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    first_leaf = [tree.n_leaves] * tree.n_nodes
    for leaf, place in enumerate(tree.leaf_order.tolist()):
        first_leaf[leaf] = place
    for node in range(tree.n_nodes - 1):
        above = int(tree.parent[node])
        children[above].append(node)
        first_leaf[above] = min(first_leaf[above], first_leaf[node])
    for below in children:
        below.sort(key=first_leaf.__getitem__)
    return children


def _is_bundle(tree: Hierarchy, children: list[list[int]], node: int) -> bool:
    """Whether all children are leaves, which then stand on the node's own line."""
    return all(child < tree.n_leaves for child in children[node])


def _n_lines(tree: Hierarchy, children: list[list[int]], shown: int) -> int:
    """Return how many lines a drawing has that shows so many children of each node."""
    lines, nodes = 0, [tree.root]
    while nodes and lines <= MOST_LINES:
        lines += len(nodes)
        wide = [children[node] for node in nodes if not _is_bundle(tree, children, node)]
        nodes = [child for below in wide for child in [*below[: shown - 1], *below[-1:]]]
    return lines


def _line(tree: Hierarchy, children: list[list[int]], node: int) -> str:
    label = _printable(tree.labels[node])
    below = children[node]
    if not below:
        return label
    if not _is_bundle(tree, children, node):
        n_values = int(tree.leaf_count[node])
        return f"{label}  ({n_values:,} {'value' if n_values == 1 else 'values'})"
    names = [_printable(tree.labels[child]) for child in below]
    if len(names) > 8:
        names = [*names[:5], f"… {len(names) - 6:,} more", names[-1]]
    return f"{label}: {', '.join(names)}"


def _printable(label: str) -> str:
    """Return a label that cannot move the cursor or hide itself."""
    safe = "".join(sign if sign.isprintable() else "�" for sign in label)
    return (safe if len(safe) <= 60 else safe[:59] + "…") or "(empty)"


# ``incrowd hierarchy``: build, examine, repair, explain and draw a column's hierarchy.

FLAGS = flags_of("input", [InputOptions], "Input")


@with_flags(FLAGS)
def hierarchy_command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The table.")],
    column: Annotated[
        str,
        typer.Argument(metavar="COLUMN", help="Its column.", autocompletion=complete_column),
    ],
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Examine this hierarchy: ARX's CSV, JSON or TOML."),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(
            help="Build one: ranges | intervals:5,10,20 | prefix | dates:month,year | icd10 | "
            "postcode:DE | country | ages | isco | flat | auto [dim](default: auto)[/dim]",
            autocompletion=complete_builder,
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Repair every problem that can be repaired without guessing."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write it: .csv (ARX's), .json or .toml."),
    ] = None,
    force: Force = False,
    draw: Annotated[
        bool | None,
        typer.Option(help="Draw the tree, which shows values (default: on a terminal)."),
    ] = None,
    levels: Annotated[
        bool, typer.Option("--levels", help="Print every line of it in ARX's format instead.")
    ] = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
    debug: Debug = False,  # noqa: ARG001
    **stated: Any,
) -> int:
    """Build, examine and explain the generalization hierarchy of a column.

    [bold]Examples[/bold]

        incrowd hierarchy patients.csv age --build intervals:5,10,20 -o age.csv

        incrowd hierarchy patients.csv zip --from zip.csv --repair -o repaired.csv

    Exit status: 0, or 2 where the hierarchy has errors that were not repaired.
    """
    from incrowd.flow.outputs import refuse_overwriting
    from incrowd.hierarchies.doctor import pluralize
    from incrowd.hierarchies.files import to_arx_csv, write_hierarchy
    from incrowd.job.inputs import read_input

    refuse_overwriting([output], [data, source])
    if source is not None and build is not None:
        raise JobError("--from and --build exclude each other", remedy="Give one of them.")
    if output is not None and output.exists() and not force:
        raise JobError(f"{output} exists", remedy="Give another name, or --force to overwrite it.")
    spec = HierarchySpec("file", path=source) if source else HierarchySpec.parse(build or "auto")
    mapping: dict[str, Any] = {}
    apply_flags(mapping, FLAGS, stated)
    reading = build_part(InputOptions, mapping.get("input", {}), "input")
    table = read_input(data, reading)
    table.require([column], str(data))
    look = _look_as_written(spec, column, table, reading, repair)
    may_show = may_show_values(["--show-values"] if show_values else [])
    error = None
    if look.tree is None:
        errors = [found for found in look.ailments if found.severity == "error"]
        error = HierarchyError(
            f"column {column!r}: the hierarchy has {pluralize(errors, 'error')}"
            + ("" if output is None else "; nothing was written"),
            remedy="Fix the problems above by hand: they need your knowledge."
            if repair
            else "Fix the problems above, or add --repair.",
        )
    if as_json:
        told = look.to_mapping(may_show, levels)
        if error is not None:  # one document: what was found, and that it is an error
            told["error"] = {**error.to_mapping(), "exit_status": error.exit_status}
        print(json.dumps(told, ensure_ascii=False, indent=2))
        if error is not None:
            complain(f"incrowd: {error.text(may_show)}")
            return error.exit_status
    elif levels and look.tree is not None:
        print(to_arx_csv(look.tree), end="")
        for line in look.findings(may_show):
            say(line)
    else:
        look.show(may_show)
        if look.tree is not None and (may_show if draw is None else draw):
            draw_tree(look.tree)
    if error is not None:
        raise error
    assert look.tree is not None
    if output is not None:
        write_hierarchy(look.tree, output)
        say(f"wrote {output}")
    return 0


@dataclass(frozen=True)
class Look:
    """What is known of a hierarchy: the tree (None where errors stand), and what was found."""

    column: str
    origin: str
    values: ColumnValues
    tree: Hierarchy | None
    ailments: list[Problem]
    repairs: list[str]
    notes: list[str]

    def levels(self) -> list[dict[str, int]]:
        """Return per level the number of nodes, and of the values under the least and largest."""
        import numpy as np

        if self.tree is None:
            return []
        rows = []
        for level, nodes in enumerate(self.tree.ladder):
            n_values = self.tree.leaf_count[np.unique(nodes)]
            rows.append(
                {
                    "level": level,
                    "n_nodes": len(n_values),
                    "fewest_values": int(n_values.min()),
                    "most_values": int(n_values.max()),
                }
            )
        return rows

    def coverage(self) -> dict[str, int]:
        """Return how many values of the data have a leaf, and how many leaves have no value."""
        leaves = self.tree.leaf_of_value if self.tree else {}
        missing = next((found for found in self.ailments if found.name == "missing-value"), None)
        n_without = missing.count if missing else 0
        occurring = sum(label in leaves for label in (*self.values.labels, *self.values.missing))
        return {
            "n_values": len(self.values.labels),
            "n_without_leaf": n_without,
            "n_unused_leaves": len(leaves) - occurring,
            "n_missing_cells": self.values.n_missing,
        }

    def n_ranges(self) -> int:
        """Return how many ranges a cell may show where the hierarchy is one of ranges, else 0."""
        if self.tree is None or self.tree.runs is None:
            return 0
        return self.tree.runs.n_cells * (self.tree.runs.n_cells + 1) // 2

    def findings(self, may_show: bool) -> list[str]:
        """Return the notes, repairs and ailments as lines of text."""
        lines = [*self.notes, *(f"repaired: {done}" for done in self.repairs)]
        return lines + [f"{found.severity}: {found.text(may_show)}" for found in self.ailments]

    def show(self, may_show: bool) -> None:
        """Explain it on standard output."""
        console = results()

        def line(text: str, style: str = "") -> None:
            console.print(text, style=style or None, markup=False)

        line(f"column {self.column!r}: {self.origin}", "bold")
        levels = self.levels()
        for row in levels:
            few, many = f"{row['fewest_values']:,}", f"{row['most_values']:,}"
            each = many if few == many else f"{few} to {many}"
            what = f"groups of {each} values"
            if row["level"] == 0:
                what = "values"
            elif row is levels[-1]:
                what = "root, *"
            line(f"  level {row['level']}  {row['n_nodes']:>9,} {what}")
        if self.tree is not None and self.tree.runs is not None:
            line(
                f"  method cluster may show any of {self.n_ranges():,} ranges of neighbouring cells"
            )
        covered = self.coverage()
        line(
            f"  of {covered['n_values']:,} values of the data {covered['n_without_leaf']:,} have "
            f"no leaf; {covered['n_unused_leaves']:,} leaves do not occur in the data; "
            f"{covered['n_missing_cells']:,} cells are missing"
        )
        styles = {"error": "red", "warning": "yellow", "repaired": "green"}
        for text in self.findings(may_show):
            line(text, styles.get(text.partition(":")[0], ""))

    def to_mapping(self, may_show: bool, with_lines: bool) -> dict[str, Any]:
        """Return it as plain data; examples of values only where they may be shown."""
        mapping: dict[str, Any] = {
            "column": self.column,
            "origin": self.origin,
            "is_usable": self.tree is not None,
            "levels": self.levels(),
            "n_ranges": self.n_ranges(),
            "coverage": self.coverage(),
            "findings": [
                {
                    "name": found.name,
                    "severity": found.severity,
                    "what": found.what,
                    "count": found.count,
                    "remedy": found.remedy,
                    **({"examples": list(found.examples)} if may_show else {}),
                }
                for found in self.ailments
            ],
            "repairs": self.repairs,
            "notes": self.notes,
        }
        if with_lines and self.tree is not None:
            labels = self.tree.labels
            mapping["lines"] = [[labels[n] for n in way] for way in self.tree.ladder.T.tolist()]
        return mapping


def _look_as_written(
    spec: HierarchySpec, column: str, table: Table, reading: InputOptions, wants_repair: bool
) -> Look:
    """Look at a hierarchy of dates or numbers as the file writes them: so are its leaves."""
    import pyarrow as pa

    from incrowd.encoding.derived import derive_columns, reference_columns
    from incrowd.job.column_readings import AS_WRITTEN
    from incrowd.tables.columns.normalize import notes_on_readings, read_columns

    if spec.kind in AS_WRITTEN:
        return _look(spec, column, table, wants_repair)
    dates = [column, *reference_columns({column: spec})]
    table.require(dates, table.name)
    stated = reading.stated_formats
    table = read_columns(table, dates, stated, needed=dates if spec.kind != "flat" else ())
    table, specs, notes = derive_columns(table, {column: spec})
    look = _look(specs[column], column, table, wants_repair)
    if column in table.readings and look.tree is not None:
        n_leaves, way = look.tree.n_leaves, table.readings[column]
        leaves, values = (
            way.restore(pa.array(labels, pa.string())).to_pylist()
            for labels in (look.tree.labels[:n_leaves], look.values.labels)
        )
        tree = replace(look.tree, labels=(*leaves, *look.tree.labels[n_leaves:]))
        look = replace(look, tree=tree, values=replace(look.values, labels=values))
    return replace(look, notes=[*notes, *notes_on_readings(table.readings), *look.notes])


def _look(spec: HierarchySpec, column: str, table: Table, wants_repair: bool) -> Look:
    from incrowd.hierarchies.builders import ColumnValues, hierarchy_for
    from incrowd.hierarchies.doctor import examine, pluralize, repair
    from incrowd.hierarchies.files import HierarchyPaths, hierarchy_from_paths, read_paths

    values = ColumnValues.of(column, table)
    if spec.path is None:
        tree, notes = hierarchy_for(column, table, spec)
        origin = f"built {tree.origin}"
        notes = [note for note in notes if note != f"column {column!r}: {origin}"]
        return Look(column, origin, values, tree, [], [], notes)
    said, where = read_paths(spec.path), spec.path.name
    done: list[str] = []
    if wants_repair:
        paths, done = repair(said.paths, column, values.labels, is_ladder=said.is_ladder)
        lost = said.weight_of.keys() - {label for path in paths for label in path}
        if lost:
            done.append(f"lost the weight of {pluralize(lost, 'label')}, which is 1 now")
        said = HierarchyPaths(paths, said.is_ladder, said.weight_of)
    ailments = examine(said.paths, column, values.labels, where=where, is_ladder=said.is_ladder)
    usable = None
    if not any(found.severity == "error" for found in ailments):
        usable = hierarchy_from_paths(said, column, origin=where)
    return Look(column, f"from {where}", values, usable, ailments, done, [])
