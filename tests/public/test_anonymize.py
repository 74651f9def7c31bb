"""``ic.anonymize`` on every shape: stated plainly or by a job, with what a job asks to keep."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import incrowd as ic

COLUMNS = {"quasi": ["age", "sex"], "sensitive": ["diagnosis"]}


@pytest.fixture(scope="module")
def census():
    return ic.sample_census(300, 3)


def matrix():
    """Forty rows of two sorts of lists, each without one of its ten items."""
    held = np.zeros((40, 20), dtype=np.int8)
    for row in range(40):
        first = 10 * (row % 2)
        held[row, first : first + 10] = 1
        held[row, first + row // 2 % 10] = 0
    return sparse.csr_matrix(held)


def transactions():
    rows = ["bcegh", "acdij", "afl", "begh", "dfl"] * 4
    pairs = [(row, item) for row, items in enumerate(rows) for item in items]
    return pd.DataFrame(pairs, columns=["visit", "code"])


def shapes(folder):
    """Data and a job of every shape."""
    rules = folder / "rules.txt"
    rules.write_text("a c -> h\n", encoding="utf-8")
    return {
        "table": (
            ic.sample_census(200, 3).to_pandas(),
            ic.Job(ic.KAnonymity(4), ic.Schema(**COLUMNS), ic.Mondrian()),
        ),
        "sets": (matrix(), ic.Job(ic.Smooth(4), method=ic.Mondrian())),
        "noise": (matrix(), ic.Job(ic.EdgeDp(6.0))),
        "transactions": (
            transactions(),
            ic.Job(
                ic.RuleProtection(k=3, confidence=0.6),
                rules=ic.RuleInput(file=str(rules), sensitive_items="g,h,i,j,l"),
            ),
        ),
    }


def test_the_plain_case_is_the_job_it_stands_for(census):
    plain = ic.anonymize(
        census,
        **COLUMNS,
        k=4,
        l=2,
        t=0.9,
        hierarchies={"age": "intervals:10,20"},
        method="mondrian",
        suppression_limit=0.05,
        seed=3,
    )
    job = ic.Job(
        schema=ic.Schema(**COLUMNS),
        guarantee=ic.KAnonymity(4, l=2, t=0.9),
        hierarchies={"age": "intervals:10,20"},
        method=ic.Mondrian(),
        release=ic.ReleaseOptions(suppression_limit=0.05),
        seed=3,
    )
    stated = ic.anonymize(census, job)
    assert plain.job == stated.job
    assert plain.data.equals(stated.data)
    assert plain.audit.release_sha256 == stated.audit.release_sha256


def test_the_plain_case_counts_people(census):
    release = ic.anonymize(census, **COLUMNS, person="id", k=4, method=ic.Mondrian())
    assert release.audit.finding("k-anonymity").figures["counts"] == "people"


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({}, "neither a job nor k"),
        ({"quasi": ["age"]}, "neither a job nor k"),
        ({"k": 5}, "quasi-identifying"),
        ({"quasi": ["age"], "k": 1}, "k = 1"),
        ({"quasi": ["age"], "k": 5, "method": "mondrain"}, "'mondrain'"),
        ({"quasi": ["agee"], "k": 5}, "agee"),
        ({"quasi": ["age"], "sensitive": ["age"], "k": 5}, "both"),
        ({"job": ic.Job(ic.KAnonymity(4), ic.Schema(["age"])), "k": 5}, "k beside it"),
    ],
)
def test_what_is_stated_wrongly_is_told(census, stated, told):
    with pytest.raises(ic.InputError, match=told) as caught:
        ic.anonymize(census, **stated)
    assert caught.value.remedy


def test_help_names_every_argument():
    for function in (ic.anonymize, ic.check):
        explained = inspect.getdoc(function).partition("\nParameters\n----------\n")[2]
        for name in inspect.signature(function).parameters:
            assert name in explained, f"{function.__name__}: {name}"


def test_a_policy_and_a_key_are_written(census, tmp_path):
    (tmp_path / "private").mkdir()
    key, policy = tmp_path / "private" / "key.csv", tmp_path / "policy"
    job = ic.Job(
        ic.KAnonymity(4),
        ic.Schema(**COLUMNS),
        ic.Mondrian(),
        release=ic.ReleaseOptions(key=str(key), save_policy=str(policy)),
    )
    release = ic.anonymize(census, job)
    assert policy.is_dir()
    assert key.stat().st_mode & 0o777 == 0o600
    audit = ic.check(release.data, job, original=census, key=key)
    assert audit.holds
    assert audit.finding("key").holds


def test_the_protected_rules_are_written(tmp_path):
    saved = tmp_path / "saved.rules"
    job = ic.Job(
        ic.RuleProtection(k=3, confidence=0.6),
        rules=ic.RuleInput(mine=1, sensitive_items="g,h,i,j,l", save=str(saved)),
    )
    release = ic.anonymize(transactions(), job)
    assert "->" in saved.read_text("utf-8")
    stated = ic.RuleInput(file=str(saved), sensitive_items="g,h,i,j,l")
    assert ic.check(release.data, job.guarantee, rules=stated).holds


@pytest.mark.parametrize("shape", ["table", "sets", "noise", "transactions"])
def test_a_release_survives_pickling_without_its_original(tmp_path, shape):
    data, job = shapes(tmp_path)[shape]
    release = ic.anonymize(data, job)
    kept = pickle.dumps(release)
    again = pickle.loads(kept)
    assert again.audit == release.audit
    assert again.job == release.job
    assert (again.data != release.data).sum().sum() == 0
    with pytest.raises(ic.InputError, match="not kept"):
        again.report(tmp_path / "report.html")
    release.certificate(tmp_path / "certificate.json")


def test_a_pickle_holds_no_value_that_was_not_released():
    frame = pd.DataFrame({"town": [f"zq-{row:05}" for row in range(40)], "ill": ["yes", "no"] * 20})
    release = ic.anonymize(frame, quasi=["town"], sensitive=["ill"], k=40)
    assert b"zq-" not in pickle.dumps(release)


def test_errors_survive_pickling(census):
    with pytest.raises(ic.InfeasibleError) as caught:
        ic.anonymize(census, **COLUMNS, k=301)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    audit = ic.check(census, ic.KAnonymity(301), ic.Schema(quasi=["age"]))
    refused = ic.AuditError("refused", audit=audit, remedy="Mend it.")
    again = pickle.loads(pickle.dumps(refused))
    assert (again.audit, again.remedy, again.exit_status) == (audit, "Mend it.", 4)


# ── sets in frames of every layout ──────────────────────────────────────────────────────────


def set_frames():
    """The same sets as a matrix and as frames: pairs, lists and one-hot columns."""
    held = matrix().toarray().astype(bool)
    names = [f"i{item:02}" for item in range(held.shape[1])]
    owned = [[name for name, has in zip(names, row, strict=True) if has] for row in held]
    pairs = [(row, name) for row, listed in enumerate(owned) for name in listed]
    return {
        "pairs": pd.DataFrame(pairs, columns=["row", "item"]),
        "lists": pd.DataFrame({"items": owned}),
        "one-hot": pd.DataFrame(held, columns=names, index=[f"p{row}" for row in range(40)]),
    }


def shown_lists(layout, frame):
    """What each row of a released frame shows."""
    if layout == "lists":
        return [tuple(items) for items in frame["items"]]
    if layout == "one-hot":
        return [tuple(frame.columns[row]) for row in frame.to_numpy()]
    return [tuple(items) for _, items in frame.groupby("row")["item"]]


def test_sets_of_every_layout_give_the_same_release():
    job = ic.Job(ic.Smooth(4), method=ic.Mondrian())
    found = {}
    for layout, frame in set_frames().items():
        release = ic.anonymize(frame, job)
        assert release.audit.holds
        assert ic.check(release.data, job).holds
        found[layout] = shown_lists(layout, release.data)
        counts = pd.Series(found[layout]).value_counts()
        assert counts.min() >= 4
    assert found["pairs"] == found["lists"] == found["one-hot"]


def test_transactions_in_lists():
    rows = ["bcegh", "acdij", "afl", "begh", "dfl"] * 4
    frame = pd.DataFrame({"codes": [list(items) for items in rows]})
    job = ic.Job(ic.KmAnonymity(k=3, m=2), rules=ic.RuleInput(sensitive_items="g,h,i,j,l"))
    release = ic.anonymize(frame, job)
    assert release.audit.holds
    assert list(release.data.columns) == ["codes"]
    assert len(release.data) == 20
