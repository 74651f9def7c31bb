"""Proposals: roles from names and values, in doubt protected, never silently insensitive."""

from __future__ import annotations

import csv
import gzip
import os
import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.hierarchies.builders import hierarchy_for
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.proposing.roles import (
    K_COLUMN,
    PERSON_COLUMN,
    Proposal,
    propose_hierarchy,
    propose_roles,
    summarize_proposals,
)
from incrowd.samples import census
from incrowd.tables.identifiers import repeating_identifiers
from incrowd.tables.names import meaning_of, words_of
from incrowd.tables.schema import ROLES
from incrowd.tables.table import Table


def table_of(missing_values: tuple[str, ...] = (), **columns: list[object]) -> Table:
    arrays = {
        name.replace("__", " "): pa.array([None if cell is None else str(cell) for cell in cells])
        for name, cells in columns.items()
    }
    return Table(pa.table(arrays), missing_values=missing_values)


def proposed(table: Table) -> dict[str, Proposal]:
    return {proposal.column: proposal for proposal in propose_roles(table)}


def only(name: str, cells: list[object]) -> Proposal:
    """The proposal for one column that stands alone."""
    return proposed(Table(pa.table({name: pa.array([str(cell) for cell in cells])})))[name]


def read(name: str) -> Table:
    folder = os.environ.get("INCROWD_DATA", "")
    if not folder or not (path := Path(folder) / name).exists():
        pytest.skip(f"{name} is not there: set INCROWD_DATA to the folder of the data sets")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    cells = zip(*lines, strict=True)
    columns = {
        column: pa.array([cell or None for cell in texts], pa.string())
        for column, texts in zip(header, cells, strict=True)
    }
    return Table(pa.table(columns))


def numbers(seed: int, low: int, high: int, n_rows: int = 400) -> list[object]:
    drawn = random.Random(seed)
    return [drawn.randint(low, high) for _ in range(n_rows)]


# ── whole tables ─────────────────────────────────────────────────────────────────────────────


def test_the_sample_gets_the_roles_it_was_made_for() -> None:
    table = Table(census(3_000))
    found = proposed(table)
    roles = {column: proposal.role for column, proposal in found.items()}
    quasi = ["age", "sex", "zip", "education", "occupation", "marital_status"]
    assert roles == {
        "id": "identifying",
        "name": "identifying",
        **dict.fromkeys(quasi, "quasi-identifying"),
        "diagnosis": "sensitive",
        "k": K_COLUMN,
    }
    assert found["age"].hierarchy_spec_text == "ranges"
    assert found["zip"].hierarchy_spec_text == "prefix"
    assert found["sex"].hierarchy_spec_text == "flat"
    assert found["occupation"].hierarchy_spec_text == "auto"
    assert found["diagnosis"].hierarchy_spec_text == found["id"].hierarchy_spec_text == ""
    notes = summarize_proposals(table, list(found.values()))
    assert (notes.person, notes.k_column) == (None, "k")


def test_adult() -> None:
    table = read("adult/adult.csv.gz")
    found = proposed(table)
    sensitive = {column for column, proposal in found.items() if proposal.role == "sensitive"}
    assert sensitive == {"capital-gain", "capital-loss", "salary-class"}
    assert {proposal.role for proposal in found.values()} == {"sensitive", "quasi-identifying"}
    assert found["age"].hierarchy_spec_text == "ranges"
    assert found["sex"].hierarchy_spec_text == "flat"
    assert found["fnlwgt"].confidence == "low"
    assert "in doubt" in found["fnlwgt"].reasons[0]
    (token,) = [
        text for text in summarize_proposals(table, list(found.values())).warnings if "'?'" in text
    ]
    assert "workclass, occupation, native-country" in token


@pytest.mark.slow
def test_cup98() -> None:
    found = proposed(read("cup98/cup98.csv.gz"))
    assert {name: found[name].role for name in ("ZIP", "AGE", "GENDER", "STATE")} == dict.fromkeys(
        ("ZIP", "AGE", "GENDER", "STATE"), "quasi-identifying"
    )
    assert found["ZIP"].hierarchy_spec_text == "prefix"
    assert found["INCOME"].role == "sensitive"
    for name in ("RAMNTALL", "NGIFTALL", "MINRAMNT"):
        assert (found[name].role, found[name].confidence) == ("quasi-identifying", "low")


