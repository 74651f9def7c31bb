"""Whole pages: what is in them, and what must not be."""

from dataclasses import replace

import pyarrow as pa
import pytest

import incrowd as ic
from figures.materials import (
    KINDS,
    OneLevel,
    certificate_of,
    owner_page_of,
    public_page_of,
    release_of,
    releases,
)
from incrowd.checking.material import TableMaterial
from incrowd.figures.pages import Heading, owner_page, public_page
from incrowd.figures.record import (
    TECHNICAL,
    describe_promise,
    findings_section,
    technical_section,
)
from incrowd.guarantees.table import GUARANTEES, SET_GUARANTEES
from incrowd.report.render import render
from incrowd.tables.table import Table


def names(page):
    return [section.name for section in page.sections]


def section_of(page, name):
    return next(section for section in page.sections if section.name == name)


def listing(page, name):
    return next(iter(section_of(page, name).blocks), None) if name in names(page) else None


@pytest.mark.parametrize("kind", KINDS)
def test_the_owner_sees_the_audit(kind):
    audit, _, _ = releases()[kind]
    page = owner_page_of(kind)
    assert page.edition == "owner"
    assert page.verdict is audit.holds
    assert page.data == {"audit": audit.to_dict()}
    assert dict(page.highlights.facts)["rows released"] == audit.n_rows
    assert names(page)[0] == "promise"
    assert "no audit can check" in page.sections[0].text[0]
    assert len(set(names(page))) == len(page.sections)
    listed = [*listing(page, "findings").rows, *listing(page, "technical").rows]
    assert sorted(listed, key=str) == sorted(
        ((f.name, f.holds, f.summary) for f in audit.findings), key=str
    )
    assert {"findings", "times", "repeat"} <= set(names(page))


@pytest.mark.parametrize("make", [owner_page_of, public_page_of])
@pytest.mark.parametrize("kind", KINDS)
def test_the_appendix_comes_last_and_holds_what_is_technical(kind, make):
    page = make(kind)
    is_appendix = [section.is_appendix for section in page.sections]
    assert is_appendix == sorted(is_appendix)
    kept_apart = {"technical", "all-losses", "times", "notes", "repeat", "record"}
    for section in page.sections:
        assert section.is_appendix is (section.name in kept_apart), section.name
    main = listing(page, "findings")
    assert main is None or not set(TECHNICAL) & {row[0] for row in main.rows}


def test_what_is_broken_is_never_in_the_appendix():
    findings = [{"name": "key", "holds": False, "summary": "two rows are swapped"}]
    assert findings_section(findings).blocks[0].rows == (("key", False, "two rows are swapped"),)
    assert technical_section(findings) is None


