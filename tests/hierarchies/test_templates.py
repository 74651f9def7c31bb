"""Templates: public classifications, the same tree for the same values, and what does not fit."""

import re
from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.engines.disk.engine import DiskEngine
from incrowd.errors import DataError, HierarchyError, JobError
from incrowd.hierarchies.builders import ColumnValues, hierarchy_for, hierarchy_of_values
from incrowd.hierarchies.specs import HierarchySpec
from incrowd.hierarchies.templates.countries import countries, place_country
from incrowd.hierarchies.templates.icd10 import BLOCKS, CHAPTERS
from incrowd.hierarchies.templates.isco import MAJOR_GROUPS, SUB_MAJOR_GROUPS
from incrowd.hierarchies.templates.postcodes import COUNTRIES
from incrowd.hierarchies.templates.table import TEMPLATES
from incrowd.tables.table import Table


def tree_of(template, *values, missing_values=()):
    table = Table(pa.table({"c": pa.array(values, pa.string())}), missing_values=missing_values)
    return hierarchy_for("c", table, HierarchySpec.parse(template))[0]


def ways(template, *values):
    """Per value, the labels above it up to the root."""
    tree = tree_of(template, *values)
    return {
        value: [tree.labels[node] for node in tree.ancestors(tree.leaf_of_value[value])][1:]
        for value in values
    }


# ── facts ────────────────────────────────────────────────────────────────────────────────────


def test_icd10_has_22_chapters_and_blocks_that_lie_within_them():
    assert len(CHAPTERS) == 22
    assert list(BLOCKS) == sorted(set(BLOCKS))
    for first, second in pairwise(BLOCKS):
        assert first[:3] <= first[4:] < second[:3]
    for block in BLOCKS:
        assert sum(c[:3] <= block[:3] and block[4:] <= c[4:] for c in CHAPTERS) == 1, block
    first_blocks = {block[:3] for block in BLOCKS}
    assert {chapter[:3] for chapter in CHAPTERS} <= first_blocks
    last_blocks = {block[4:] for block in BLOCKS}
    assert {chapter[4:] for chapter in CHAPTERS} - last_blocks == {"U99"}


def test_there_are_249_countries_in_the_subregions_of_the_un():
    listed = countries()
    assert len(listed) == len({three for three, *_ in listed.values()}) == 249
    assert all(re.fullmatch("[A-Z]{2}", two) for two in listed)
    assert all(re.fullmatch("[A-Z]{3}", three) for three, *_ in listed.values())
    by_region = Counter(region for *_, region in listed.values())
    assert by_region == {
        "Africa": 60,
        "Americas": 57,
        "Antarctica": 1,
        "Asia": 51,
        "Europe": 51,
        "Oceania": 29,
    }
    by_subregion = Counter(subregion for *_, subregion, _ in listed.values())
    assert len(by_subregion) == 23
    assert (by_subregion["Caribbean"], by_subregion["Western Europe"]) == (28, 9)


def test_isco_has_ten_major_and_43_sub_major_groups():
    assert len(MAJOR_GROUPS) == 10
    assert len(SUB_MAJOR_GROUPS) == 43
    assert {"01", "14", "26", "35", "44", "54", "63", "75", "83", "96"} <= SUB_MAJOR_GROUPS
    assert not {"00", "04", "15", "27", "36", "45", "55", "64", "76", "84", "97"} & SUB_MAJOR_GROUPS


