"""Read and write hierarchies: ARX's CSV, and nested trees in JSON and TOML.

CSV: a line per value, the value first, then its groups, the root last; separated by ``;`` or
``,``, no header. JSON and TOML: a group is a table of its members, a list where all of them are
values; or, with weights of the steps, ``{label, weight, children}``. What is written is read back
as the same tree.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.errors import HierarchyError
from incrowd.hierarchies.doctor import examine, refuse_errors
from incrowd.hierarchies.tree import STAR, Hierarchy
from incrowd.tables.columns.types import parse_dates, parse_numbers
from incrowd.tables.files.text_encodings import WINDOWS_1252, detect_encoding

DEEPEST = 200  # levels of a nested tree that are read and written


@dataclass(frozen=True)
class HierarchyPaths:
    """The content of a file, tree or not: a path per value, and the weights of steps by label.

    ``is_ladder`` is true for the lines of a table and false for the paths of a nested tree.
    """

    paths: list[tuple[str, ...]]
    is_ladder: bool = True
    weight_of: Mapping[str, float] = field(default_factory=dict)


def read_hierarchy(path: str | Path, column: str) -> Hierarchy:
    """Read a hierarchy; raise where it is not a tree, with every problem that is found."""
    path = Path(path)
    content = read_paths(path)
    refuse_errors(examine(content.paths, column, where=path.name, is_ladder=content.is_ladder))
    return hierarchy_from_paths(content, column, origin=path.name)


def hierarchy_from_paths(content: HierarchyPaths, column: str, *, origin: str = "") -> Hierarchy:
    """Build the tree of paths in which ``examine`` found no error, with its leaves' numbers."""
    tree = Hierarchy.from_paths(column, content.paths, weight_of=content.weight_of, origin=origin)
    return _attach_numbers(tree)


def _decode(content: bytes) -> str:
    """Return the text of a file in UTF-8, or in windows-1252 where that is clear."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        if detect_encoding(io.BytesIO(content).read) != WINDOWS_1252:
            raise
        return content.decode(WINDOWS_1252)


def read_paths(path: str | Path) -> HierarchyPaths:
    """Read a file's paths, tree or not; raise only where its format is invalid."""
    path = Path(path)
    try:
        text = _decode(path.read_bytes())
    except FileNotFoundError:
        raise HierarchyError(f"{path}: no such hierarchy file", remedy="Check the path.") from None
    except OSError as error:
        raise HierarchyError(f"{path}: cannot be read ({type(error).__name__})") from None
    except UnicodeDecodeError:
        raise HierarchyError(f"{path}: is not UTF-8", remedy="Save it as UTF-8.") from None
    ending = path.suffix.lower()
    try:
        if ending == ".json":
            return _paths_of_tree(json.loads(text, object_pairs_hook=_refuse_duplicate_keys))
        if ending == ".toml":
            return _paths_of_tree(tomllib.loads(text))
        return HierarchyPaths(_parse_csv(text))
    except HierarchyError as error:
        raise HierarchyError(
            f"{path}: {error.what}", remedy=error.remedy, examples=error.examples
        ) from None
    except RecursionError:
        raise HierarchyError(f"{path}: has more than {DEEPEST} levels") from None
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, csv.Error) as error:
        # the line, not the text: messages of parsers may quote values
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        kind = {".json": "JSON", ".toml": "TOML"}.get(ending, "CSV")
        raise HierarchyError(
            f"{path}{line}: is not valid {kind}", remedy="Fix its syntax."
        ) from None


