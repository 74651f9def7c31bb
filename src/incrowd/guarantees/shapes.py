"""The shapes of data that promises are about; a guarantee declares its own."""

from __future__ import annotations

TABLES, SETS, TRANSACTIONS = "tables", "sets", "transactions"
SHAPES = (TABLES, SETS, TRANSACTIONS)
