"""``ic.check`` for every guarantee and shape, from data or from files."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import incrowd as ic

TABLE = pa.table(
    {"age": ["1", "1", "2", "2"] * 3, "zip": ["x", "x", "y", "y"] * 3, "ill": list("abab") * 3}
)
SCHEMA = ic.Schema(quasi=["age", "zip"], sensitive=["ill"])
CODES = ["bcegh", "acdij", "afl", "begh", "dfl"]
PARTS = ["(a,b,f) (c,d,e) g h", "(a,b,f) (c,d,e) i j", "(a,b,f) l"]
PARTS += ["(a,b,f) (c,d,e) g h", "(a,b,f) (c,d,e) l"]


def csr(rows, n_items):
    held = np.zeros((len(rows), n_items), dtype=np.int8)
    for row, items in enumerate(rows):
        held[row, items] = 1
    return sparse.csr_matrix(held)


# ── tables ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("make", [lambda table: table, pa.Table.to_pandas, pl.from_arrow])
def test_tables_of_every_kind(make):
    assert ic.check(make(TABLE), ic.KAnonymity(6, l=2, t=0.5), SCHEMA).holds
    assert not ic.check(make(TABLE), ic.KAnonymity(7), SCHEMA).holds


def test_a_file(tmp_path):
    TABLE.to_pandas().to_csv(tmp_path / "released.csv", index=False)
    audit = ic.check(tmp_path / "released.csv", ic.KAnonymity(6), SCHEMA)
    assert audit.holds
    assert audit.release_sha256


def test_columns_without_a_role_are_looked_at():
    named = TABLE.append_column("name", pa.array(list("qwertzuiopas")))
    audit = ic.check(named, ic.KAnonymity(6), SCHEMA)
    assert "unique rows" in [finding.name for finding in audit.broken]
    accepted = ic.check(named, ic.KAnonymity(6), SCHEMA, accept_insensitive=["name"])
    assert accepted.holds


def test_the_owner_brings_the_original():
    original = TABLE.set_column(1, "zip", pa.array(["x1", "x2", "y1", "y2"] * 3))
    released = TABLE.set_column(1, "zip", pa.array(["*"] * 12))
    swapped = np.array([1, 0, *range(2, 12)])
    assert ic.check(released, ic.KAnonymity(6), SCHEMA, original=original, aligned=True).holds
    audit = ic.check(released, ic.KAnonymity(6), SCHEMA, original=original, key=swapped)
    assert not audit.holds  # rows 0 and 1 have different illnesses
    assert audit.broken[0].name == "key"


def test_adaptive_anonymity():
    original = pa.table({"age": ["1", "2"] * 4, "k": [2] * 8, "ill": list("abab") * 2})
    released = pa.table({"age": ["*"] * 8, "ill": list("abab") * 2})
    guarantee = ic.AdaptiveAnonymity(k_column="k")
    schema = ic.Schema(quasi=["age"], sensitive=["ill"])
    with pytest.raises(ic.InputError, match="owner"):
        ic.check(released, guarantee, schema)
    assert ic.check(released, guarantee, schema, original=original, aligned=True).holds


def test_further_models_and_measures():
    assert not ic.check(TABLE, ic.KAnonymity(2), SCHEMA, thresholds={"alpha": 0.1}).holds
    audit = ic.check(TABLE, ic.KAnonymity(2), SCHEMA, measure=True)
    assert audit.finding("measured").figures["k"] == 6


def test_risk_attacks_utility_and_composition():
    audit = ic.check(
        TABLE,
        ic.KAnonymity(2),
        SCHEMA,
        original=TABLE,
        aligned=True,
        risk=ic.RiskOptions(threshold=0.1),
        attacks=["linkage", "homogeneity"],
        utility=["queries"],
        other=TABLE,
        composition=ic.CompositionOptions(same_people=True),
    )
    assert audit.finding("risk").figures["release"]["prosecutor"]["highest"] == pytest.approx(1 / 6)
    assert audit.finding("attack: linkage").figures["after"]["rate"] == pytest.approx(1 / 6)
    assert audit.finding("utility: queries").figures["are"] == 0
    assert audit.finding("attack: composition").holds is None  # nobody was found
    assert audit.holds


def test_coded_columns_and_missing_values():
    table = pa.table({"age": ["<20", "<20", "?", "?"]})
    schema, limits = ic.Schema(quasi=["age"]), {"age": ic.Coding(bottom=20)}
    assert ic.check(table, ic.KAnonymity(2), schema, coding=limits, missing_values=["?"]).holds
    shown = pa.table({"age": ["12", "12", "30", "30"]})
    assert not ic.check(shown, ic.KAnonymity(2), schema, coding=limits).holds


def test_distances_by_a_hierarchy(tmp_path):
    tree = tmp_path / "ill.csv"
    tree.write_text("a;letter;*\nb;letter;*\n", encoding="utf-8")
    promise = ic.KAnonymity(6, t=0.2, t_kind="hierarchical")
    assert ic.check(TABLE, promise, SCHEMA, hierarchies={"ill": str(tree)}).holds


def test_a_job_states_what_is_checked():
    job = ic.Job(ic.KAnonymity(6), SCHEMA)
    assert ic.check(TABLE, job).holds
    with pytest.raises(ic.InputError, match="the job states schema"):
        ic.check(TABLE, job, SCHEMA)
    with pytest.raises(ic.InputError, match="nothing to check"):
        ic.check(TABLE, ic.KAnonymity(6))


# ── sets ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("promise", "holds"),
    [(ic.Smooth(4), True), (ic.Majority(4), True), (ic.Suppression(4), False)],
)
def test_matrices_with_their_original(promise, holds):
    original = csr([[0, 1], [0, 1], [0], [0, 2]], 3)
    released = csr([[0, 1]] * 4, 3)
    assert ic.check(released, promise).holds  # group sizes are all that a stranger sees
    audit = ic.check(released, promise, original=original, aligned=True)
    assert audit.holds is holds
    assert audit.losses.created == pytest.approx(2 / 7)
    assert not ic.check(csr([[0], [0], [0], [1]], 3), promise).holds


def test_long_frames_and_files_of_sets(tmp_path):
    pairs = pd.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"]})
    assert ic.check(pairs, ic.Suppression(2)).holds
    assert not ic.check(pairs[:3], ic.Suppression(2)).holds
    wide = pairs.assign(day=0)
    named = ic.SetInput(row_column="user", item_column="item")
    assert ic.check(pl.from_pandas(wide), ic.Suppression(2), sets=named).holds
    (tmp_path / "lists.dat").write_text("a b\na b\n", encoding="utf-8")
    assert ic.check(tmp_path / "lists.dat", ic.Suppression(2)).holds
    assert not ic.check(str(tmp_path / "lists.dat"), ic.Suppression(3)).holds


@pytest.mark.parametrize("promise", [ic.EdgeDp(1.0), ic.NodeDp(1.0)])
def test_no_file_shows_differential_privacy(promise):
    with pytest.raises(ic.InputError, match="mechanism"):
        ic.check(csr([[0], [0]], 2), promise)


# ── transactions ────────────────────────────────────────────────────────────────────────────


def test_rules_of_files_and_frames(tmp_path):
    (tmp_path / "rules.txt").write_text("a c -> h\n", encoding="utf-8")
    (tmp_path / "released.dat").write_text("\n".join(PARTS) + "\n", encoding="utf-8")
    promise = ic.RuleProtection(k=3, confidence=0.6)
    rules = ic.RuleInput(file=str(tmp_path / "rules.txt"), sensitive_items="g,h,i,j,l")
    audit = ic.check(tmp_path / "released.dat", promise, rules=rules)
    assert audit.holds
    assert audit.finding("rules").figures["least_support"] == 4
    pairs = [(row, code) for row, codes in enumerate(CODES) for code in codes]
    frame = pd.DataFrame(pairs, columns=["visit", "code"])
    assert not ic.check(frame, promise, rules=rules).holds
    shown = [(row, code) for row, codes in enumerate(PARTS) for code in codes.split()]
    assert ic.check(pd.DataFrame(shown, columns=["visit", "code"]), promise, rules=rules).holds
    with pytest.raises(ic.InputError, match="no rules"):
        ic.check(frame, promise)


def test_km_anonymity(tmp_path):
    (tmp_path / "few.dat").write_text("(a,b) c\n(a,b) c\n(a,b) c\n(a,b) d\nc d\n", encoding="utf-8")
    assert ic.check(tmp_path / "few.dat", ic.KmAnonymity(k=2, m=1)).holds
    assert not ic.check(tmp_path / "few.dat", ic.KmAnonymity(k=2, m=2)).holds


# ── certificates ────────────────────────────────────────────────────────────────────────────


def test_a_certificate_is_verified(tmp_path):
    TABLE.to_pandas().to_csv(tmp_path / "data.csv", index=False)
    job = ic.Job(
        ic.KAnonymity(3),
        SCHEMA,
        ic.Mondrian(),
        data=tmp_path / "data.csv",
        output=tmp_path / "out.csv",
        release=ic.ReleaseOptions(certificate=str(tmp_path / "out.json")),
    )
    release = ic.run(job)
    audit = ic.verify_certificate(release.path, tmp_path / "out.json", original=job.data)
    assert audit.holds
    assert audit.finding("input").holds
    release.path.write_text("age,zip,ill\n1,x,a\n", encoding="utf-8")
    assert not ic.verify_certificate(str(release.path), str(tmp_path / "out.json")).holds