def test_roles_removed_columns_and_five_rows_are_shown():
    _, _, material = releases()["table"]
    page = owner_page_of("table")
    columns, sample = section_of(page, "data").blocks
    told = {name: (role, words) for name, role, words in columns.rows}
    assert list(told)[: len(material.released.columns)] == material.released.columns
    assert told["diagnosis"] == ("sensitive", "unchanged")
    assert told["occupation"] == ("insensitive", "unchanged")
    assert told["age"][0] == "quasi-identifying"
    assert "ranges of 20" in told["age"][1]
    for name in ("id", "name", "zip", "marital_status", "k"):
        assert told[name] == ("no role stated", "removed")
    rows = [tuple(row.values()) for row in material.released.frame.to_pylist()]
    places = [len(rows) * number // 10 for number in (1, 3, 5, 7, 9)]
    assert sample.rows == tuple(rows[place] for place in places)
    public = section_of(public_page_of("table"), "data")
    assert [row[0] for row in public.blocks[0].rows] == material.released.columns
    assert public.blocks[1] == sample


def test_five_lists_are_shown():
    for kind in ("lists", "transactions"):
        _, _, material = releases()[kind]
        sets = material.released
        (sample,) = section_of(owner_page_of(kind), "data").blocks
        assert len(sample.rows) == 5
        for row, items, n_items in sample.rows:
            assert n_items == sets.sizes[int(row.replace(",", "")) - 1]
            assert n_items > 15 or items.count(", ") >= n_items - 1


def test_wishes_are_told_only_where_they_differ():
    frame = ic.sample_census(120, 4)
    schema = ic.Schema(quasi=["sex", "marital_status"], sensitive=["diagnosis"])

    def sections(wishes):
        wished = frame.append_column("wish", pa.array(wishes))
        guarantee = ic.KAnonymity(2, k_column="wish")
        job = ic.Job(schema=schema, guarantee=guarantee, method=OneLevel())
        job = replace(job, release=ic.ReleaseOptions(suppression_limit=1.0))
        return names(owner_page(*release_of(wished, job)))

    assert "wishes" in sections([2 + row % 2 for row in range(120)])
    assert "wishes" not in sections([3] * 120)
    assert "wishes" not in names(owner_page_of("table"))


def test_the_heading_has_files_date_and_the_owners_words():
    audit, text, material = releases()["table"]
    heading = Heading("A title", "First line.\nSecond <b>line</b>.", "2026-02-03", "a.csv", "b.csv")
    page = owner_page(audit, text, material, heading)
    assert page.title == "A title"
    assert page.about == (
        *("k-anonymity, k = 4", "original: a.csv", "release: b.csv"),
        "3 February 2026",
    )
    html = render(page)
    assert '<p class="words">First line.</p>' in html
    assert "Second &lt;b&gt;line&lt;/b&gt;." in html
    assert owner_page(audit, text, material, Heading(data="a.csv")).title == "Release of a.csv"


def test_warnings_come_right_after_the_verdict():
    audit, text, material = releases()["table"]
    said = "51% of the information is lost: <b>"
    page = owner_page(replace(audit, warnings=(said,), notes=("another note",)), text, material)
    assert page.warnings == (said,)
    assert listing(page, "notes").rows == (("another note",),)
    html = render(page)
    head = html[: html.index("</header>")]
    assert '<svg class="sign warn"' in head
    assert "51% of the information is lost: &lt;b&gt;" in head


def test_public_words_come_from_the_certificate():
    plain = public_page_of("table")
    assert (plain.note, len(plain.about)) == ("", 1)
    words = {"title": "Teaching sample", "note": "Ask us.", "date": "2026-11-18"}
    certificate = plain.data["certificate"] | {"report": words}
    _, _, material = releases()["table"]
    page = public_page(certificate, replace(material, own=None))
    assert (page.title, page.note) == ("Teaching sample", "Ask us.")
    assert page.about == ("k-anonymity, k = 4", "18 November 2026")


def test_each_kind_has_its_own_sections():
    wanted = {
        "table": {"data", "groups", "losses", "column-1", "flat-columns", "kept", "risk"},
        "adaptive": {"groups", "wishes", "losses", "flat-columns"},
        "lists": {"data", "groups", "entries", "sizes", "items", "utility-statistics"},
        "transactions": {"sizes", "parts", "rules"},
    }
    for kind, some in wanted.items():
        assert some <= set(names(owner_page_of(kind))), kind


@pytest.mark.parametrize("kind", KINDS)
def test_any_file_has_a_page(kind):
    audit, _, material = releases()[kind]
    page = owner_page(audit, None, replace(material, own=None))
    assert page.verdict is audit.holds
    assert not [name for name in names(page) if name.startswith("column-")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_public_page_is_of_the_file_and_the_certificate(kind):
    audit, _, material = releases()[kind]
    page = public_page_of(kind)
    assert page.edition == "public"
    told = str(page.to_dict())
    assert "before" not in told
    assert "seconds" not in told
    assert audit.input_sha256 not in told
    assert not {"times", "losses", "wishes", "rules", "notes", "repeat"} & set(names(page))
    certificate = page.data["certificate"]
    with pytest.raises(ValueError, match="owner"):
        public_page(certificate, material)
    changed = replace(audit, seconds=99.0, stages={"read": 9.0}, input_sha256="d" * 64, seed=7)
    schema = getattr(material, "schema", None)
    again = certificate_of(changed, audit.quasi, schema.sensitive if schema else ())
    assert public_page(again, replace(material, own=None)).to_dict() == page.to_dict()


def test_values_of_people_left_out_are_not_public():
    audit, _, material = releases()["table"]
    released = {
        str(cell) for column in material.released.frame.columns for cell in column.to_pylist()
    }
    original = material.own.original.frame
    hidden = {str(cell) for cell in original.column("age").to_pylist()} - released
    hidden = {f"'{value}'" for value in hidden}
    assert hidden
    assert not [value for value in hidden if value in str(public_page_of("table").to_dict())]
    assert audit.n_suppressed > 0


def test_a_broken_audit_says_why():
    audit, text, material = releases()["table"]
    broken = replace(
        audit.findings[0], holds=False, summary="3 rows stand alone", exposed_rows=(1,)
    )
    page = owner_page(
        replace(audit, holds=False, findings=(broken, *audit.findings[1:])), text, material
    )
    assert page.verdict is False
    assert "3 rows stand alone" in page.lead
    assert page.sections[1].blocks[0].rows[0][1] is False
    assert '<td class="verdict-cell bad"><svg' in render(page)
    assert "(rows 1)" in page.sections[1].blocks[0].rows[0][2]


@pytest.mark.parametrize("name", sorted({*GUARANTEES, *SET_GUARANTEES}))
def test_every_guarantee_is_told_in_words(name):
    stated = {"k": 7, "m": 2, "confidence": 0.25, "epsilon": 3.0}
    promise = describe_promise({"name": name, "claim": "…", "parameters": stated})
    assert len(promise.not_stopped) >= 3
    assert promise.attacker != "Not described."
    said = f"{promise.plain} {promise.attacker}"
    assert any(word in said for word in ("7", "6", "one in that number", "e^3.0"))


def test_l_and_t_are_said_and_taken_from_what_is_not_stopped():
    plain = describe_promise({"name": "k-anonymity", "parameters": {"k": 5}})
    both = describe_promise({"name": "k-anonymity", "parameters": {"k": 5, "l": 3.0, "t": 0.2}})
    assert "at least 3 well-represented" in both.plain
    assert "at most 0.2" in both.plain
    assert any("Homogeneity" in said for said in plain.not_stopped)
    assert not any("Homogeneity" in said or "Skewness" in said for said in both.not_stopped)


def test_the_code_to_repeat_loads(tmp_path):
    for kind, load in (("table", ic.Job.load), ("lists", None)):
        page = owner_page_of(kind)
        code = {
            block.title: block.text for block in page.sections[-1].blocks if hasattr(block, "text")
        }
        path = tmp_path / "job.toml"
        path.write_text(code["job.toml"], encoding="utf-8")
        if load:
            assert load(path).guarantee.k == 4
        else:
            import tomllib

            job = ic.Job.from_mapping(tomllib.loads(path.read_text(encoding="utf-8")))
            assert job.guarantee.k == 5
        compile(code["In Python"], "page", "exec")
        assert code["In a terminal"] == "incrowd run job.toml"


def test_a_promise_that_no_file_shows_says_so():
    page = public_page_of("adaptive")
    certificate = page.data["certificate"] | {"findings": []}
    _, _, material = releases()["adaptive"]
    section = public_page(certificate, replace(material, own=None)).sections[1]
    assert section.blocks == ()
    assert "only its owner can" in section.text[0]


@pytest.mark.slow
def test_a_wide_table_with_long_values_stays_small():
    columns = [f"column {number} {'with a long name ' * 5}" for number in range(150)]
    cells = [[f"{row % 7} {'long ' * 200}" for row in range(40)] for _ in columns]
    frame = pa.table(dict(zip(columns, cells, strict=True)))
    schema = ic.Schema(quasi=columns[:140], sensitive=columns[140:])
    audit = ic.check(frame, ic.KAnonymity(5), schema)
    text = render(owner_page(audit, None, TableMaterial(Table(frame), schema)))
    assert len(text.encode()) < 3 << 20
    assert "128 further columns are not drawn" in text
