"""Whole runs in memory, on disk and on Spark, and a cost model."""
