"""``incrowd hierarchy``: build, examine, repair, explain and draw a column's hierarchy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.flags import apply_flags, flags_of, with_flags
from incrowd.cli.options import AsJson, Debug, Force, ShowValues
from incrowd.cli.terminal import may_show_values, results, say
from incrowd.cli.tree import draw_tree
from incrowd.data.specs import HierarchySpec
from incrowd.errors import HierarchyError, JobError
from incrowd.job import InputOptions
from incrowd.job import build as build_part

if TYPE_CHECKING:
    from incrowd.data.builders import ColumnValues
    from incrowd.data.doctor import Ailment
    from incrowd.data.hierarchy import Hierarchy
    from incrowd.data.table import Table

FLAGS = flags_of("input", [InputOptions], "Input")


@with_flags(FLAGS)
def hierarchy_command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The table.")],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="Its column.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Examine this hierarchy: ARX's CSV, JSON or TOML."),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(
            help="Build one: ranges | intervals:5,10,20 | prefix | dates:month,year | flat | auto "
            "[dim](default: auto)[/dim]"
        ),
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend everything that needs no guess.")
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

        incrowd hierarchy patients.csv zip --from zip.csv --repair -o mended.csv

    Exit status: 0, or 2 where the hierarchy has errors that were not repaired.
    """
    from incrowd.data.doctor import counted
    from incrowd.data.hierarchy_files import arx_csv, write_hierarchy
    from incrowd.outputs import refuse_overwriting
    from incrowd.pipeline import read_input

    refuse_overwriting([output], [data, source])
    if source is not None and build is not None:
        raise JobError("--from and --build exclude each other", remedy="Give one of them.")
    if output is not None and output.exists() and not force:
        raise JobError(f"{output} exists", remedy="Give another name, or --force to overwrite it.")
    spec = HierarchySpec("file", path=source) if source else HierarchySpec.parse(build or "auto")
    mapping: dict[str, Any] = {}
    apply_flags(mapping, FLAGS, stated)
    table = read_input(data, build_part(InputOptions, mapping.get("input", {}), "input"))
    table.require([column], str(data))
    look = _look(spec, column, table, repair)
    may_show = may_show_values(["--show-values"] if show_values else [])
    if as_json:
        print(json.dumps(look.to_mapping(may_show, levels), ensure_ascii=False, indent=2))
    elif levels and look.tree is not None:
        print(arx_csv(look.tree), end="")
        for line in look.findings(may_show):
            say(line)
    else:
        look.show(may_show)
        if look.tree is not None and (may_show if draw is None else draw):
            draw_tree(look.tree)
    if look.tree is None:
        errors = [found for found in look.ailments if found.severity == "error"]
        raise HierarchyError(
            f"column {column!r}: the hierarchy has {counted(errors, 'error')}"
            + ("" if output is None else "; nothing was written"),
            remedy="Mend what is said above by hand: it needs your knowledge."
            if repair
            else "Mend what is said above, or add --repair.",
        )
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
    ailments: list[Ailment]
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


def _look(spec: HierarchySpec, column: str, table: Table, wants_repair: bool) -> Look:
    from incrowd.data.builders import ColumnValues, hierarchy_for
    from incrowd.data.doctor import counted, examine
    from incrowd.data.hierarchy_files import HierarchyPaths, hierarchy_of, read_paths
    from incrowd.data.hierarchy_repair import repair

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
            done.append(f"lost the weight of {counted(lost, 'label')}, which is 1 now")
        said = HierarchyPaths(paths, said.is_ladder, said.weight_of)
    ailments = examine(said.paths, column, values.labels, where=where, is_ladder=said.is_ladder)
    usable = None
    if not any(found.severity == "error" for found in ailments):
        usable = hierarchy_of(said, column, origin=where)
    return Look(column, f"from {where}", values, usable, ailments, done, [])
