"""Mending hierarchies: everything that the doctor finds and that needs no guess."""

from __future__ import annotations

from collections.abc import Iterable

from incrowd.data.doctor import Path, Ward, counted, examine, without_gaps, without_repeats
from incrowd.data.hierarchy import STAR, Hierarchy

Line = tuple[str, ...]


def repair(
    paths: Iterable[Path],
    column: str,
    values_of_data: Iterable[str] | None = None,
    *,
    is_ladder: bool = True,
) -> tuple[list[Line], list[str]]:
    """Return mended paths, and in words what was done to them.

    Values of the data without a leaf go directly under the root, equal lines become one, levels
    that say nothing are dropped, ambiguous groups are renamed, and lines of a table are padded to
    one length. Where two lines contradict each other both stay, and the doctor goes on refusing.
    """
    values = None if values_of_data is None else list(dict.fromkeys(values_of_data))
    given = [tuple(path) for path in paths if path]
    if not given:
        return [], []
    done: list[str] = []
    lines = _without_useless_lines(given, column, values, done)
    lines = _with_level_names(lines, column, done)
    lines = [without_repeats(line) for line in lines]
    lines = _completed(lines, done)
    lines = _with_one_root(lines, done)
    lines = _with_values(lines, values, done)
    lines = _without_shared_labels(lines, column, done)
    lines = _without_copies(lines, done)
    if any(ailment.severity == "error" for ailment in examine(lines, column, values)):
        return lines, done
    lines = _without_idle_groups(lines, column, done)
    if is_ladder:
        lines = _padded(lines, given, column, done)
    return lines, done


def _without_useless_lines(
    lines: list[Line], column: str, values: list[str] | None, done: list[str]
) -> list[Line]:
    """Drop a header (only where the data prove that it is no value) and lines about ``*``."""
    if values is not None and Ward(list(lines), column, "", values).has_header:
        lines = lines[1:]
        done.append("dropped the first line, a header")
    kept = [line for line in lines if line[0] != STAR]
    if len(kept) < len(lines):
        done.append(f"dropped {counted(lines[len(kept) :], 'line')} about the value '*'")
    n_gaps = sum("" in line[1:] for line in kept)
    if n_gaps:
        done.append(f"filled empty groups on {counted(range(n_gaps), 'line')}")
    return [(line[0], *without_gaps(line)[1:]) for line in kept]


def _with_level_names(lines: list[Line], column: str, done: list[str]) -> list[Line]:
    """Give groups of two levels that share a label a name each; the lowest keeps it."""
    if not lines:
        return lines
    ward = Ward(list(lines), column, "", None)
    looping = ward.looping()
    taken = {label for line in lines for label in line}
    new_name: dict[tuple[str, str], str] = {}  # by label and parent
    for label, parent_of_column in sorted(ward.two_parents()[1].items()):
        if label in looping:
            continue
        first_column: dict[str, int] = {}
        for place in sorted(parent_of_column):
            first_column.setdefault(parent_of_column[place], place)
        for higher, place in list(first_column.items())[1:]:
            new_name[label, higher] = _fresh(f"{label} (level {place})", taken)
    if not new_name:
        return lines
    done.append(f"renamed {counted(new_name, 'group')} whose label stood on two levels")
    renamed = []
    for line in lines:
        new = list(line)
        for place in range(len(new) - 2, 0, -1):
            label, higher = line[place], line[place + 1]
            # a repeated label follows the copy above it, which has its name already
            new[place] = new[place + 1] if label == higher else new_name.get((label, higher), label)
        renamed.append(tuple(new))
    return renamed


def _completed(lines: list[Line], done: list[str]) -> list[Line]:
    """Carry on lines that stop at a group whose way up other lines tell."""
    parents: dict[str, set[str]] = {}
    for line in lines:
        for place in range(1, len(line) - 1):
            parents.setdefault(line[place], set()).add(line[place + 1])
    n_completed = 0
    completed = []
    for line in lines:
        whole = line
        while len(parents.get(whole[-1], ())) == 1 and len(whole) > 1:
            (above,) = parents[whole[-1]]
            if above in whole:
                break
            whole = (*whole, above)
        n_completed += whole != line
        completed.append(whole)
    if n_completed:
        done.append(f"carried on {counted(range(n_completed), 'line')} that stopped at a group")
    return completed


def _with_one_root(lines: list[Line], done: list[str]) -> list[Line]:
    roots = {line[-1] for line in lines}
    values = {line[0] for line in lines}
    if len(roots) == 1 and not roots & values:
        return lines
    if len(roots) == 1 and any(len(line) > 1 for line in lines):
        done.append("called the root '*', since its label is also a value")
        return [(*(line[:-1] or line), STAR) for line in lines]
    done.append("added the root '*'")
    return [line if line[-1] == STAR else (*line, STAR) for line in lines]


def _with_values(lines: list[Line], values: list[str] | None, done: list[str]) -> list[Line]:
    known = {line[0] for line in lines}
    absent = sorted(value for value in values or () if value not in known and value != STAR)
    if not absent:
        return lines
    done.append(f"added {counted(absent, 'value')} of the data directly under the root")
    root = lines[0][-1] if lines else STAR
    return [*lines, *((value, root) for value in absent)]


def _without_shared_labels(lines: list[Line], column: str, done: list[str]) -> list[Line]:
    values = {line[0] for line in lines}
    taken = {label for line in lines for label in line}
    shared = sorted(Ward(list(lines), column, "", None).groups & values)
    if not shared:
        return lines
    new_name = {label: _fresh(f"{label} (group)", taken) for label in shared}
    done.append(f"renamed {counted(shared, 'group')} whose label is also a value")
    return [
        (line[0], *(new_name.get(label, label) for label in line[1:-1]), *line[1:][-1:])
        for line in lines
    ]


def _without_idle_groups(lines: list[Line], column: str, done: list[str]) -> list[Line]:
    n_dropped = 0
    while Ward(list(lines), column, "", None).idle_group():
        lines = [(*line[:-2], line[-1]) for line in lines]
        n_dropped += 1
    if n_dropped:
        done.append(f"dropped {counted(range(n_dropped), 'group')} that held every value")
    return lines


def _without_copies(lines: list[Line], done: list[str]) -> list[Line]:
    kept = list(dict.fromkeys(lines))
    if len(kept) < len(lines):
        done.append(f"dropped {counted(lines[len(kept) :], 'repeated line')}")
    return kept


def _padded(lines: list[Line], given: list[Line], column: str, done: list[str]) -> list[Line]:
    """Return the lines of the tree's own ladder, all of one length and no level idle."""
    tree = Hierarchy.from_paths(column, lines)
    padded = [tuple(tree.labels[node] for node in rungs) for rungs in tree.ladder.T.tolist()]
    for ailment in Ward(list(given), column, "", None).odd_levels():
        if ailment.name == "empty-level":
            levels = counted(range(ailment.count), "level")
            done.append(f"dropped {levels} that changed nothing")
        else:
            done.append(f"padded all lines to {len(padded[0])} labels")
    return padded


def _fresh(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name} {number}", number + 1
    taken.add(candidate)
    return candidate
