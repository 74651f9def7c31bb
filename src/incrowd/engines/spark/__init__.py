"""The engine of a Spark cluster, or of Spark on one machine."""
