"""Diagnose and repair hierarchies given as paths of labels.

``examine`` names everything that keeps the paths from being a tree over a column's values;
``repair`` fixes what can be fixed without guessing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from incrowd.errors import HierarchyError
from incrowd.hierarchies.tree import STAR, Hierarchy

Path = Sequence[str]
Line = tuple[str, ...]
Edge = tuple[str, str, int]  # a group's label, the label above it, and its column in the file

PROBLEMS = {
    "no-line": ("error", "State a line per value: the value, its groups, '*'."),
    "header": ("error", "Delete the first line: a hierarchy file has no header."),
    "star-value": ("error", "Delete that line; give such a value another name in the data."),
    "empty-label": ("error", "Name each group; repeat the label to its left where there is none."),
    "contradiction": ("error", "Keep the line that is right; only you can know which."),
    "no-root": ("error", "End every line in '*', after a ';'."),
    "two-roots": ("error", "End every line in the same root, '*'."),
    "root-is-value": ("error", "Call the root '*', which is how it is shown."),
    "star-inside": ("error", "Call the root alone '*'; a line may end early, not go on after it."),
    "cycle": ("error", "Every label must reach the root by climbing to the label on its right."),
    "two-parents": ("error", "Give each group one parent, or groups that differ different names."),
    "shared-label": ("error", "Rename the groups."),
    "star-in-data": ("error", "Give that value another name in the data."),
    "group-in-data": ("error", "Add a line per value and rename the groups."),
    "missing-value": (
        "error",
        'Add a line per value, or set  missing = "suppress"  for this column.',
    ),
    "duplicate": ("warning", "Delete the repeated lines; they change nothing."),
    "unequal-depth": ("warning", "Repeat a label where a level has no group of its own."),
    "empty-level": ("warning", "Delete the column."),
    "idle-group": ("warning", "Delete that group, unless readers should see its name."),
    "near-labels": ("warning", "Make the labels equal if they mean the same group."),
}
"""Every problem that is looked for: its severity, and the remedy."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong (``error``) or suspicious (``warning``) in a hierarchy."""

    name: str
    what: str
    count: int
    examples: tuple[str, ...] = ()

    @property
    def severity(self) -> str:
        """``error`` where the hierarchy is refused because of it, else ``warning``."""
        return PROBLEMS[self.name][0]

    @property
    def remedy(self) -> str:
        """How to fix it."""
        return PROBLEMS[self.name][1]

    def text(self, show_values: bool) -> str:
        """Return the problem and its remedy; with ``show_values`` also up to three examples."""
        return HierarchyError(self.what, remedy=self.remedy, examples=self.examples).text(
            show_values
        )


def examine(
    paths: Iterable[Path],
    column: str,
    values_of_data: Iterable[str] | None = None,
    *,
    where: str = "the hierarchy",
    is_ladder: bool = True,
) -> list[Problem]:
    """Return everything wrong with the paths, errors first.

    ``values_of_data`` are the values that need a leaf. ``is_ladder`` says that the paths are the
    lines of a table, whose lengths should be equal and whose columns should each change
    something; the paths of a nested tree need not.
    """
    values = None if values_of_data is None else list(dict.fromkeys(values_of_data))
    index = PathIndex(list(paths), column, where, values)
    if not index.paths:
        return [index.problem("no-line", f"{where} holds no line", count=1)]
    found = [
        *index.find_bad_lines(),
        *index.find_bad_roots(),
        *index.find_bad_groups(),
        *index.find_uncovered(),
    ]
    if is_ladder:
        found += index.find_odd_levels()
    found += index.find_odd_labels()
    return sorted(found, key=lambda problem: list(PROBLEMS).index(problem.name))


def refuse_errors(problems: Sequence[Problem]) -> None:
    """Raise one error that joins all errors among the problems, if there are any."""
    errors = [problem for problem in problems if problem.severity == "error"]
    if not errors:
        return
    remedies = list(dict.fromkeys(error.remedy for error in errors))
    remedies.append("(incrowd hierarchy --repair fixes what needs no guess.)")
    raise HierarchyError(
        "\n".join(error.what for error in errors),
        remedy="\n".join(remedies),
        examples=[example for error in errors for example in error.examples[:1]],
    )


