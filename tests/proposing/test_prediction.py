"""What a release would lose: a quick estimate, and the columns without which less is lost."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import incrowd as ic
from incrowd.errors import IncrowdError, InfeasibleError
from incrowd.job.inputs import InputOptions
from incrowd.proposing import prediction
from incrowd.proposing.job import propose_for_table
from incrowd.proposing.prediction import Prediction, predict_loss
from incrowd.samples.hospital import COLUMNS, admissions
from incrowd.tables.table import Table

RELATIVE = {"Geburtsdatum": "age", "Entlassungsdatum": "days-since"}


def visits(n_rows=2_000):
    """Ages and sexes, of which little is lost, and two columns that tell nearly everybody."""
    drawn = np.random.default_rng(4)
    days = np.datetime64("2023-01-01") + drawn.integers(0, 365, (2, n_rows))
    return Table(
        pa.table(
            {
                "age": drawn.integers(20, 30, n_rows),
                "sex": drawn.choice(["f", "m"], n_rows),
                "admission": [str(day) for day in days[0]],
                "discharge": [str(day) for day in days[1]],
            }
        )
    )


def test_the_columns_that_cost_most_are_named():
    table = visits()
    job = propose_for_table(table, input=InputOptions()).job
    found = predict_loss(table, job)
    assert found is not None
    assert set(found.removed) <= {"admission", "discharge"}
    assert found.removed
    assert found.loss > 0.3
    assert found.loss_without < 0.05
    assert (found.n_rows, found.n_sampled, found.k) == (2_000, 2_000, 5)
    assert "with these 4 quasi-identifiers about" in found.text
    assert "a quick estimate for k = 5 on 2,000 rows" in found.text
    assert predict_loss(table, job) == found


def test_a_run_does_not_lose_more_than_predicted():
    table = visits()
    job = propose_for_table(table, input=InputOptions()).job
    found = predict_loss(table, job)
    assert found is not None
    mondrian = ic.anonymize(table.frame, replace(job, method=ic.Mondrian()))
    assert mondrian.audit.losses["loss"] == pytest.approx(found.loss)


def test_nothing_is_left_out_where_little_is_lost():
    table = Table(visits().frame.select(["age", "sex"]))
    found = predict_loss(table, propose_for_table(table, input=InputOptions()).job)
    assert found is not None
    assert found.removed == ()
    assert "without" not in found.text


def test_many_columns_in_doubt_are_left_out_together():
    drawn = np.random.default_rng(5)
    doubtful = {f"m{letter}x": drawn.integers(0, 40, 2_000) for letter in "abcdefgh"}
    table = Table(pa.table({**{"age": drawn.integers(20, 25, 2_000)}, **doubtful}))
    proposal = propose_for_table(table, input=InputOptions())
    in_doubt = [part.column for part in proposal.proposals if part.confidence == "low"]
    assert sorted(in_doubt) == sorted(doubtful)
    found = predict_loss(table, proposal.job, in_doubt=in_doubt)
    assert found is not None
    assert sorted(found.removed) == sorted(doubtful)
    assert "without the 8 that are in doubt (max … mhx)" in found.text


def test_a_large_table_is_sampled(monkeypatch):
    monkeypatch.setattr(prediction, "MOST_CELLS", 4_000)
    monkeypatch.setattr(prediction, "FEWEST_ROWS", 500)
    table = visits()
    found = predict_loss(table, propose_for_table(table, input=InputOptions()).job)
    assert found is not None
    assert found.n_sampled == 1_000
    assert "a sample of 1,000 of 2,000 rows" in found.text


def test_people_count_where_rows_repeat():
    table = visits(400)
    people = pa.array([f"p{row % 40}" for row in range(400)])
    table = Table(table.frame.append_column("patient_id", people))
    proposal = propose_for_table(table, input=InputOptions())
    assert proposal.person == "patient_id"
    without = predict_loss(Table(table.frame.drop_columns(["patient_id"])), visits_job(table))
    found = predict_loss(table, proposal.job)
    assert found is not None
    assert without is not None
    assert found.loss >= without.loss


def visits_job(table):
    return propose_for_table(
        Table(table.frame.drop_columns(["patient_id"])), input=InputOptions()
    ).job


def test_what_would_not_run_is_told():
    table = Table(visits().frame.slice(0, 3))
    with pytest.raises(InfeasibleError):
        predict_loss(table, propose_for_table(visits(), input=InputOptions()).job)
    wrong = replace(visits_job_of_ages(), hierarchies={"age": "icd10"})
    with pytest.raises(IncrowdError):
        predict_loss(visits(), wrong)


def visits_job_of_ages():
    return ic.Job(guarantee=ic.KAnonymity(5), schema=ic.Schema(quasi=["age"]))


@pytest.mark.parametrize(
    ("loss", "said"), [(0.5, "about half (50%)"), (0.12, "about 12%"), (0.002, "about <1%")]
)
def test_shares_in_words(loss, said):
    assert said in Prediction(loss, ("age", "sex"), 5, 10, 10).text


def test_dates_and_numbers_are_read_as_the_file_writes_them():
    """A hospital's dd.mm.yyyy and decimal commas; ages and lengths of stay cost less than dates."""
    rows = admissions(0, 400)
    table = Table(pa.table(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))))
    job = propose_for_table(table, input=InputOptions()).job
    found = predict_loss(table, job)
    assert found is not None
    assert "Aufnahmedatum" in found.text
    specs = {name: f"{kind}:Aufnahmedatum" for name, kind in RELATIVE.items()}
    relative = predict_loss(table, replace(job, hierarchies={**job.hierarchies, **specs}))
    assert relative is not None
    assert relative.loss < found.loss
