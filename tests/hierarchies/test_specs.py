"""What a user states as a hierarchy is read from text and TOML, and written back the same."""

import tomllib
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import JobError
from incrowd.hierarchies.specs import DATE_UNITS, DERIVED_KINDS, KINDS, HierarchySpec


@pytest.mark.parametrize(
    ("text", "expected", "toml"),
    [
        ("auto", HierarchySpec(), "auto"),
        ("flat", HierarchySpec("flat"), "flat"),
        ("prefix", HierarchySpec("prefix"), {"prefix": True}),
        ("prefix:2", HierarchySpec("prefix", drops=(2,)), {"prefix": [2]}),
        ("prefix:1,3", HierarchySpec("prefix", drops=(1, 3)), {"prefix": [1, 3]}),
        ("dates", HierarchySpec("dates"), {"dates": True}),
        (
            "dates:month,year",
            HierarchySpec("dates", units=("month", "year")),
            {"dates": ["month", "year"]},
        ),
        (
            "intervals:5,10,20",
            HierarchySpec("intervals", widths=(5, 10, 20)),
            {"intervals": [5, 10, 20]},
        ),
        (
            "intervals:0.1,0.5,from=-1,to=2.5",
            HierarchySpec("intervals", widths=(0.1, 0.5), lower=-1, upper=2.5),
            {"intervals": [0.1, 0.5], "from": -1, "to": 2.5},
        ),
        ("ranges", HierarchySpec("ranges"), "ranges"),
        (
            "ranges:0.5,from=20,to=80",
            HierarchySpec("ranges", widths=(0.5,), lower=20, upper=80),
            {"ranges": [0.5], "from": 20, "to": 80},
        ),
        (
            "intervals:5,missing=suppress",
            HierarchySpec("intervals", widths=(5,), missing="suppress"),
            {"intervals": [5], "missing": "suppress"},
        ),
        ("zip.csv", HierarchySpec("file", path=Path("zip.csv")), "zip.csv"),
        ("h/zip", HierarchySpec("file", path=Path("h/zip")), "h/zip"),
        (
            "a,b.json,missing=suppress",
            HierarchySpec("file", path=Path("a,b.json"), missing="suppress"),
            {"file": "a,b.json", "missing": "suppress"},
        ),
    ],
)
def test_text_and_toml(text, expected, toml):
    spec = HierarchySpec.parse(text)
    assert spec == expected
    assert spec.text() == text
    assert spec.to_toml() == toml
    assert HierarchySpec.from_toml(toml, "c") == spec


def test_other_forms_of_toml():
    assert HierarchySpec.from_toml({"prefix": 2}, "c") == HierarchySpec("prefix", drops=(2,))
    assert HierarchySpec.from_toml({"intervals": 5}, "c") == HierarchySpec("intervals", widths=(5,))
    assert HierarchySpec.from_toml("intervals:5,10", "c").widths == (5, 10)
    assert HierarchySpec.from_toml({"flat": True}, "c") == HierarchySpec("flat")
    assert HierarchySpec.from_toml({"file": "auto"}, "c").path == Path("auto")


def test_paths_are_relative_to_the_job(tmp_path):
    spec = HierarchySpec.from_toml("h/zip.csv", "c", tmp_path)
    assert spec.path == tmp_path / "h/zip.csv"
    assert spec.to_toml(tmp_path) == "h/zip.csv"
    assert spec.to_toml(tmp_path / "jobs") == "../h/zip.csv"
    # a file that is called like a builder stays a file
    odd = HierarchySpec("file", path=Path("flat"))
    assert odd.to_toml() == {"file": "flat"}
    assert HierarchySpec.from_toml(odd.to_toml(), "c") == odd