class PathIndex:
    """Paths, indexed for the checks: by value, with each distinct way up once."""

    def __init__(
        self, paths: list[Path], column: str, where: str, values: list[str] | None
    ) -> None:
        self.paths, self.column, self.where, self.values = paths, column, where, values
        self.ways_of_value: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self.edges: set[Edge] = set()
        self.lines_of_root: Counter[str] = Counter()
        way_of: dict[tuple[tuple[str, ...], int], tuple[str, ...]] = {}
        for path in paths:
            value, above, first_column = path[0], tuple(path[1:]), 1
            while above and above[0] in (value, ""):
                above, first_column = above[1:], first_column + 1
            way = way_of.get((above, first_column))
            if way is None:
                way = way_of[above, first_column] = drop_repeats(above)
                self.edges.update(_edges(fill_gaps(above), first_column))
            self.ways_of_value[value][way] += 1
            self.lines_of_root[way[-1] if way else value] += 1
        self.groups = {label for way in way_of.values() for label in way[:-1]}

    def problem(
        self, name: str, what: str, examples: Sequence[str] = (), *, count: int = 0
    ) -> Problem:
        """Return a problem in words; ``count`` is the number of examples unless stated."""
        return Problem(
            name, f"column {self.column!r}: {what}", count or len(examples), tuple(examples[:5])
        )

    # ── lines ───────────────────────────────────────────────────────────────────────────────

    def find_bad_lines(self) -> list[Problem]:
        """Find lines without content, repeated lines, and lines that contradict each other."""
        found = []
        if STAR in self.ways_of_value:
            what = f"{self.where} has a line about the value '*', which is how the root is shown"
            found.append(self.problem("star-value", what, count=1))
        gaps = [path[0] for path in self.paths if _has_gap(path)]
        if gaps:
            what = f"{pluralize(gaps, 'line')} of {self.where} with an empty group"
            found.append(self.problem("empty-label", what, gaps))
        several = {v: ways for v, ways in self.ways_of_value.items() if ways.total() > 1}
        same = [value for value, ways in several.items() if len(ways) == 1]
        other = [value for value, ways in several.items() if len(ways) > 1]
        if same:
            what = f"{pluralize(same, 'value')} on several lines of {self.where}, with equal groups"
            found.append(self.problem("duplicate", what, same))
        if other:
            what = (
                f"{pluralize(other, 'value')} on several lines of {self.where}, with other groups"
            )
            found.append(self.problem("contradiction", what, other))
        return found

    def find_bad_roots(self) -> list[Problem]:
        """Find what keeps the lines from ending in one root that is no other node."""
        roots = self.lines_of_root
        if not self.has_groups:
            what = f"no line of {self.where} has a group or a root after its value"
            return [self.problem("no-root", what, count=len(self.paths))]
        if len(roots) == 1:
            (root,) = roots
            if root == STAR or root not in self.ways_of_value:
                return []
            what = f"the root of {self.where} has the label of a value"
            return [self.problem("root-is-value", what, [root])]
        if self.has_header:
            what = f"the first line of {self.where} alone does not end in the root, like a header"
            return [self.problem("header", what, count=1)]
        rare = sorted(roots.keys() - {STAR}, key=lambda label: (roots[label], label))
        what = f"the lines of {self.where} end in {len(roots):,} different roots"
        return [self.problem("two-roots", what, rare, count=len(roots))]

    @property
    def has_groups(self) -> bool:
        """Whether any line has a group or a root after its value."""
        return any(way for ways in self.ways_of_value.values() for way in ways)

    @property
    def has_header(self) -> bool:
        """Whether the first line is alone with its root, and about no value of the data."""
        first = drop_repeats(self.paths[0])
        is_alone = len(self.lines_of_root) == 2 and self.lines_of_root[first[-1]] == 1
        is_no_value = first[0] not in (self.values or ())
        return self.has_groups and is_alone and len(self.paths) > 2 and is_no_value

    # ── groups ──────────────────────────────────────────────────────────────────────────────

    def find_bad_groups(self) -> list[Problem]:
        """Find labels that name more than one node, and nodes with no way to the root."""
        found = []
        if STAR in self.groups:
            what = f"{self.where} has a group below the root with the label '*'"
            found.append(self.problem("star-inside", what, count=1))
        looping = self.cyclic_labels()
        if looping:
            what = f"{pluralize(looping, 'label')} of {self.where} climbing in a cycle"
            found.append(self.problem("cycle", what, looping))
        torn, spread = (set(labels).difference(looping) for labels in self.ambiguous_labels())
        if torn:
            what = f"{pluralize(torn, 'label')} of {self.where} with more than one parent"
            found.append(self.problem("two-parents", what, sorted(torn)))
        shared = sorted((spread | (self.groups & self.ways_of_value.keys())) - {STAR})
        if shared:
            what = (
                f"{pluralize(shared, 'label')} of {self.where} shared by different nodes (a value "
                "and a group, or groups of two levels): a released cell could mean either"
            )
            found.append(self.problem("shared-label", what, shared))
        return found

    def ambiguous_labels(self) -> tuple[list[str], dict[str, dict[int, str]]]:
        """Return labels with two parents in one column, and the parent by column of the others."""
        parents: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for label, higher, column in self.edges:
            parents[label][column].add(higher)
        torn, spread = [], {}
        for label, in_column in parents.items():
            if any(len(above) > 1 for above in in_column.values()):
                torn.append(label)
            elif len(set().union(*in_column.values())) > 1:
                spread[label] = {column: min(above) for column, above in in_column.items()}
        return torn, spread

    def cyclic_labels(self) -> list[str]:
        """Return the labels on a cycle: what is left when tops and bottoms are peeled off."""
        steps = {(label, higher) for label, higher, _ in self.edges}
        while True:
            lower = {label for label, _ in steps}
            upper = {higher for _, higher in steps}
            kept = {step for step in steps if step[0] in upper and step[1] in lower}
            if len(kept) == len(steps):
                return sorted(label for label in lower if label in upper)
            steps = kept

    # ── the data's values ───────────────────────────────────────────────────────────────────

    def find_uncovered(self) -> list[Problem]:
        """Find values of the data that have no leaf."""
        found = []
        absent = self.uncovered_values()
        if STAR in (self.values or ()):
            what = "the data hold the value '*', which is how the root is shown"
            found.append(self.problem("star-in-data", what, count=1))
        grouped = [value for value in absent if value in self.groups]
        if grouped:
            what = f"{pluralize(grouped, 'value')} of the data with the label of a group, no leaf"
            found.append(self.problem("group-in-data", what, grouped))
        absent = [value for value in absent if value not in self.groups]
        if absent:
            verb = "has" if len(absent) == 1 else "have"
            what = f"{pluralize(absent, 'value')} {verb} no leaf in {self.where}"
            known = {_normalize(value) for value in self.ways_of_value}
            n_alike = sum(_normalize(value) in known for value in absent)
            if n_alike:
                what += f" ({n_alike:,} only for blanks, case, leading zeros or '.0')"
            found.append(self.problem("missing-value", what, absent))
        return found

    def uncovered_values(self) -> list[str]:
        """Return the values of the data without a leaf, ``*`` aside."""
        return [v for v in self.values or () if v not in self.ways_of_value and v != STAR]

    # ── what is only suspicious ──────────────────────────────────────────────────────────────

    def find_odd_levels(self) -> list[Problem]:
        """Find lines that are too short and levels that change nothing."""
        found = []
        longest = max(len(path) for path in self.paths)
        short = [path[0] for path in self.paths if len(path) < longest]
        if short:
            what = f"{pluralize(short, 'line')} of {self.where} with fewer than {longest} labels"
            found.append(self.problem("unequal-depth", what, short))
        idle = [
            level
            for level in range(1, longest)
            if all(path[level] == path[level - 1] for path in self.paths if len(path) > level)
        ]
        if idle:
            columns = ", ".join(str(level + 1) for level in idle)
            what = f"column {columns} of {self.where} repeats the one before it on every line"
            found.append(self.problem("empty-level", what, count=len(idle)))
        return found

    def find_odd_labels(self) -> list[Problem]:
        """Find groups that say no more than the root, and labels that look like typos."""
        found = []
        if self.idle_group():
            what = f"one group of {self.where} below the root holds every value"
            found.append(self.problem("idle-group", what, [self.idle_group()]))
        pairs = similar_labels(self.edges)
        if pairs:
            what = (
                f"{pluralize(pairs, 'pair')} of groups in {self.where} that differ by one letter, "
                "blanks or case"
            )
            found.append(self.problem("near-labels", what, [" / ".join(pair) for pair in pairs]))
        return found

    def idle_group(self) -> str:
        """Return the one group below the root that holds everything, or an empty text."""
        if len(self.lines_of_root) > 1 or len(self.ways_of_value) < 2:
            return ""
        below_root = {
            (value, *way)[-2] if way else value
            for value, ways in self.ways_of_value.items()
            for way in ways
        }
        return min(below_root) if len(below_root) == 1 and below_root <= self.groups else ""


