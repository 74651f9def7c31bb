"""Files of SPSS, Stata and SAS: labels, codes, missing values and dates."""

from __future__ import annotations

import builtins
import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from incrowd.errors import DataError, InputError
from incrowd.flow.outputs import default_output
from incrowd.tables.files.read import read_table
from incrowd.tables.files.write import format_of_path
from incrowd.tables.table import Format

SEXES = {1: "male", 2: "female"}
LABELS: dict[str, Any] = {"sex": SEXES, "age": {99: "no answer"}, "twice": {1: "a", 2: "a"}}


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": [1.0, 2.0, 1.0, None],
            "age": [20.0, 99.0, 30.0, 40.0],
            "kg": [70.5, 80.0, None, 60.0],
            "twice": [1.0, 2.0, 1.0, 2.0],
            "town": ["Köln", "", "Łódź", "01067"],
            "born": [dt.date(1950, 1, 2), None, dt.date(2000, 2, 29), dt.date(1899, 1, 1)],
            "seen": pd.to_datetime(
                ["2024-01-01 12:30", None, "2024-01-02 00:00", "2024-01-03 00:00"]
            ),
        }
    )


def write(folder: Path, ending: str) -> Path:
    path = folder / f"survey.{ending}"
    if ending in ("sav", "zsav"):
        is_packed = ending == "zsav"
        pyreadstat.write_sav(
            frame(), path, variable_value_labels=LABELS, row_compress=not is_packed,
            compress=is_packed, missing_ranges={"age": [99]},
        )  # fmt: skip
    elif ending == "dta":
        pyreadstat.write_dta(frame(), path, variable_value_labels=LABELS)
    else:
        pyreadstat.write_xport(frame(), path)
    return path


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
def test_columns_keep_their_types(tmp_path: Path, ending: str) -> None:
    table = read_table(write(tmp_path, ending), value_labels="codes")
    assert table.format == Format(ending.removeprefix("z"))
    assert not table.notes
    assert [str(kind) for kind in table.frame.schema.types] == [
        *("int64", "int64", "double", "int64", "string", "date32[day]", "timestamp[us]")
    ]
    found = table.frame.to_pydict()
    assert found["sex"] == [1, 2, 1, None]
    assert found["kg"] == [70.5, 80.0, None, 60.0]
    assert found["town"] == ["Köln", None, "Łódź", "01067"]
    assert found["born"] == [dt.date(1950, 1, 2), None, dt.date(2000, 2, 29), dt.date(1899, 1, 1)]
    assert found["seen"][0] == dt.datetime(2024, 1, 1, 12, 30)
    is_user_missing = ending in ("sav", "zsav")
    assert found["age"] == [20, None if is_user_missing else 99, 30, 40]


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_stand_for_codes_where_every_value_has_its_own(tmp_path: Path, ending: str) -> None:
    table = read_table(write(tmp_path, ending))
    assert table.frame.column("sex").to_pylist() == ["male", "female", "male", None]
    assert pa.types.is_integer(table.frame.column("age").type)
    assert pa.types.is_integer(table.frame.column("twice").type)
    assert table.notes == (
        "value labels are read for 1 of 7 columns; read codes with --value-labels codes",
    )


@pytest.mark.parametrize("ending", ["sav", "dta", "sas7bdat", "xpt"])
def test_damaged_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    whole = write(tmp_path, ending).read_bytes() if ending != "sas7bdat" else b""
    for content in (whole[:300] or b"x", b"a,b\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"a.{ending}: not a valid .* file"):
            read_table(path)


def test_without_pyreadstat_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "sav")
    plain = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name == "pyreadstat":
            raise ImportError(name)
        return plain(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="needs pyreadstat") as caught:
        read_table(path)
    assert "incrowd[statistics]" in caught.value.remedy


def test_releases_are_not_written_in_these_formats() -> None:
    with pytest.raises(DataError, match="read, but not written"):
        format_of_path("release.sav")
    assert default_output(Path("survey.sav")) == Path("survey.release.csv")
    assert default_output(Path("people.xlsx")) == Path("people.release.xlsx")
