"""The engine of one machine, rows in memory."""
