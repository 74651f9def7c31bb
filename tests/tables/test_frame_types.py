"""Categoricals, nullable types and an index come back; categories that are not shown do not."""

import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import incrowd as ic

N_ROWS = 60
SECRET = "zq-unused"


def columns():
    """Towns of which each is rare, sizes that are all common, and two sensitive columns."""
    return {
        "town": [f"town-{row % 30:02}" for row in range(N_ROWS)],
        "size": ["small", "large", "medium"] * (N_ROWS // 3),
        "n": [None if row % 10 == 0 else row % 3 for row in range(N_ROWS)],
        "flag": [row % 2 == 0 for row in range(N_ROWS)],
    }


ROLES = {"quasi": ["town", "size"], "sensitive": ["n", "flag"], "k": 6, "method": "mondrian"}


def test_pandas_categoricals_hold_released_categories_alone():
    frame = pd.DataFrame(columns())
    towns = [*sorted(set(frame["town"])), SECRET]
    frame["town"] = pd.Categorical(frame["town"], towns, ordered=True)
    sizes = ["small", "medium", "large", SECRET]
    frame["size"] = pd.Categorical(frame["size"], sizes, ordered=True)
    release = ic.anonymize(frame, **ROLES, hierarchies={"town": "flat"})
    data = release.data
    assert set(data["town"].cat.categories) == set(data["town"].unique()) == {"*"}
    assert not data["town"].cat.ordered  # generalized: the order of towns says nothing of labels
    assert list(data["size"].cat.categories) == ["small", "medium", "large"]
    assert data["size"].cat.ordered
    assert SECRET.encode() not in pickle.dumps(release)
    assert b"town-" not in pickle.dumps(release)


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_pandas_nullable_types_come_back(backend):
    frame = pd.DataFrame(columns()).convert_dtypes(dtype_backend=backend)
    data = ic.anonymize(frame, **ROLES, hierarchies={"town": "prefix"}).data
    assert dict(data.dtypes) == dict(frame.dtypes)
    numbers = pd.DataFrame(columns()).astype({"n": "Float64", "flag": "boolean"})
    numbers["age"] = pd.array(range(N_ROWS), dtype="Int64")
    found = ic.anonymize(numbers, quasi=["age"], sensitive=["n", "flag"], k=6).data
    assert str(found["n"].dtype) == "Float64"
    assert found["age"].map(type).unique().tolist() == [str]  # generalized to text


def test_plain_pandas_types_stay_plain():
    frame = pd.DataFrame(columns()).assign(n=[1, 2] * 30, when=pd.Timestamp("2020-01-01"))
    data = ic.anonymize(frame, quasi=["size"], sensitive=["n", "flag", "when"], k=6).data
    assert [str(data[name].dtype) for name in ("n", "flag", "size")] == ["int64", "bool", "object"]
    assert data["when"].dtype == frame["when"].dtype


def test_polars_categoricals_and_enums():
    frame = pl.DataFrame(
        columns(),
        schema_overrides={
            "town": pl.Categorical,
            "size": pl.Enum(["small", "medium", "large", SECRET]),
            "n": pl.Int16,
        },
    )
    for given in (frame, frame.lazy()):
        data = ic.anonymize(given, **ROLES, hierarchies={"town": "prefix"}).data
        assert data.schema["town"] == pl.Categorical
        assert data.schema["size"] == pl.Enum(["small", "medium", "large"])
        assert data.schema["n"] == pl.Int16
    towns = pl.Enum(sorted(set(columns()["town"])))
    merged = frame.with_columns(pl.col("town").cast(pl.String).cast(towns))
    data = ic.anonymize(merged, **ROLES, hierarchies={"town": "flat"}).data
    assert data.schema["town"] == pl.Enum(["*"])


def test_arrow_dictionaries_and_wide_texts():
    frame = pa.table(columns())
    frame = frame.set_column(0, "town", frame.column("town").dictionary_encode())
    frame = frame.set_column(1, "size", frame.column("size").cast(pa.large_string()))
    data = ic.anonymize(frame, **ROLES, hierarchies={"town": "flat"}).data
    assert data.schema.field("town").type == frame.schema.field("town").type
    assert data.column("town").combine_chunks().dictionary.to_pylist() == ["*"]
    assert data.schema.field("size").type == pa.large_string()


def test_types_change_nothing_of_the_release():
    plain = ic.anonymize(pd.DataFrame(columns()).astype({"n": "Int64"}), **ROLES)
    typed = pd.DataFrame(columns()).astype({"town": "category", "size": "string", "n": "Int64"})
    again = ic.anonymize(typed, **ROLES)
    assert again.audit.release_sha256 == plain.audit.release_sha256


# ── the index ───────────────────────────────────────────────────────────────────────────────


def test_levels_of_an_index_with_a_role_are_columns_and_come_back():
    frame = pd.DataFrame(columns()).set_index(["town", "size"])
    release = ic.anonymize(frame, **ROLES)
    assert release.data.index.names == ["town", "size"]
    assert list(release.data.columns) == ["n", "flag"]
    counts = release.data.groupby(level=["town", "size"], observed=True).size()
    assert counts.min() >= 6
    plain = ic.anonymize(pd.DataFrame(columns()), **ROLES)
    assert release.audit.release_sha256 == plain.audit.release_sha256
    assert ic.check(release.data, release.job).holds
    assert not ic.check(release.data, ic.KAnonymity(61), release.job.schema).holds


def test_an_index_without_a_role_is_dropped():
    frame = pd.DataFrame(columns(), index=pd.Index(range(N_ROWS), name="patient"))
    release = ic.anonymize(frame, **ROLES)
    assert release.data.index.equals(pd.RangeIndex(N_ROWS))
    counted = ic.anonymize(frame, **ROLES, person="patient")
    assert counted.audit.finding("k-anonymity").figures["counts"] == "people"
    assert "patient" not in counted.data.reset_index().columns


def test_a_named_index_is_looked_at_by_checks():
    release = ic.anonymize(pd.DataFrame(columns()), **ROLES)
    named = release.data.set_index(pd.Index([f"p{row}" for row in range(N_ROWS)], name="patient"))
    assert ic.check(release.data, release.job).holds
    assert not ic.check(named, ic.KAnonymity(6), release.job.schema).holds