# ── the ways up ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("template", "value", "above"),
    [
        ("icd10", "I10.0", ["I10.-", "I10-I15", "I00-I99 Circulatory system", "*"]),
        ("icd10", "i1000", ["I10.-", "I10-I15", "I00-I99 Circulatory system", "*"]),
        ("icd10", "I10", ["I10.-", "I10-I15", "I00-I99 Circulatory system", "*"]),
        ("icd10", "G63.2*", ["G63.-", "G60-G64", "G00-G99 Nervous system", "*"]),
        ("icd10", "A18.0†", ["A18.-", "A15-A19", "A00-B99 Infectious and parasitic diseases", "*"]),
        ("icd10", "J18.9 G", ["J18.-", "J09-J18", "J00-J99 Respiratory system", "*"]),
        ("icd10", "S72.001A", ["S72.-", "S70-S79", "S00-T98 Injury and poisoning", "*"]),
        ("icd10", "U07.1!", ["U07.-", "U00-U49", "U00-U99 Codes for special purposes", "*"]),
        ("icd10", "X85", ["X85.-", "X85-Y09", "V01-Y98 External causes", "*"]),
        ("icd10", "D48.9", ["D48.-", "D37-D48", "C00-D48 Neoplasms", "*"]),
        ("icd10", "D50", ["D50.-", "D50-D53", "D50-D89 Blood and immune mechanism", "*"]),
        ("icd10", "D90", ["D90.-", "D50-D89 Blood and immune mechanism", "*"]),  # GM's own
        ("icd10", "D3A.0", ["D3A.-", "C00-D48 Neoplasms", "*"]),  # CM's own
        ("icd10", "C4A.9", ["C4A.-", "C43-C44", "C00-D48 Neoplasms", "*"]),
        ("icd10", "I10.-", ["I10-I15", "I00-I99 Circulatory system", "*"]),
        ("postcode:DE", "10115", ["101**", "10***", "1****", "*"]),
        ("postcode:DE", "1067", ["010**", "01***", "0****", "*"]),
        ("postcode:DE", "D-10115", ["101**", "10***", "1****", "*"]),
        ("postcode:US", "02139", ["021**", "0****", "*"]),
        ("postcode:US", "2139", ["021**", "0****", "*"]),
        ("postcode:US", "02139-4307", ["02139-****", "021**", "0****", "*"]),
        ("postcode:GB", "SW1A 1AA", ["SW1A 1**", "SW1A ***", "SW", "*"]),
        ("postcode:GB", "m11ae", ["M1 1**", "M1 ***", "M", "*"]),
        ("postcode:GB", "EC1A", ["EC1A ***", "EC", "*"]),
        ("postcode:FR", "75011", ["750**", "75***", "*"]),
        ("postcode:NL", "1234ab", ["1234 **", "12** **", "1*** **", "*"]),
        ("postcode:CA", "K1A 0B1", ["K1A ***", "K** ***", "*"]),
        ("postcode:PL", "00-950", ["00-9**", "00-***", "0*-***", "*"]),
        ("postcode", "SW1A 1AA", ["SW1A 1**", "SW1A ***", "SW", "*"]),
        ("country", "DE", ["Western Europe", "Europe", "*"]),
        ("country", "deu", ["Western Europe", "Europe", "*"]),
        ("country", "Germany", ["Western Europe", "Europe", "*"]),
        ("country", "United-States", ["Northern America", "Americas", "*"]),
        ("country", "Korea, Republic of", ["Eastern Asia", "Asia", "*"]),
        ("country", "Côte d’Ivoire", ["Western Africa", "Africa", "*"]),
        ("country", "St. Lucia", ["Caribbean", "Americas", "*"]),
        ("country", "AND", ["Southern Europe", "Europe", "*"]),
        ("country", "Antarctica", ["*"]),
        ("ages", "37", ["35-39", "25-44", "*"]),
        ("ages", "0.5", ["0-4", "0-14", "*"]),
        ("ages", "90+", [">=90", ">=65", "*"]),
        ("ages", "104", [">=90", ">=65", "*"]),
        ("isco", "2512", ["251*", "25**", "2 Professionals", "*"]),
        ("isco", "110", ["011*", "01**", "0 Armed forces occupations", "*"]),
        ("isco", "25", ["25**", "2 Professionals", "*"]),
        ("isco", "9", ["9 Elementary occupations", "*"]),
    ],
)
def test_the_way_up(template, value, above):
    assert ways(template, value) == {value: above}


def test_codes_that_mean_the_same_meet():
    found = ways("icd10", "I10", "i10.0", "I11.9")
    assert found["I10"] == found["i10.0"]
    assert found["I10"][1:] == found["I11.9"][1:]


def test_a_group_whose_label_is_also_a_value_is_told_apart():
    found = ways("icd10", "I10.-", "I10.0")
    assert found["I10.-"] == found["I10.0"]
    assert found["I10.-"][0] == "I10.- (group)"


def test_ages_are_in_the_order_of_their_numbers():
    tree = tree_of("ages", "9", "10", "100", "2")
    assert tree.labels[: tree.n_leaves] == ("2", "9", "10", "100")
    assert tree.values is not None
    assert tree.values.tolist() == [2, 9, 10, 100]


# ── properties ───────────────────────────────────────────────────────────────────────────────

SAMPLES = {
    "icd10": ["I10", "I10.0", "E11.9", "C50.1", "D90", "Z3A.01", "I10.-"],
    "postcode:DE": ["10115", "10117", "1067", "80331", "D-10115"],
    "postcode:US": ["02139", "02139-4307", "90210", "2140"],
    "postcode:GB": ["SW1A 1AA", "SW1A1AB", "EC1A", "M1 1AE"],
    "country": ["DE", "FRA", "Germany", "US", "Antarctica", "AQ"],
    "ages": ["0", "4", "5", "64", "65", "90", "101"],
    "isco": ["2512", "2511", "110", "25", "9"],
}