def _edges(labels: tuple[str, ...], first_column: int) -> list[Edge]:
    """Return the steps of a way up; a repeated label belongs to its first column."""
    found = []
    column_of_label = first_column
    for column, (label, higher) in enumerate(pairwise(labels), first_column):
        if label != higher:
            found.append((label, higher, column_of_label))
            column_of_label = column + 1
    return found


def _has_gap(path: Path) -> bool:
    """Whether a group is empty; a value that is the empty cell may be repeated."""
    first_group = next((place for place, label in enumerate(path) if label != path[0]), len(path))
    return "" in path[first_group:]


def pluralize(things: Iterable[object], noun: str) -> str:
    """Return the number of things with the noun in the right number."""
    n_things = sum(1 for _ in things)
    return f"{n_things:,} {noun}" if n_things == 1 else f"{n_things:,} {noun}s"


def fill_gaps(labels: Path) -> tuple[str, ...]:
    """Return the labels with each empty one replaced by the one before it."""
    filled: list[str] = []
    for label in labels:
        filled.append(label or (filled[-1] if filled else label))
    return tuple(filled)


def drop_repeats(labels: Path) -> tuple[str, ...]:
    """Return the labels without gaps and without those that repeat the one before them."""
    filled = fill_gaps(labels)
    return tuple(
        label for place, label in enumerate(filled) if place == 0 or label != filled[place - 1]
    )


