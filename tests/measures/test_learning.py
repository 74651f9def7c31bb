"""Models trained on releases: as good as the original where all is shown, a guess where nothing."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from incrowd.errors import InputError, JobError
from incrowd.measures.utility import learning
from incrowd.measures.utility.cells import Encoder, columns_of
from incrowd.measures.utility.learning import choose_test_rows, learning_finding
from incrowd.tables.table import Table
from measures.small_material import QUASI, release_of, small_table

pytest.importorskip("sklearn", reason="scikit-learn is an extra")


def telling_table(n_rows=1500, seed=3):
    """A table in which age and zip tell the illness of most people."""
    table = small_table(n_rows, seed)
    draw = np.random.default_rng(seed)
    old = [age is not None and int(age) > 45 for age in table.frame.column("age").to_pylist()]
    ill = ["yes" if is_old ^ (draw.random() < 0.05) else "no" for is_old in old]
    frame = table.frame.set_column(3, "ill", pa.array(ill, pa.string()))
    return replace(table, frame=frame)


@pytest.fixture(scope="module")
def table():
    return telling_table()


def test_a_release_that_shows_everything_teaches_as_much_as_the_original(table):
    material = release_of(table, 1, how="none", left_out=0.0)
    finding = learning_finding(material, "ill")
    figures = finding.figures
    assert figures["n_tested"] == 450
    assert figures["n_trained_release"] == figures["n_trained_original"] == 1050
    for model in figures["models"]:
        assert model["release"]["accuracy"] == pytest.approx(
            model["original"]["accuracy"], abs=0.01
        )
        assert model["original"]["accuracy"] > 0.85
        assert model["original"]["auc"] > 0.85
    assert figures["baseline"]["accuracy"] < 0.6
    assert finding.holds is None
    assert not finding.is_public


def test_a_release_that_shows_nothing_teaches_the_most_common_value(table):
    figures = learning_finding(release_of(table, 1, how="all", left_out=0.0), "ill").figures
    for model in figures["models"]:
        assert model["release"]["accuracy"] == figures["baseline"]["accuracy"]
        assert model["release"]["balanced_accuracy"] == 0.5
        assert model["release"]["auc"] == 0.5
        assert model["original"]["accuracy"] > 0.85


def test_generalized_rows_teach_something_in_between():
    material = release_of(telling_table(600), 1, left_out=0.1)
    figures = learning_finding(material, "ill").figures
    assert figures["n_trained_release"] < figures["n_trained_original"]
    best = max(model["release"]["accuracy"] for model in figures["models"])
    assert figures["baseline"]["accuracy"] + 0.1 < best


def test_rows_held_back_are_in_no_training(monkeypatch, table):
    trained = []
    plain = learning._train

    def spied(name, columns, train, test, values, seed):
        trained.append((train, test))
        return plain(name, columns, train, test, values, seed)

    monkeypatch.setattr(learning, "_train", spied)
    small = replace(table, frame=table.frame.slice(0, 120))
    # a column that numbers people shows who was in which part
    numbers = pa.array([str(number) for number in range(120)])
    small = replace(small, frame=small.frame.append_column("number", numbers))
    material = release_of(small, 2, how="none", left_out=0.0)
    schema = type(material.schema)(QUASI, ("ill",), ("number",))
    material = replace(material, schema=schema)
    learning_finding(material, "ill")
    place = [column.name for column in columns_of(material) if column.name != "ill"].index("number")
    for train, test in trained:
        assert not set(train.cells[place].tolist()) & set(test.cells[place].tolist())
    assert len(trained) == 4


def test_people_are_held_back_whole():
    people = [str(row % 40) for row in range(200)]
    table = Table(pa.table({"who": people}))
    is_held = choose_test_rows(table, "who", 0.3, 0)
    of_person = {}
    for person, is_in in zip(people, is_held.tolist(), strict=True):
        of_person.setdefault(person, set()).add(is_in)
    assert {len(both) for both in of_person.values()} == {1}
    assert 0 < sum(is_held) < 200


def test_rows_apart_are_coded_like_the_training_rows(table):
    """Held-back rows of another table: unknown values say nothing, numbers speak for themselves."""
    train = replace(table, frame=table.frame.slice(0, 1000))
    apart = table.frame.slice(1000)
    zips = ["999", *apart.column("zip").to_pylist()[1:]]
    ages = ["19.5", *apart.column("age").to_pylist()[1:]]
    apart = apart.set_column(2, "zip", pa.array(zips)).set_column(0, "age", pa.array(ages))
    material = release_of(train, 1, how="none", left_out=0.0)
    figures = learning_finding(material, "ill", held_back=replace(table, frame=apart)).figures
    assert figures["is_split_first"]
    assert figures["n_tested"] == 500
    assert figures["accuracy"] > 0.85
    columns = [column for column in columns_of(material) if column.name != "ill"]
    part = learning._encode_other_table(
        replace(table, frame=apart), columns_of(material)[3], columns
    )
    assert part.cells[2][0] == columns[2].whole
    encoder = Encoder.of(columns, [column.after for column in columns])
    assert encoder.features(part.cells, part.numbers)[0, 0] == 19.5


def test_features_of_a_value_are_its_ancestors():
    material = release_of(small_table(60, 8), 8)
    columns = columns_of(material)
    zips = columns[2]
    encoder = Encoder.of([zips], [zips.before])
    hierarchy = material.own.before.hierarchies[2]
    leaf = int(zips.before[0])
    row = encoder.features([np.array([leaf], dtype=np.int32)])[0]
    assert set(row.tolist()) == {0.0, 1.0}
    assert row.sum() == len({(zips.first[n], zips.end[n]) for n in hierarchy.ancestors(leaf)})
    above = hierarchy.ancestors(leaf)[1]
    generalized = encoder.features([np.array([above], dtype=np.int32)])[0]
    assert (generalized[row == 1] > 0).all()
    assert generalized.max() == 1


def test_a_column_that_cannot_be_predicted_is_refused():
    material = release_of(small_table(30, 1), 1)
    with pytest.raises(JobError, match="from 2 to 20"):
        learning_finding(material, "height")
    with pytest.raises(JobError, match="unknown published column"):
        learning_finding(material, "il")


def test_a_quasi_identifying_column_can_be_predicted():
    table = telling_table(300)
    decade = ["old" if age and int(age) > 50 else "young" for age in table.frame["age"].to_pylist()]
    frame = table.frame.set_column(2, "zip", pa.array([f"{word[0]}00" for word in decade]))
    material = release_of(replace(table, frame=frame), 1, how="none", left_out=0.0)
    assert learning_finding(material, "zip").figures["accuracy"] > 0.9


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InputError) as told:
        learning_finding(release_of(small_table(30, 1), 1), "ill")
    assert 'pip install "incrowd[bench]"' in told.value.remedy
    assert told.value.exit_status == 2


def test_the_same_seed_gives_the_same_figures():
    material = release_of(telling_table(200), 1)
    one, other = (learning_finding(material, "ill", seed=5).figures for _ in range(2))
    assert one == other