@pytest.mark.parametrize("template", SAMPLES)
def test_labels_of_groups_need_no_quotes(template):
    tree = tree_of(template, *SAMPLES[template])
    for label in tree.labels[tree.n_leaves :]:
        assert not re.search(r"[,;\"'\n\t|]", label), label


@pytest.mark.parametrize("template", SAMPLES)
@given(st.data())
def test_another_batch_gets_the_same_groups(template, data):
    values = [value for value in SAMPLES[template] if value not in ("I10.-", "AQ")]
    batch = data.draw(st.lists(st.sampled_from(values), min_size=1, unique=True))
    everything = ways(template, *values)
    assert ways(template, *batch) == {value: everything[value] for value in batch}


@pytest.mark.parametrize("template", SAMPLES)
def test_the_words_of_a_built_hierarchy_build_it_again(template):
    tree = tree_of(template, *SAMPLES[template])
    again = tree_of(tree.origin, *reversed(SAMPLES[template]))
    assert again.labels == tree.labels
    assert again.parent.tolist() == tree.parent.tolist()


def test_counts_from_an_engine_build_the_same_tree(tmp_path):
    cells = ["10115", "10117", "10115", "80331", "04109", "20095", None] * 3
    frame = pa.table({"PLZ": cells})
    table, _ = hierarchy_for("PLZ", Table(frame))
    engine = DiskEngine(tmp_path)
    counted = engine.count(engine.load(frame), ["PLZ"])
    values = ColumnValues.of_counts(
        "there", counted.column("PLZ").combine_chunks(), counted.column(1).to_numpy(), ()
    )
    engine.close()
    other, _ = hierarchy_of_values("PLZ", values)
    assert table.origin == other.origin == "postcode:DE"
    assert table.labels == other.labels
    assert table.parent.tolist() == other.parent.tolist()


# ── what does not fit ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("template", "good", "bad"),
    [
        ("icd10", "I10", "fracture"),
        ("icd10", "I10", "I1"),
        ("postcode:DE", "10115", "SW1A 1AA"),
        ("postcode:DE", "10115", "123"),
        ("postcode:GB", "SW1A 1AA", "10115"),
        ("country", "DE", "Atlantis"),
        ("ages", "40", "old"),
        ("ages", "40", "-1"),
        ("ages", "40", "131"),
        ("isco", "2512", "2712"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_counts_or_suppressed(template, good, bad):
    with pytest.raises(DataError) as refused:
        tree_of(template, good, bad, bad)
    assert "1 value is no" in refused.value.what
    assert "(2 rows)" in refused.value.what
    assert bad not in str(refused.value)
    assert refused.value.examples == [bad]
    lenient = f"{template},missing=suppress"
    assert lenient in refused.value.remedy
    assert ways(lenient, good, bad)[bad] == ["*"]
    assert ways(lenient, good, bad)[good] == ways(template, good)[good]
    with pytest.raises(DataError):
        tree_of(lenient, bad)


def test_the_country_of_postcodes_must_be_clear():
    with pytest.raises(HierarchyError, match="several countries") as refused:
        tree_of("postcode", "10115", "80331")
    assert "postcode:" in refused.value.remedy
    with pytest.raises(HierarchyError, match="not all written like"):
        tree_of("postcode", "10115", "SW1A 1AA")
    assert tree_of("postcode", "SW1A 1AA").origin == "postcode:GB"


def test_missing_cells_are_not_asked_to_fit():
    tree = tree_of("icd10", "I10", "?", None, missing_values=("?",))
    assert {"I10", "?", ""} == set(tree.leaf_of_value)


# ── stated ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "toml"),
    [
        ("icd10", "icd10"),
        ("postcode", "postcode"),
        ("postcode:DE", {"postcode": "DE"}),
        ("postcode:DE,missing=suppress", {"postcode": "DE", "missing": "suppress"}),
        ("isco,missing=suppress", {"isco": True, "missing": "suppress"}),
    ],
)
def test_templates_are_stated_as_text_and_in_toml(text, toml):
    spec = HierarchySpec.parse(text)
    assert spec.text() == text
    assert spec.to_toml() == toml
    assert HierarchySpec.from_toml(toml, "c") == spec
    assert HierarchySpec.from_toml(text, "c") == spec


def test_wrong_statements():
    for text in ("postcode:XX", "postcode:DE,FR", "icd10:DE", "icd11"):
        with pytest.raises(JobError):
            HierarchySpec.parse(text)
    assert HierarchySpec.parse("postcode:de").variant == "DE"
    with pytest.raises(JobError):
        HierarchySpec.from_toml({"postcode": 5}, "c")
    assert set(COUNTRIES) == set(TEMPLATES["postcode"].variants)
    assert place_country("") is None
