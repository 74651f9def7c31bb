"""The engines by name."""

from dataclasses import fields

import pytest

from command_line import python
from incrowd.engines.choice import ENGINES, EngineChoice, make_engine
from incrowd.engines.local.engine import LocalEngine
from incrowd.errors import JobError


def test_the_default_is_this_machine():
    engine = make_engine()
    assert isinstance(engine, LocalEngine)
    assert engine.threads >= 1


def test_threads_are_passed_on():
    engine = make_engine(EngineChoice(threads=3))
    assert isinstance(engine, LocalEngine)
    assert engine.threads == 3


def test_unknown_names_are_refused_with_the_near_one():
    with pytest.raises(JobError, match=r"unknown engine 'sparc'[^']*'spark'"):
        EngineChoice("sparc")
    with pytest.raises(JobError, match="threads is negative"):
        EngineChoice(threads=-1)


def test_help_lists_the_engines_that_there_are():
    by_name = {field.name: field.metadata for field in fields(EngineChoice)}
    assert by_name["name"]["choices"] == tuple(ENGINES)
    assert by_name["name"]["flag"] == "--engine"


@pytest.mark.parametrize(
    ("choice", "master"),
    [
        (EngineChoice("spark"), "local[*]"),
        (EngineChoice("spark", threads=2), "local[2]"),
        (EngineChoice("spark", threads=2, spark_master="spark://host:7077"), "spark://host:7077"),
    ],
)
def test_threads_count_where_the_master_leaves_them_open(choice, master):
    assert choice.master == master


def test_choosing_an_engine_loads_none():
    program = (
        "import sys, incrowd.engines.choice\n"
        "sys.exit(bool({'pyarrow', 'polars', 'pyspark', 'numpy'} & set(sys.modules)))"
    )
    assert python("-c", program).status == 0


@pytest.mark.spark
def test_spark_by_name(spark_engine):
    # A session runs in this process, and is the one that is taken.
    engine = make_engine(EngineChoice("spark"))
    try:
        assert engine.name == "spark"
        assert engine.describe()["session"] == "existing"
    finally:
        engine.close()
    assert spark_engine.describe()["session"] == "started by incrowd"