@st.composite
def specs(draw):
    kind = draw(st.sampled_from(KINDS))
    fields = {"missing": draw(st.sampled_from(["refuse", "suppress"]))}
    if kind == "intervals":
        width = draw(st.sampled_from([1, 5, 0.5, 0.1, 2.5, 100]))
        fields["widths"] = tuple(
            round(width * factor, 6) for factor in draw(st.sampled_from([(1,), (1, 2, 4), (1, 10)]))
        )
        fields["lower"] = draw(st.sampled_from([None, 0, -2.5, 20]))
        fields["upper"] = draw(st.sampled_from([None, 80, 99.5]))
    elif kind == "ranges":
        step, lower, upper = draw(st.sampled_from(
            [(None, None, None), (5, None, None), (0.1, 0.5, 2.5), (None, -3, None), (2, None, 9)]
        ))  # fmt: skip
        fields |= {"widths": () if step is None else (step,), "lower": lower, "upper": upper}
    elif kind == "mean":
        fields = {"widths": draw(st.sampled_from([(), (1,), (0.25,)]))}
    elif kind == "prefix":
        fields["drops"] = tuple(sorted(draw(st.sets(st.integers(1, 9)))))
    elif kind == "dates":
        chosen = draw(st.sets(st.sampled_from(DATE_UNITS)))
        fields["units"] = tuple(unit for unit in DATE_UNITS if unit in chosen)
    elif kind in DERIVED_KINDS:
        fields["reference"] = draw(st.sampled_from(["2026-01-01", "admitted", "Tag der Aufnahme"]))
        grouped = ["auto", "flat", "ranges", "intervals:5,10,from=20", "ranges:7"]
        chosen = draw(st.none() | st.sampled_from(grouped))
        fields["of_number"] = None if chosen is None else HierarchySpec.parse(chosen)
    elif kind == "file":
        fields["path"] = Path(draw(st.sampled_from(["a.csv", "x/y.toml", "auto.csv", "p,q.json"])))
    return HierarchySpec(kind, **fields)


@given(specs())
def test_every_spec_survives_text_and_a_toml_file(spec):
    assert HierarchySpec.parse(spec.text()) == spec
    document = tomllib.loads(tomli_w.dumps({"hierarchies": {"c": spec.to_toml()}}))
    assert HierarchySpec.from_toml(document["hierarchies"]["c"], "c") == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("interval:5", "Did you mean 'intervals'"),
        ("zip", "Or state a file ending in .csv"),
        ("age", "needs a reference"),
        ("age:2026-02-30", "2026-02-30 is not a day"),
        ("days-since:admitted,prefix", "prefix does not group numbers"),
        ("intervals", "needs at least one width"),
        ("intervals:0", "needs at least one width"),
        ("intervals:5,7", "7 is not a multiple of 5"),
        ("intervals:5,5", "5 is not a multiple of 5"),
        ("intervals:10,5", "5 is not a multiple of 10"),
        ("intervals:five", "'five' is not a number"),
        ("intervals:nan", "needs at least one width"),
        ("intervals:5,from=9,to=3", "from must lie below to"),
        ("intervals:5,form=9", "Did you mean 'from'"),
        ("prefix:3,1", "must be whole and rise"),
        ("prefix:0", "must be whole and rise"),
        ("prefix:x", "not a whole number"),
        ("dates:year,month", "from fine to coarse"),
        ("dates:month,month", "from fine to coarse"),
        ("dates:monthly", "Did you mean 'month'"),
        ("flat:1", "takes no numbers"),
        ("auto,missing=drop", "unknown choice of missing 'drop'"),
    ],
)
def test_wrong_texts_are_refused_with_a_remedy(text, message):
    with pytest.raises(JobError) as refused:
        HierarchySpec.parse(text)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "value",
    [5, ["auto"], {}, {"intervals": [5], "prefix": True}, {"intervals": True}, {"intervals": ["5"]},
     {"prefix": False}, {"prefix": [1.5]}, {"dates": [1]}, {"flat": False}, {"auto": 3},
     {"file": 3}, {"file": ""}, {"prefix": True, "from": 3}, {"intervals": [5], "from": "a"},
     {"missing": "suppress"}, {"file": "x.csv", "missing": 3}],
)  # fmt: skip
def test_wrong_toml_is_refused_by_column(value):
    with pytest.raises(JobError, match="column 'zip'"):
        HierarchySpec.from_toml(value, "zip")
