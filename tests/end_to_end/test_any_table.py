"""Any small table is released as promised or refused with a reason; nothing else happens."""

from collections import Counter

import pyarrow as pa
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import incrowd as ic
from tiers import examples

TEXTS = ["a", "b", "é", "日本", "a,b", 'q"q', "l\nl", " x", "{a, b}", "10-19", "20*", "", "?", "NA"]
COLUMNS = [
    st.integers(-60, 60),
    st.booleans(),
    st.one_of(st.none(), st.sampled_from(TEXTS)),
    st.integers(0, 99_999).map("{:05d}".format),
    st.dates().map(str),
    st.one_of(st.none(), st.floats(-9, 9, allow_nan=False)),
]
GUARANTEES = st.builds(
    ic.KAnonymity,
    st.integers(2, 6),
    l=st.sampled_from([None, None, 2, 3]),
    l_kind=st.sampled_from(["distinct", "entropy", "recursive"]),
    c=st.sampled_from([0.5, 1.0, 3.0]),
    t=st.sampled_from([None, None, 0.0, 0.3]),
    t_kind=st.sampled_from(["equal", "ordered"]),
)
METHODS = st.sampled_from(
    [
        ic.Greedy(),
        ic.Greedy(metric="loss", partitions=3),
        ic.Greedy(metric="total", partitions=2, reorganize="none"),
        ic.Mondrian(),
        ic.Mondrian(strict=False),
    ]
)


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 40))
    n_quasi = draw(st.integers(1, 3))
    return {
        name: draw(st.lists(draw(st.sampled_from(COLUMNS)), min_size=n_rows, max_size=n_rows))
        for name in [*(f"q{number}" for number in range(n_quasi)), "s"]
    }


@examples(150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables(), GUARANTEES, METHODS)
def test_any_table(columns, guarantee, method):
    quasi = [name for name in columns if name != "s"]
    job = ic.Job(schema=ic.Schema(quasi, ["s"]), guarantee=guarantee, method=method)
    try:
        release = ic.anonymize(pa.table(columns), job)
    except ic.AuditError:
        raise  # a method broke its promise
    except (ic.InputError, ic.InfeasibleError):
        return
    rows = release.data.to_pylist()
    groups = Counter(tuple(str(row[name]) for name in quasi) for row in rows)
    assert min(groups.values()) >= guarantee.k
    assert len(rows) == len(columns["s"])
    kept = Counter(None if value == "" else value for value in columns["s"])
    assert Counter(row["s"] for row in rows) == kept
