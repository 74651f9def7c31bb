"""Which items are sensitive: published as they are, and not to be inferred. The rest is public."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.data.item_lists import cells_of, items_called, lines_of, texts_of
from incrowd.errors import DataError, JobError

SHARE = "share:"


def sensitive_items(
    stated: str | Path | Sequence[str],
    names: pa.Array | Iterable[object],
    seed: int = 0,
    *,
    needs_both: bool = True,
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return of every item whether it is sensitive, and notes on how that came about.

    ``stated`` is a file with an item a line, a list ``a,b,c`` (quoted as in CSV; ``a,`` is a list
    of one), a sequence of items, or ``share:0.1``: a tenth of the items, drawn by ``seed``, which
    is for experiments only. Raises where items are unknown (all are counted), where a text is
    neither a file nor an item or is both, and, with ``needs_both``, where no item or every item
    would be sensitive: rules need both.
    """
    texts = texts_of(names)
    notes: list[str] = []
    if isinstance(stated, str) and stated.startswith(SHARE):
        is_sensitive, note = _drawn(stated, len(texts), seed)
        notes.append(note)
    else:
        where, found = _stated(stated, texts)
        places = items_called(found, texts)
        unknown = list(dict.fromkeys(np.array(found, dtype=object)[places < 0].tolist()))
        if unknown:
            raise DataError(
                f"{where}: {len(unknown):,} of {len(set(found)):,} items are none of the data's",
                remedy="Name items as the data file does.",
                examples=unknown,
            )
        is_sensitive = np.zeros(len(texts), dtype=np.bool_)
        is_sensitive[places] = True
    n_sensitive = int(is_sensitive.sum())
    if needs_both and n_sensitive in (0, len(texts)):
        raise DataError(
            "every item would be sensitive" if n_sensitive else "no item would be sensitive",
            remedy="Rules go from public items to sensitive ones: state some items, not all.",
        )
    return is_sensitive, notes


def _drawn(stated: str, n_items: int, seed: int) -> tuple[NDArray[np.bool_], str]:
    try:
        share = float(stated.removeprefix(SHARE))
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise JobError(
            f"sensitive items: {stated!r} states no share", remedy="Write  share:0.1  for a tenth."
        )
    n_drawn = min(max(1, round(share * n_items)), n_items)
    is_sensitive = np.zeros(n_items, dtype=np.bool_)
    is_sensitive[np.random.default_rng([seed, 4]).permutation(n_items)[:n_drawn]] = True
    note = (
        f"{n_drawn:,} of {n_items:,} items were drawn at random as sensitive ones: this is for "
        "experiments and protects nobody"
    )
    return is_sensitive, note


def _stated(stated: str | Path | Sequence[str], texts: pa.Array) -> tuple[str, list[str]]:
    """Return where items are stated, for errors, and them."""
    if isinstance(stated, Path):
        return str(stated), _listed(stated)
    if not isinstance(stated, str):
        return "sensitive items", [str(item) for item in stated]
    is_file = _is_file(stated)
    is_item = bool(items_called([stated], texts)[0] >= 0)
    if is_file and is_item:
        raise JobError(
            "sensitive items: what is stated is both a file and an item",
            remedy="Write  ./FILE  for the file, or a comma behind the item.",
            examples=[stated],
        )
    if is_file:
        return stated, _listed(Path(stated))
    if "," not in stated and not is_item:
        raise JobError(
            "sensitive items: what is stated is neither a file nor an item",
            remedy="Give a file with an item a line, a list  a,b,c,  or  share:0.1.",
            examples=[stated],
        )
    cells = cells_of(stated)
    if cells is None:
        raise JobError(
            "sensitive items: a quote in the list is left open",
            remedy='Quote items as in CSV: "a, b",c.',
        )
    return "sensitive items", [cell.strip() for cell in cells if cell.strip()]


def _is_file(stated: str) -> bool:
    try:
        return Path(stated).is_file()
    except (OSError, ValueError):
        return False


def _listed(path: Path) -> list[str]:
    """Return the items that a file lists, one a line; a line in quotes is quoted as in CSV."""
    found = []
    for line in lines_of(path, "the list of sensitive items"):
        text = line.strip()
        if len(text) > 1 and text.startswith('"') and text.endswith('"'):
            text = text[1:-1].replace('""', '"')
        if text:
            found.append(text)
    return found
