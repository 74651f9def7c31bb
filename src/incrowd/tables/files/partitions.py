"""Hive-partitioned folders: ``year=2020/month=01/part-0.parquet`` has the columns year and month.

The rule is the same on every engine. A partition's columns come after those of the files, in the
order of the folders. Beside text files they are text; beside Parquet and Arrow files they are whole
numbers (64 bits) where all values are, written plainly (``2020``; ``01`` is text), and text
otherwise. ``__HIVE_DEFAULT_PARTITION__`` is a missing value, and ``%20`` and the like are decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from incrowd.errors import DataError

MISSING_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The name of the folder with the rows that have no value."""

_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class Partitions:
    """The columns that folders add to part files, and their values by the files' folders.

    ``values_of`` has the names of the folders between the location and a part file as keys; a
    flat folder has no names and one key, the empty tuple.
    """

    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    values_of: dict[tuple[str, ...], tuple[str | None, ...]]

    @property
    def fields(self) -> list[pa.Field]:
        """The columns that partitions add."""
        return [pa.field(*pair) for pair in zip(self.names, self.types, strict=True)]

    def extend_schema(self, schema: pa.Schema, where: str) -> pa.Schema:
        """Return the columns of part files with those of partitions; raise if one is both."""
        of_files = {name.lower() for name in schema.names}
        for name in self.names:
            if name.lower() in of_files:
                raise DataError(
                    f"{where}: column {name!r} is in the part files and in the names of folders",
                    remedy="Leave it out of the files, or put all part files into one folder.",
                )
        return pa.schema([*schema, *self.fields])

    def extend(self, tables: Iterator[pa.Table], folders: tuple[str, ...]) -> Iterator[pa.Table]:
        """Return the rows of a part file with the values of its folders."""
        if not self.names:
            return tables
        return (self._extend_table(table, folders) for table in tables)

    def _extend_table(self, table: pa.Table, folders: tuple[str, ...]) -> pa.Table:
        for field, value in zip(self.fields, self.values_of[folders], strict=True):
            is_number = value is not None and pa.types.is_integer(field.type)
            scalar = pa.scalar(int(value or 0) if is_number else value, field.type)
            table = table.append_column(field, pa.repeat(scalar, table.num_rows))
        return table


def find_partitions(
    folders_of_parts: Sequence[tuple[str, ...]], where: str, *, is_text: bool
) -> Partitions:
    """Return the partitions of part files, by the names of the folders that each lies in.

    Raises DataError for folders that are not partitions, or not the same ones everywhere.
    """
    names: tuple[str, ...] | None = None
    values_of: dict[tuple[str, ...], tuple[str | None, ...]] = {}
    for folders in dict.fromkeys(folders_of_parts):
        pairs = [_parse_folder(folder, where) for folder in folders]
        own = tuple(name for name, _ in pairs)
        if names is not None and own != names:
            raise DataError(
                f"{where}: its part files lie in folders of different partition columns "
                f"({_list_names(names)}; {_list_names(own)})",
                remedy="Partition all part files by the same columns, in the same order.",
            )
        if len({name.lower() for name in own}) < len(own):
            raise DataError(
                f"{where}: a partition column occurs twice in a path ({_list_names(own)})",
                remedy="Name every partition column once.",
            )
        names = own
        values_of[folders] = tuple(value for _, value in pairs)
    names = names or ()
    types = []
    for place in range(len(names)):
        values = [values[place] for values in values_of.values() if values[place] is not None]
        is_whole = all(_WHOLE_NUMBER.fullmatch(value or "") for value in values)
        types.append(pa.int64() if values and is_whole and not is_text else pa.string())
    return Partitions(names, tuple(types), values_of)


def is_partition(folder: str) -> bool:
    """Return whether a folder's name is that of a partition, ``column=value``."""
    return "=" in folder[1:]


def _parse_folder(folder: str, where: str) -> tuple[str, str | None]:
    if not is_partition(folder):
        raise nested_folder_error(where, folder)
    name, _, value = folder.partition("=")
    if not value:
        raise DataError(
            f"{where}: the folder {folder!r} names no value",
            remedy=f"Rows without a value lie in a folder {name}={MISSING_PARTITION}.",
        )
    return _decode(name), None if value == MISSING_PARTITION else _decode(value)


def _decode(text: str) -> str:
    """Decode ``%XX``: as UTF-8 where it is, else byte by byte, as Hive writes them."""

    def decode_run(found: re.Match[str]) -> str:
        content = bytes.fromhex(found[0].replace("%", ""))
        try:
            return content.decode()
        except UnicodeDecodeError:
            return content.decode("latin-1")

    return _ESCAPED.sub(decode_run, text)


def decode_as_spark(text: str) -> str:
    """Decode ``%XX`` as Spark does: every byte is a character."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)


def nested_folder_error(folder: str, name: str) -> DataError:
    """Return the error for a folder within a folder of part files."""
    return DataError(
        f"{folder}: contains a folder, {name!r}",
        remedy="Put all part files into one folder, or into folders named by the values of a "
        "column, such as year=2020.",
    )


def _list_names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