def test_the_order_of_rows_does_not_matter() -> None:
    frame = census(1_000)
    order = list(range(1_000))
    random.Random(4).shuffle(order)
    assert propose_roles(Table(frame)) == propose_roles(Table(frame.take(order)))


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=12),
        st.lists(st.none() | st.text(max_size=12), min_size=30, max_size=30),
        min_size=1,
        max_size=4,
    )
)
def test_any_table_gets_a_safe_and_usable_proposal(columns: dict[str, list[str | None]]) -> None:
    cells = {name: pa.array(texts, pa.string()) for name, texts in columns.items()}
    table = Table(pa.table(cells))
    proposals = propose_roles(table)
    assert [proposal.column for proposal in proposals] == table.columns
    for proposal in proposals:
        assert proposal.role in {*ROLES, K_COLUMN, PERSON_COLUMN} - {"insensitive"}
        assert proposal.reasons
        assert proposal.confidence in ("high", "medium", "low")
        assert (proposal.hierarchy_spec_text != "") == (proposal.role == "quasi-identifying")
        if proposal.hierarchy_spec_text:
            HierarchySpec.parse(proposal.hierarchy_spec_text)
    summarize_proposals(table, proposals)


def test_no_reason_and_no_warning_quotes_a_value() -> None:
    planted = [f"zq{row:05d}" for row in range(40)]
    table = table_of(name=planted, diagnosis=planted, city=planted, note=planted, age=planted)
    proposals = propose_roles(table)
    said = [*(reason for part in proposals for reason in part.reasons)]
    said += summarize_proposals(table, proposals).warnings
    assert not any("zq" in text for text in said)


# ── names ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PatientID", ["patient", "id"]),
        ("marital-status", ["marital", "status"]),
        ("Straße", ["strasse"]),
        ("Größe", ["groesse"]),
        ("Prénom usuel", ["prenom", "usuel"]),
        ("XMLField2", ["xml", "field", "2"]),
    ],
)
def test_words(name: str, words: list[str]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (
            "identifying",
            "name surname last_name FirstName SSN e-mail emailAddress phone Telefonnummer id "
            "PatientID address Straße Vorname Nachname Patientenname Versicherungsnummer prénom "
            "nom adresse apellido DNI dirección teléfono passport credit_card tax_id username "
            "medical_record_number IBAN patient",
        ),
        (
            "quasi-identifying",
            "age birth_date DateOfBirth DOB sex gender zip ZipCode postcode city race education "
            "occupation marital.status nationality Geschlecht PLZ Postleitzahl Geburtsdatum Beruf "
            "Familienstand Wohnort Staatsangehörigkeit sexe code__postal ville profession "
            "âge date_naissance edad sexo código__postal ciudad ocupación estado__civil "
            "country_name hospital_id native-country workclass patient_age",
        ),
        (
            "sensitive",
            "diagnosis disease salary income religion salary-class Diagnose Krankheit Gehalt "
            "Einkommen Konfession maladie salaire enfermedad salario sexual_orientation "
            "disease_name patient_diagnosis political_party HIV_status",
        ),
    ],
)
def test_names_in_four_languages(role: str, names: str) -> None:
    for name in names.replace("__", "\u00a0").split(" "):
        meaning = meaning_of(name.replace("\u00a0", " "))
        assert meaning is not None, name
        assert meaning.role == role, name


def test_names_that_say_nothing() -> None:
    for name in ("fnlwgt", "x", "RAMNTALL", "number_of_gifts", "covid", "average", "page"):
        assert meaning_of(name) is None, name


