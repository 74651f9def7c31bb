"""Engines: rows in memory, on disk or on Spark, behind one interface."""