def write_hierarchy(hierarchy: Hierarchy, path: str | Path) -> None:
    """Write a file atomically, in the format of its extension; replace an existing one."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending in (".json", ".toml"):
        text = _format_tree(hierarchy, is_toml=ending == ".toml")
    else:
        _refuse_weights(hierarchy, path)
        text = to_arx_csv(hierarchy)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        with unfinished.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise HierarchyError(f"{path}: cannot be written ({type(error).__name__})") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _attach_numbers(tree: Hierarchy) -> Hierarchy:
    """Return the tree with the numbers or days of its leaves, where it groups by them.

    That is: every leaf is a number (but for some directly under the root, such as ``?``), and a
    walk of the tree meets them in order. Masked codes (``0124*``) and digits with leading zeros
    are names, not numbers.
    """
    leaves = tree.labels[: tree.n_leaves]
    if any(label.endswith("*") for label in tree.labels[tree.n_leaves : -1]):
        return tree
    if any(leaf[:1] == "0" and leaf[1:].isdecimal() and leaf[1:] for leaf in leaves):
        return tree
    numbers = parse_numbers(leaves)
    if bool(np.isnan(numbers).all()):
        days = parse_dates(leaves)
        numbers = np.asarray([math.nan if day is None else day.toordinal() for day in days])
    has_none = np.isnan(numbers)
    is_inside = tree.parent[: tree.n_leaves] != tree.root
    if int((~has_none).sum()) < 2 or bool((has_none & is_inside).any()):
        return tree
    numbered = replace(tree, values=numbers)
    walked = np.empty(tree.n_leaves)
    walked[numbered.leaf_order] = np.where(has_none, np.inf, numbers)
    return numbered if bool((walked[1:] >= walked[:-1]).all()) else tree


# ── CSV ─────────────────────────────────────────────────────────────────────────────────────


def to_arx_csv(hierarchy: Hierarchy) -> str:
    """Return ARX's CSV of a tree: a line per leaf, levels padded by repeating the label below."""
    shown = [_quote(label) for label in hierarchy.labels]
    rungs = hierarchy.ladder.T.tolist()
    return "".join(";".join([shown[node] for node in line]) + "\n" for line in rungs)


def _quote(label: str) -> str:
    """Quote all that another separator or a byte-order mark could make ambiguous."""
    if not any(sign in label for sign in ';,"\t\r\n\ufeff'):
        return label
    return '"' + label.replace('"', '""') + '"'


def _parse_csv(text: str) -> list[tuple[str, ...]]:
    separators = [sign for sign in ";,\t" if sign in text] or [";"]
    return max((_split_lines(text, separator) for separator in separators), key=_plausibility)


def _split_lines(text: str, separator: str) -> list[tuple[str, ...]]:
    lines = []
    for cells in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
        while len(cells) > 1 and cells[-1] == "":
            cells.pop()
        if cells:
            lines.append(tuple(cells))
    return lines


def _plausibility(lines: list[tuple[str, ...]]) -> tuple[bool, int, bool, int]:
    """Return how much lines look like a hierarchy, so that the right separator wins."""
    roots = {line[-1] for line in lines}
    lengths = {len(line) for line in lines}
    return roots == {STAR}, -len(roots), len(lengths) == 1, sum(len(line) for line in lines)


def _refuse_weights(hierarchy: Hierarchy, path: Path) -> None:
    if hierarchy.edge_weights is not None:
        raise HierarchyError(
            f"{path}: CSV cannot hold the weights of column {hierarchy.name!r}",
            remedy="Write .json or .toml.",
        )


# ── nested trees ────────────────────────────────────────────────────────────────────────────


def _paths_of_tree(document: Any) -> HierarchyPaths:
    weight_of: dict[str, float] = {}
    if isinstance(document, Mapping) and len(document) == 1:
        ((root, members),) = document.items()
    else:
        root, members = STAR, document
    if _is_explicit(document):
        root, members = document["label"], document.get("children")
    return HierarchyPaths(
        list(_walk(root, members, (), weight_of)), is_ladder=False, weight_of=weight_of
    )


