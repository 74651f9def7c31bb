"""The methods on offer: their fields document themselves, and nothing heavy loads with them."""

from dataclasses import FrozenInstanceError, fields

import pytest

from command_line import python
from incrowd.errors import JobError
from incrowd.guarantees.table import GUARANTEES
from incrowd.methods.table import METHODS, default_method


@pytest.mark.parametrize("name", METHODS)
def test_every_field_says_what_it_is(name):
    method = METHODS[name](**({"combinations": "combinations.csv"} if name == "policy" else {}))
    assert METHODS[name].name == name
    assert method.keeps & set(GUARANTEES)
    for entry in fields(method):
        assert entry.metadata["help"]
        choices = entry.metadata["choices"]
        assert not choices or getattr(method, entry.name) in choices
    with pytest.raises(FrozenInstanceError):
        method.metric = "ncp"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("greedy", {"metric": "nlm"}),
        ("greedy", {"partitions": -1}),
        ("greedy", {"partitions": 2.0}),
        ("greedy", {"partitions": True}),
        ("greedy", {"reorganize": "level-first"}),
        ("mondrian", {"metric": "LOSS"}),
        ("mondrian", {"strict": "no"}),
        ("cluster", {"metric": "los"}),
        ("cluster", {"effort": -1}),
        ("cluster", {"effort": 1.5}),
        ("cluster", {"effort": True}),
        ("cluster", {"effort": "fast"}),
        ("cluster", {"effort": "0s"}),
        ("cluster", {"effort": "-3s"}),
        ("cluster", {"effort": "1e400s"}),
        ("cluster", {"effort": "99999999h"}),
        ("cluster", {"effort": "10 seconds"}),
    ],
)
def test_a_wrong_setting_is_refused_at_once(name, wrong):
    with pytest.raises(JobError) as caught:
        METHODS[name](**wrong)
    assert next(iter(wrong)) in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_every_guarantee_has_a_default_method_that_keeps_it(guarantee):
    assert guarantee in METHODS[default_method(guarantee)].keeps


def test_listing_methods_loads_nothing_heavy():
    program = (
        "import sys, incrowd.methods.table\n"
        "sys.exit(str({'numba', 'numpy', 'pyarrow', 'polars'} & set(sys.modules) or ''))"
    )
    assert python("-c", program).err.strip() == ""