def _normalize(value: str) -> str:
    """Return a value without what two files often write differently."""
    plain = value.strip().casefold()
    head, point, tail = plain.partition(".")
    if point and head.isdecimal() and not tail.strip("0"):
        plain = head
    return plain.lstrip("0") or "0" if plain.isdecimal() else plain


def similar_labels(edges: Iterable[Edge]) -> list[tuple[str, str]]:
    """Return pairs of groups of one level whose labels are hard to tell apart.

    Labels with digits are near each other by nature (20-24, 25-29; 0124*, 0125*): of these, and of
    short labels, only those that differ in blanks and case are reported.
    """
    labels_of_column: dict[int, set[str]] = defaultdict(set)
    for label, _, column in edges:
        if len(label) <= 60 and not label.startswith("{"):
            labels_of_column[column].add(label)
    pairs: set[tuple[str, str]] = set()
    for labels in labels_of_column.values():
        alike: dict[str, list[str]] = defaultdict(list)  # by what two near labels have in common
        for label in sorted(labels):
            plain = "".join(label.casefold().split())
            keys = {plain}
            if len(plain) > 4 and not any(letter.isdigit() for letter in plain):
                keys |= {plain[:place] + plain[place + 1 :] for place in range(len(plain))}
            for key in keys:
                alike[key].append(label)
        for candidates in alike.values():
            pairs.update(pair for pair in pairwise(candidates) if _differ_by_one(*pair))
    return sorted(pairs)


def _differ_by_one(first: str, second: str) -> bool:
    """Whether two labels are equal, blanks and case aside, but for one letter at most."""
    left, right = ("".join(label.casefold().split()) for label in (first, second))
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    return len(left) <= 1 and len(right) <= 1


# ── repairing ───────────────────────────────────────────────────────────────────────────────


def repair(
    paths: Iterable[Path],
    column: str,
    values_of_data: Iterable[str] | None = None,
    *,
    is_ladder: bool = True,
) -> tuple[list[Line], list[str]]:
    """Return repaired paths, and in words what was done to them.

    Values of the data without a leaf go directly under the root, equal lines become one, levels
    that say nothing are dropped, ambiguous groups are renamed, and lines of a table are padded to
    one length. Lines that contradict each other stay, and ``examine`` still finds them.
    """
    values = None if values_of_data is None else list(dict.fromkeys(values_of_data))
    given = [tuple(path) for path in paths if path]
    if not given:
        return [], []
    done: list[str] = []
    lines = _drop_useless_lines(given, column, values, done)
    lines = _rename_across_levels(lines, column, done)
    lines = [drop_repeats(line) for line in lines]
    lines = _extend_to_root(lines, done)
    lines = _add_root(lines, done)
    lines = _add_values(lines, values, done)
    lines = _rename_shared_labels(lines, column, done)
    lines = _drop_duplicates(lines, done)
    if any(problem.severity == "error" for problem in examine(lines, column, values)):
        return lines, done
    lines = _drop_idle_groups(lines, column, done)
    if is_ladder:
        lines = _pad(lines, given, column, done)
    return lines, done


def _drop_useless_lines(
    lines: list[Line], column: str, values: list[str] | None, done: list[str]
) -> list[Line]:
    """Drop a header (only where the data prove that it is not a value) and lines about ``*``."""
    if values is not None and PathIndex(list(lines), column, "", values).has_header:
        lines = lines[1:]
        done.append("dropped the first line, a header")
    kept = [line for line in lines if line[0] != STAR]
    if len(kept) < len(lines):
        done.append(f"dropped {pluralize(lines[len(kept) :], 'line')} about the value '*'")
    n_gaps = sum("" in line[1:] for line in kept)
    if n_gaps:
        done.append(f"filled empty groups on {pluralize(range(n_gaps), 'line')}")
    return [(line[0], *fill_gaps(line)[1:]) for line in kept]


