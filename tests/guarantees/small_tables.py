"""Small random tables in which stars, tokens and empty cells are common."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from incrowd.engines.local.engine import LocalEngine
from incrowd.guarantees.evidence import STARS, Evidence

QUASI = ("age", "sex", "zip")
SENSITIVE = ("ill", "wage")
CELLS = ("a", "b", "*", None, "?", "")
VALUES = ("x", "y", "z", "*", None, "?")

stars = st.sampled_from(STARS)
tokens = st.sampled_from([(), ("?",)])


@st.composite
def tables(draw, max_rows=12, values=VALUES, cells=CELLS):
    """Return (rows, quasi): a list of dicts with quasi, sensitive, person and k columns."""
    quasi = QUASI[: draw(st.integers(1, 3))]
    row = st.fixed_dictionaries(
        {name: st.sampled_from(cells) for name in quasi}
        | {name: st.sampled_from(values) for name in SENSITIVE}
        | {"person": st.sampled_from("pqrst"), "wish": st.sampled_from(["1", "2", "3", "4"])}
    )
    distinct = draw(st.lists(row, min_size=1, max_size=5))
    rows = draw(st.lists(st.sampled_from(distinct) | row, min_size=1, max_size=max_rows))
    return [dict(row) for row in rows], quasi


def to_table(rows, names=None):
    names = names or list(rows[0])
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in names})


def evidence_of(rows, quasi, sensitive=SENSITIVE, block_rows=5, **more):
    """Load rows in blocks small enough to split groups."""
    engine = LocalEngine(threads=2, block_rows=block_rows)
    return Evidence.from_table(to_table(rows), quasi, sensitive, engine=engine, **more)