def _walk(
    label: str, members: Any, above: tuple[str, ...], weight_of: dict[str, float]
) -> Iterator[tuple[str, ...]]:
    path = (label, *above)
    if len(path) > DEEPEST:
        raise RecursionError
    if members is None or members in ([], {}):
        yield path
    elif isinstance(members, Mapping) and not _is_explicit(members):
        for name, below in members.items():
            yield from _walk(name, below, path, weight_of)
    elif isinstance(members, Sequence) and not isinstance(members, str):
        for member in members:
            if isinstance(member, str):
                yield (member, *path)
            elif isinstance(member, (int, float)) and not isinstance(member, bool):
                yield (str(member), *path)
            elif _is_explicit(member):
                _read_weight(member, weight_of)
                yield from _walk(member["label"], member.get("children"), path, weight_of)
            else:
                raise _bad_members_error()
    else:
        raise _bad_members_error()


def _is_explicit(node: Any) -> bool:
    return isinstance(node, Mapping) and isinstance(node.get("label"), str)


def _bad_members_error() -> HierarchyError:
    return HierarchyError(
        "a group's members are neither a table, nor a list of values or of {label, children}",
        remedy='Write  {"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"]}}.',
    )


def _read_weight(node: Mapping[str, Any], weight_of: dict[str, float]) -> None:
    for name in node:
        if name not in ("label", "weight", "children"):
            raise HierarchyError(f"a node has label, weight and children, but no {name!r}")
    weight = node.get("weight", 1.0)
    is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    if not is_number or not math.isfinite(weight) or weight < 0:
        raise HierarchyError("a weight is not a number of 0 or more", examples=[node["label"]])
    if "weight" in node:
        weight_of[node["label"]] = float(weight)


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        raise HierarchyError(
            "a group has two members of one name",
            remedy="Join them, or rename one.",
            examples=sorted({name for name in names if names.count(name) > 1}),
        )
    return table


def _format_tree(hierarchy: Hierarchy, *, is_toml: bool) -> str:
    if int(hierarchy.height[hierarchy.root]) >= DEEPEST:
        raise HierarchyError(
            f"column {hierarchy.name!r}: a nested file holds at most {DEEPEST} levels",
            remedy="Write .csv.",
        )
    members = _members(hierarchy)
    nested = {STAR: _nested_members(hierarchy, members, hierarchy.root)}
    weights = hierarchy.edge_weights
    if weights is not None or (is_toml and not _keeps_order_in_toml(nested)):
        document = _explicit_node(hierarchy, members, hierarchy.root)
    else:
        document = nested
    if not is_toml:
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    import tomli_w

    return tomli_w.dumps(document)


def _members(hierarchy: Hierarchy) -> list[list[int]]:
    """Return each node's children, in the order of their first leaves."""
    first_leaf = np.full(hierarchy.n_nodes, hierarchy.n_leaves)
    for rung in hierarchy.ladder:
        np.minimum.at(first_leaf, rung, np.arange(hierarchy.n_leaves))
    members: list[list[int]] = [[] for _ in range(hierarchy.n_nodes)]
    for node in np.argsort(first_leaf[:-1], kind="stable").tolist():
        members[hierarchy.parent[node]].append(node)
    return members


def _nested_members(hierarchy: Hierarchy, members: list[list[int]], node: int) -> Any:
    below = members[node]
    if all(child < hierarchy.n_leaves for child in below):
        return [hierarchy.labels[child] for child in below]
    return {hierarchy.labels[child]: _nested_members(hierarchy, members, child) for child in below}


def _explicit_node(hierarchy: Hierarchy, members: list[list[int]], node: int) -> Any:
    label = hierarchy.labels[node]
    if hierarchy.edge_weights is None and node < hierarchy.n_leaves:
        return label
    explicit: dict[str, Any] = {"label": label}
    if hierarchy.edge_weights is not None and node != hierarchy.root:
        explicit["weight"] = float(hierarchy.edge_weights[node])
    if members[node]:
        explicit["children"] = [
            _explicit_node(hierarchy, members, child) for child in members[node]
        ]
    return explicit


def _keeps_order_in_toml(members: Any) -> bool:
    """Whether no list comes after a table: TOML has a table's plain keys before its tables."""
    if not isinstance(members, dict):
        return True
    kinds = [isinstance(below, dict) for below in members.values()]
    return kinds == sorted(kinds) and all(map(_keeps_order_in_toml, members.values()))