def _rename_across_levels(lines: list[Line], column: str, done: list[str]) -> list[Line]:
    """Give groups of two levels that share a label a name each; the lowest keeps it."""
    if not lines:
        return lines
    index = PathIndex(list(lines), column, "", None)
    looping = index.cyclic_labels()
    taken = {label for line in lines for label in line}
    new_name: dict[tuple[str, str], str] = {}  # by label and parent
    for label, parent_of_column in sorted(index.ambiguous_labels()[1].items()):
        if label in looping:
            continue
        first_column: dict[str, int] = {}
        for place in sorted(parent_of_column):
            first_column.setdefault(parent_of_column[place], place)
        for higher, place in list(first_column.items())[1:]:
            new_name[label, higher] = _unused_name(f"{label} (level {place})", taken)
    if not new_name:
        return lines
    done.append(f"renamed {pluralize(new_name, 'group')} whose label was used on two levels")
    renamed = []
    for line in lines:
        new = list(line)
        for place in range(len(new) - 2, 0, -1):
            label, higher = line[place], line[place + 1]
            # a repeated label follows the copy above it, which has its name already
            new[place] = new[place + 1] if label == higher else new_name.get((label, higher), label)
        renamed.append(tuple(new))
    return renamed


def _extend_to_root(lines: list[Line], done: list[str]) -> list[Line]:
    """Extend lines that stop at a group whose way up is known from other lines."""
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
        done.append(f"extended {pluralize(range(n_completed), 'line')} that stopped at a group")
    return completed


def _add_root(lines: list[Line], done: list[str]) -> list[Line]:
    roots = {line[-1] for line in lines}
    values = {line[0] for line in lines}
    if len(roots) == 1 and not roots & values:
        return lines
    if len(roots) == 1 and any(len(line) > 1 for line in lines):
        done.append("renamed the root '*', since its label is also a value")
        return [(*(line[:-1] or line), STAR) for line in lines]
    done.append("added the root '*'")
    return [line if line[-1] == STAR else (*line, STAR) for line in lines]


def _add_values(lines: list[Line], values: list[str] | None, done: list[str]) -> list[Line]:
    known = {line[0] for line in lines}
    absent = sorted(value for value in values or () if value not in known and value != STAR)
    if not absent:
        return lines
    done.append(f"added {pluralize(absent, 'value')} of the data directly under the root")
    root = lines[0][-1] if lines else STAR
    return [*lines, *((value, root) for value in absent)]


def _rename_shared_labels(lines: list[Line], column: str, done: list[str]) -> list[Line]:
    values = {line[0] for line in lines}
    taken = {label for line in lines for label in line}
    shared = sorted(PathIndex(list(lines), column, "", None).groups & values)
    if not shared:
        return lines
    new_name = {label: _unused_name(f"{label} (group)", taken) for label in shared}
    done.append(f"renamed {pluralize(shared, 'group')} whose label is also a value")
    return [
        (line[0], *(new_name.get(label, label) for label in line[1:-1]), *line[1:][-1:])
        for line in lines
    ]


def _drop_idle_groups(lines: list[Line], column: str, done: list[str]) -> list[Line]:
    n_dropped = 0
    while PathIndex(list(lines), column, "", None).idle_group():
        lines = [(*line[:-2], line[-1]) for line in lines]
        n_dropped += 1
    if n_dropped:
        done.append(f"dropped {pluralize(range(n_dropped), 'group')} that held every value")
    return lines


def _drop_duplicates(lines: list[Line], done: list[str]) -> list[Line]:
    kept = list(dict.fromkeys(lines))
    if len(kept) < len(lines):
        done.append(f"dropped {pluralize(lines[len(kept) :], 'repeated line')}")
    return kept


def _pad(lines: list[Line], given: list[Line], column: str, done: list[str]) -> list[Line]:
    """Return the lines of the tree's own ladder, all of one length and no level idle."""
    tree = Hierarchy.from_paths(column, lines)
    padded = [tuple(tree.labels[node] for node in rungs) for rungs in tree.ladder.T.tolist()]
    for problem in PathIndex(list(given), column, "", None).find_odd_levels():
        if problem.name == "empty-level":
            levels = pluralize(range(problem.count), "level")
            done.append(f"dropped {levels} that changed nothing")
        else:
            done.append(f"padded all lines to {len(padded[0])} labels")
    return padded


def _unused_name(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name} {number}", number + 1
    taken.add(candidate)
    return candidate
