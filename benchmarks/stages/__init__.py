"""The workload ``stages``: every stage of a run and of a check beside polars and DuckDB."""
