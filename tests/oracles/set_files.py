"""Files of sets read the dumb way, with the csv module, and sets as plain dictionaries."""

import csv
import io


def baskets(text):
    """Return the items of every line: blanks part them, quotes are as in CSV."""
    lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=" "))
    return [[cell for cell in line if cell] for line in lines]


def edges(text, delimiter):
    """Return the set of pairs of an edge list without a header."""
    found = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return {tuple(line) for line in found if line}


def as_dict(sets):
    """Return the items of each row by name."""
    n_rows = len(sets.starts) - 1
    rows = list(range(n_rows)) if sets.row_names is None else sets.row_names.to_pylist()
    items = list(range(sets.n_items)) if sets.item_names is None else sets.item_names.to_pylist()
    starts = sets.starts.tolist()
    content = sets.items.tolist()
    return {
        rows[row]: [items[item] for item in content[starts[row] : starts[row + 1]]]
        for row in range(n_rows)
    }


def both_directions(pairs):
    """Return an undirected graph's pairs."""
    return set(pairs) | {(second, first) for first, second in pairs}


def put(folder, name, content):
    """Write a file; return its path."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