# ── values ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([f"someone{row}@example.org" for row in range(40)], "e-mail"),
        ([f"+49 30 {row:07d}" for row in range(40)], "telephone"),
        ([f"(030) {row:03d}-4711" for row in range(40)], "telephone"),
        ([f"DE{row:02d} 1234 5678 9012 3456 78" for row in range(10, 50)], "IBAN"),
        ([f"{row:03d}-12-6789" for row in range(100, 140)], "social security"),
        ([f"10.0.0.{row}" for row in range(40)], "network"),
        ([f"https://example.org/{row}" for row in range(40)], "web"),
        ([f"{row:08x}-0000-4000-8000-00000000000a" for row in range(40)], "UUID"),
        (["see a@example.org"] * 3 + [f"b{row}@example.org" for row in range(3)] * 9, "e-mail"),
    ],
)
def test_values_that_point_at_a_person_are_removed(cells: list[object], said: str) -> None:
    proposal = only("value", cells)
    assert (proposal.role, proposal.confidence) == ("identifying", "high")
    assert said in proposal.reasons[0]


@pytest.mark.parametrize(
    "cells",
    [
        [f"12/0{row % 9 + 1}/19{row + 40}" for row in range(40)] * 2,  # dates of another kind
        [f"{1000 * row}-{1000 * row + 999}" for row in range(1, 40)] * 2,  # ranges
        [f"1234{row % 10}-{1000 + row}" for row in range(40)] * 2,  # ZIP+4
    ],
)
def test_dates_ranges_and_codes_are_no_telephone_numbers(cells: list[object]) -> None:
    assert only("value", cells).role == "quasi-identifying"


def test_one_value_per_row_is_an_identifier() -> None:
    for cells in (range(100, 140), [f"A{row:04d}" for row in range(40)]):
        proposal = only("value", list(cells))
        assert (proposal.role, proposal.confidence) == ("identifying", "medium")
    few = only("value", list(range(10)))
    assert few.role == "quasi-identifying"
    measured = only("value", [row + 0.5 for row in range(40)])
    assert measured.role == "quasi-identifying"
    assert "every row has its own value" in measured.reasons


def test_full_names_are_seen_by_their_shape() -> None:
    given_names, families = ["Anna", "Ben", "Eva", "Zoé"], [f"Sample{'x' * n}" for n in range(20)]
    cells: list[object] = [f"{given} {family}" for given in given_names for family in families] * 3
    proposal = only("contact_person_1", cells)
    assert proposal.role == "identifying"
    assert "first and last names" in proposal.reasons[0]


def test_free_text_is_removed() -> None:
    cells: list[object] = [f"the person said on visit {row} that it hurts" for row in range(40)]
    for name in ("value", "diagnosis", "remarks"):
        proposal = only(name, cells)
        assert proposal.role == "identifying"
        assert "long texts" in proposal.reasons[0]
    chapters: list[object] = ["diseases of the circulatory system", "injuries and poisonings"] * 30
    assert only("diagnosis", chapters).role == "sensitive"


