"""What polars and DuckDB need for a file: ``peers.py OUT.json NAME DATA COLUMNS RELEASE``.

They read it as text, count rows by the columns and write it again. DuckDB also counts the rows of
the file without holding it, for comparison with a check.
"""

import sys
from pathlib import Path

from probe import Record  # type: ignore[import-not-found]


def polars(record: Record, data: str, columns: list[str], written: str) -> None:
    """Read, group and write with polars."""
    with record.stage("import"):
        import polars as pl
    is_text = data.endswith(".csv")
    with record.stage("read"):
        frame = pl.read_csv(data, infer_schema=False) if is_text else pl.read_parquet(data)
    with record.stage("group"):
        frame.group_by(columns).len()
    with record.stage("write"):
        frame.write_csv(written) if is_text else frame.write_parquet(written)


def duckdb(record: Record, data: str, columns: list[str], written: str) -> None:
    """Read, group and write with DuckDB."""
    with record.stage("import"):
        import duckdb as duck

        connection = duck.connect()
    is_text = data.endswith(".csv")
    source = f"read_csv('{data}', all_varchar = true)" if is_text else f"read_parquet('{data}')"
    keys = ", ".join(columns)
    with record.stage("read"):
        connection.execute(f"create table rows as select * from {source}")
    with record.stage("group"):
        connection.execute(f"select {keys}, count(*) from rows group by {keys}").fetchall()
    with record.stage("write"):
        form = "format csv, header" if is_text else "format parquet"
        connection.execute(f"copy rows to '{written}' ({form})")
    with record.stage("read and group"):
        groups = f"select count(*) as n from {source} group by {keys}"
        connection.execute(f"select min(n), count(*) from ({groups})").fetchall()


if __name__ == "__main__":
    out, name, data, columns, written = sys.argv[1:]
    {"polars": polars, "duckdb": duckdb}[name](Record(Path(out)), data, columns.split(","), written)
