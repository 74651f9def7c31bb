"""The types that a frame's columns had, given back to a released frame.

Categoricals come back with the released categories alone: a list of all categories would publish
values that the release does not show. Other types come back where a column kept its Arrow type,
so that a column that was generalized to text stays text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import types


@dataclass(frozen=True, eq=False)
class FrameTypes:
    """The column types of a frame: its own by name, and what Arrow they were normalized to.

    ``levels`` are the levels of a pandas index that were read as columns.
    """

    kind: str
    own: Mapping[str, Any] = field(default_factory=dict)
    normalized: Mapping[str, pa.DataType] = field(default_factory=dict)
    levels: tuple[str, ...] = ()

    @classmethod
    def of(cls, frame: Any, kind: str, normalized: pa.Table, levels: Iterable[str]) -> FrameTypes:
        """Return the types of a frame that was read as ``normalized``."""
        own: dict[str, Any] = {}
        if kind == "pandas":
            own = dict(frame.dtypes)
            own |= {name: frame.index.get_level_values(name).dtype for name in levels}
        elif kind == "polars":
            own = dict(frame.collect_schema())
        elif kind == "pyarrow":
            own = {column.name: column.type for column in frame.schema}
        found = {column.name: column.type for column in normalized.schema}
        return cls(kind, own, found, tuple(levels))

    def restore(self, frame: Any, released: pa.Table) -> Any:
        """Return a new frame of the kind with the types that its columns had, where they fit."""
        for name in released.column_names:
            if name in self.own:
                is_same = _plain_type(released.schema.field(name).type) == self.normalized.get(name)
                frame = _RESTORERS[self.kind](frame, name, self.own[name], is_same)
        shown = [name for name in self.levels if name in released.column_names]
        return frame.set_index(shown) if shown else frame


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values; all texts have one."""
    plain = kind.value_type if types.is_dictionary(kind) else kind
    return pa.string() if types.is_large_string(plain) else plain


def named_levels(frame: Any, wanted: Iterable[str] | None) -> tuple[str, ...]:
    """Return the named levels of a pandas index that are wanted (all for None) and no columns."""
    names = [name for name in frame.index.names if isinstance(name, str)]
    chosen = set(names) if wanted is None else set(wanted)
    return tuple(name for name in names if name in chosen and name not in frame.columns)


def _restore_pandas(frame: Any, name: str, dtype: Any, is_same: bool) -> Any:
    import pandas as pd

    column = frame[name]
    if isinstance(dtype, pd.CategoricalDtype):
        categories, is_whole = _released_categories(column.dropna().unique(), dtype.categories)
        settled = pd.CategoricalDtype(categories, ordered=bool(dtype.ordered and is_whole))
        return frame.assign(**{name: column.astype(settled)})
    is_extension = pd.api.types.is_extension_array_dtype(dtype)
    if is_same and is_extension and dtype != column.dtype:
        return frame.assign(**{name: column.astype(dtype)})
    return frame


def _restore_polars(frame: Any, name: str, dtype: Any, is_same: bool) -> Any:
    import polars as pl

    del is_same
    if dtype == pl.Categorical:
        return frame.with_columns(pl.col(name).cast(pl.String).cast(pl.Categorical))
    if dtype == pl.Enum:
        shown = frame[name].drop_nulls().unique().to_list()
        categories, _ = _released_categories(shown, dtype.categories.to_list())
        return frame.with_columns(pl.col(name).cast(pl.Enum(categories)))
    return frame


def _restore_arrow(frame: pa.Table, name: str, kind: pa.DataType, is_same: bool) -> pa.Table:
    place = frame.column_names.index(name)
    column = frame.column(name)
    if types.is_dictionary(kind):
        encoded = column.combine_chunks().dictionary_encode()
        settled = pa.dictionary(kind.index_type, encoded.type.value_type, kind.ordered and is_same)
        return frame.set_column(place, name, encoded.cast(settled))
    if is_same and kind != column.type:
        return frame.set_column(place, name, column.cast(kind))
    return frame


_RESTORERS = {"pandas": _restore_pandas, "polars": _restore_polars, "pyarrow": _restore_arrow}


def _released_categories(shown: Iterable[Any], known: Iterable[Any]) -> tuple[list[Any], bool]:
    """Return the categories that a column shows, in their own order where all of them are known.

    The second says so: then nothing was generalized, and an order of the categories still holds.
    """
    present = set(shown)
    kept = [category for category in known if category in present]
    if len(kept) == len(present):
        return kept, True
    return sorted(present, key=str), False