def test_an_identifier_that_repeats_counts_people() -> None:
    visits: list[object] = [row // 3 for row in range(120)]
    table = table_of(patient_id=visits, age=numbers(1, 0, 90, 120), mail_id=visits)
    found = proposed(table)
    assert found["patient_id"].role == PERSON_COLUMN
    assert found["mail_id"].role == "identifying"
    assert any("groups should count people" in reason for reason in found["mail_id"].reasons)
    notes = summarize_proposals(table, list(found.values()))
    assert notes.person == "patient_id"
    assert "--person patient_id" in notes.warnings[0]
    assert repeating_identifiers(table) == ["patient_id", "mail_id"]


def test_identifiers_that_do_not_repeat_and_kinds_of_things_are_not_people() -> None:
    table = table_of(
        id=list(range(200)),
        category_id=[row % 4 for row in range(200)],
        name=["Anna Weber", "Eva Smith"] * 100,
        id_number=[*range(190), *["?"] * 10],
        missing_values=("?",),
    )
    assert repeating_identifiers(table) == []
    assert proposed(table)["category_id"].role == "quasi-identifying"


def test_few_people_with_many_rows_are_people() -> None:
    visits: list[object] = [row % 15 for row in range(3_000)]
    assert repeating_identifiers(table_of(patient_id=visits, type_id=visits)) == ["patient_id"]


def test_a_k_column_holds_small_whole_numbers() -> None:
    assert only("k", [2, 3, 5, 10] * 10).role == K_COLUMN
    assert only("k", [0, 3, 5, 10] * 10).role == "quasi-identifying"
    assert only("k", ["a", "b"] * 20).role == "quasi-identifying"


def test_a_name_that_the_values_contradict_decides_nothing() -> None:
    assert only("student", ["yes", "no"] * 30).role == "quasi-identifying"
    assert only("nombre_visites", [1, 2, 3, 4, 5] * 10).role == "quasi-identifying"
    assert only("blood_sample_id", [f"S{row:05d}" for row in range(50)]).role == "identifying"
    assert only("diagnosis_date", [f"2020-01-{day:02d}" for day in range(1, 31)] * 2).role == (
        "quasi-identifying"
    )


def test_an_empty_column_is_removed_and_odd_cells_are_told() -> None:
    table = table_of(nothing=[None] * 60, size=[*[str(row % 25) for row in range(58)], "big", "?"])
    found = proposed(table)
    assert found["nothing"].role == "identifying"
    assert any(reason.startswith("2 cells are not integer") for reason in found["size"].reasons)
    assert any("'?'" in text for text in summarize_proposals(table, list(found.values())).warnings)


# ── hierarchies ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("age", numbers(1, 0, 99), "ranges"),
        ("birth_year", numbers(2, 1930, 2010), "ranges"),
        ("distance", [number / 1000 for number in range(0, 999, 3)] * 2, "ranges"),
        ("distance", [*numbers(3, 0, 40), *["far"] * 4], "ranges,missing=suppress"),
        ("zip", numbers(4, 10_000, 10_300), "prefix"),
        ("ZIP", [*numbers(4, 10_000, 10_300), 2_139, 2_140], "postcode:US"),
        ("PLZ", numbers(4, 10_000, 10_300), "postcode:DE"),
        ("Postleitzahl", [*numbers(4, 10_000, 10_300), 1_067], "postcode:DE"),
        ("PLZ", numbers(4, 1_000, 9_700), "prefix"),  # of Austria or Switzerland
        ("code_postal", numbers(4, 10_000, 10_300), "postcode:FR"),
        ("postcode", [f"SW1A {n}AA" for n in range(10)] * 9, "postcode:GB"),
        ("postcode", [f"{n} AB" for n in range(1_000, 1_300)] * 2, "postcode:NL"),
        ("income_2", numbers(4, 10_000, 10_300), "ranges"),
        ("region_code", numbers(4, 10_000, 10_300), "prefix"),
        ("Gemeindeschlüssel", numbers(4, 10_000, 10_300), "prefix"),
        ("education_code", numbers(4, 1, 16), "ranges"),
        ("isco", [2_211, 2_221, 5_120, 9_112, 4_110, 3_112] * 8, "isco"),
        ("country", ["DE", "FR", "US", "JP", "BR", "NA"] * 8, "country"),
        ("native-country", ["Germany", "Mexico", "Cuba", "India", "Peru"] * 8, "country"),
        ("state", ["DE", "CA", "IN", "AL", "GA"] * 8, "auto"),  # of the US, not countries
        ("value", [f"{number:05d}" for number in range(300)] * 2, "prefix"),
        ("value", [f"E{number}.1" for number in range(10, 60)] * 2, "prefix"),
        ("value", [f"{day}.03.1999" for day in range(1, 31)] * 2, "auto"),
        ("value", ["red", "green", "blue", "black", "white"] * 9, "auto"),
        ("value", ["red", "green"] * 20, "flat"),
        ("value", ["yes", "no"] * 20, "flat"),
        ("value", [f"2020-01-{day:02d}" for day in range(1, 31)] * 2, "dates:month,year,decade"),
        ("birth", [f"19{y}-01-01" for y in range(20, 60)] * 2, "dates:month,year,decade"),
    ],
)
def test_hierarchies(name: str, cells: list[object], expected: str) -> None:
    table = Table(pa.table({name: pa.array([str(cell) for cell in cells])}))
    assert propose_hierarchy(table, name) == expected
    # what is proposed is what a run builds where nothing is stated
    if "missing" not in expected:
        built, _ = hierarchy_for(name, table)
        stated, _ = hierarchy_for(name, table, HierarchySpec.parse(expected))
        assert built.origin == stated.origin
        assert built.labels == stated.labels
        assert list(built.parent) == list(stated.parent)


