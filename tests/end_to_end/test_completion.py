"""Shell completion, through the protocol by which shells ask for it."""

import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import incrowd
from incrowd.cli.completion import (
    columns_on_line,
    complete_columns,
    complete_hierarchy,
    complete_method,
    complete_topic,
)
from incrowd.cli.explain.topics import all_topics
from incrowd.guarantees.table import GUARANTEES
from incrowd.methods.table import METHODS


def complete(desk, line):
    """Ask as bash does: the whole line, and which of its words is begun."""
    finished = incrowd(
        folder=desk.folder,
        env={"_INCROWD_COMPLETE": "complete_bash", **words_of(line)},
    )
    assert finished.err == ""
    return sorted(finished.out.split())


def words_of(line):
    words = shlex.split(line)
    n_words = len(words) if line.endswith(" ") else len(words) - 1
    return {"COMP_WORDS": line, "COMP_CWORD": str(n_words)}


class Line:
    """What Typer hands a completion: the parameters that stand on the line already."""

    def __init__(self, *args, **params):
        self.args, self.params = list(args), params


@pytest.fixture
def line(desk):
    return Line(source=str(desk / "census.csv"))


def test_columns_methods_and_guarantees_by_the_shells_protocol(desk):
    assert complete(desk, "incrowd run census.csv --quasi age,s") == ["age,sex"]
    assert complete(desk, "incrowd run census.csv --method m") == ["microaggregate", "mondrian"]
    assert complete(desk, "incrowd check census.csv --guarantee k") == ["k-anonymity", "km"]


@pytest.mark.slow
def test_further_values_by_the_shells_protocol(desk):
    assert complete(desk, "incrowd run census.csv --l-kind e") == ["entropy"]
    assert complete(desk, "incrowd hierarchy census.csv z") == ["zip"]
    assert complete(desk, "incrowd hierarchy census.csv zip --build pre") == ["prefix"]
    assert complete(desk, "incrowd compare census.csv --method cluster,mon") == ["cluster,mondrian"]
    assert "stand-in" in complete(desk, "incrowd explain stand")
    assert "explain" in complete(desk, "incrowd exp")
    assert complete(desk, "incrowd run none.csv --quasi a") == []


def test_columns_come_from_the_header_alone(desk, line):
    header = (desk / "census.csv").read_text().splitlines()[0].split(",")
    assert columns_on_line(line) == header
    assert complete_columns(line, "") == header
    assert complete_columns(line, "age,") == [f"age,{name}" for name in header if name != "age"]
    (desk / "bad.csv").write_text("age,sex\n" + "1,f\n2,m\n" * 100_000 + "3,f,too,many\n")
    assert columns_on_line(Line(str(desk / "bad.csv"))) == ["age", "sex"]
    assert columns_on_line(Line(source=str(desk / "bad.csv"))) == ["age", "sex"]


def test_columns_of_jobs_and_of_other_files(desk):
    pq.write_table(pa.table({"height": [1], "weight": [2]}), desk / "people.parquet")
    (desk / "job.toml").write_text('data = "people.parquet"\n')
    assert columns_on_line(Line(source=str(desk / "people.parquet"))) == ["height", "weight"]
    assert columns_on_line(Line(source=str(desk / "job.toml"))) == ["height", "weight"]
    (desk / "semi.csv").write_text("größe;Ort\n1;a\n", encoding="latin-1")
    stated = Line(released=str(desk / "semi.csv"), delimiter=";", encoding="latin-1")
    assert columns_on_line(stated) == ["größe", "Ort"]


@pytest.mark.parametrize("name", ["none.csv", "none.toml", "hierarchies", ""])
def test_what_cannot_be_read_completes_to_nothing(desk, name):
    assert columns_on_line(Line(source=str(desk / name) if name else None)) == []


def test_hierarchies_methods_and_topics(line):
    assert complete_hierarchy(line, "zi") == ["zip="]
    assert "zip=prefix" in complete_hierarchy(line, "zip=p")
    assert "zip=intervals" in complete_hierarchy(line, "zip=")
    assert complete_method("") == list(METHODS)
    assert set(complete_topic("")) == {topic.name for topic in all_topics()}
    assert "--suppression-limit" in complete_topic("--supp")
    assert set(GUARANTEES) <= set(complete_topic(""))