def test_a_quasi_identifier_gets_a_hierarchy_and_no_other_column_does() -> None:
    table = table_of(zip=numbers(4, 10_000, 10_300), diagnosis=[f"E{n % 9}0" for n in range(400)])
    found = proposed(table)
    assert found["zip"].hierarchy_spec_text == "prefix"
    assert found["diagnosis"].hierarchy_spec_text == ""
    assert propose_hierarchy(table, "diagnosis") == "icd10"


# ── compounds and surveys ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "role", "about"),
    [
        ("Hauptdiagnose", "sensitive", "health"),
        ("Nebendiagnose1", "sensitive", "health"),
        ("Diagnosecode", "sensitive", "health"),
        ("Diagnosedatum", "quasi-identifying", "a date that others may know"),
        ("Aufnahmedatum", "quasi-identifying", "a date that others may know"),
        ("Aufnahmenummer", "identifying", "a number that stands for one person"),
        ("codice_fiscale", "identifying", "a number that stands for one person"),
        ("Versichertennummer", "identifying", "a number that stands for one person"),
        ("date_naissance", "quasi-identifying", "birth"),
        ("fecha_nacimiento", "quasi-identifying", "birth"),
        ("Geburtsdatum", "quasi-identifying", "birth"),
        ("Blutdruck", "sensitive", "a measurement of health"),
        ("systolischer Blutdruck", "sensitive", "a measurement of health"),
        ("HbA1c", "sensitive", "a measurement of health"),
        ("HbA1c_Wert", "sensitive", "a measurement of health"),
        ("CD4", "sensitive", "a measurement of health"),
        ("Monatsgehalt", "sensitive", "money"),
        ("Familieneinkommen", "sensitive", "money"),
        ("Wohnbundesland", "quasi-identifying", "place"),
    ],
)
def test_compounds_and_further_languages(name: str, role: str, about: str) -> None:
    meaning = meaning_of(name)
    assert meaning is not None
    assert (meaning.role, meaning.about) == (role, about)


def test_a_part_of_a_word_is_no_compound() -> None:
    for name in ("visitor", "placebo", "average", "percentage", "cardholder", "dated"):
        assert meaning_of(name) is None, name


def survey(n_items: int, **more: list[object]) -> Table:
    items = {f"Q{item:02d}": numbers(item, 1, 5) for item in range(1, n_items + 1)}
    return table_of(**more, **items)


def test_survey_items_are_separated_from_quasi_identifiers() -> None:
    table = survey(55, age=numbers(99, 18, 80), education=numbers(98, 1, 5))
    found = proposed(table)
    assert found["age"].role == found["education"].role == "quasi-identifying"
    items = [part for name, part in found.items() if name.startswith("Q")]
    assert {part.role for part in items} == {"sensitive"}
    assert {part.group for part in items} == {"Q01 … Q55 (55 columns)"}
    assert "others seldom know" in items[0].reasons[0]
    assert found["age"].group == ""


def test_few_columns_with_few_values_are_still_protected() -> None:
    found = proposed(survey(4))
    assert {part.role for part in found.values()} == {"quasi-identifying"}
    assert {part.group for part in found.values()} == {"Q01 … Q04 (4 columns)"}
    flags = {f"{word}_flag": [0, 1] * 30 for word in ("a", "b", "c", "d", "e", "f", "g", "h", "i")}
    assert {part.role for part in proposed(table_of(**flags)).values()} == {"quasi-identifying"}


def test_items_with_names_of_their_own_share_their_answers() -> None:
    words = ["trust", "fear", "hope", "calm", "stress", "sleep", "energy", "focus", "mood"]
    answers = ["never", "sometimes", "often", "always"]
    table = table_of(**dict.fromkeys(words, answers * 20), shift=["early", "late"] * 40)
    found = proposed(table)
    assert {found[word].role for word in words} == {"sensitive"}
    assert found["shift"].role == "quasi-identifying"
