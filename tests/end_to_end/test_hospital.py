"""A hospital's data custodian, from the export to the third month, as the docs tell it."""

import csv
import re
import stat
from collections import Counter

import pytest

from end_to_end.transcripts import PAGES, replay
from incrowd.samples.hospital import ENCODING, MONTHS

QUASI = ["Geburtsdatum", "Geschlecht", "PLZ", "Aufnahmedatum", "Entlassungsdatum"]
IDENTIFYING = ["Fallnummer", "Patientennummer", "Nachname", "Vorname"]
RELEASES = ["oktober", "november", "dezember"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    """The folder after everything that the page tells, and the page as it would read today."""
    folder = tmp_path_factory.mktemp("custodian")
    (page,) = [page for page in PAGES if page.name == "hospital.md"]
    written = page.read_text("utf-8")
    return folder / "hospital", written, replay(written, folder)


def rows(path, encoding):
    with path.open(newline="", encoding=encoding) as file:
        return list(csv.DictReader(file, delimiter=";"))


@pytest.fixture(scope="module")
def originals(hospital):
    folder, _, _ = hospital
    return [rows(folder / f"Aufnahmen-{month}.csv", ENCODING) for month in MONTHS]


@pytest.fixture(scope="module")
def releases(hospital):
    folder, _, _ = hospital
    return [rows(folder / f"{name}.csv", "utf-8") for name in RELEASES]


def test_the_transcript_is_what_happens(hospital):
    _, written, today = hospital
    assert written == today, "renew it: cd tests && python -m end_to_end.transcripts"


def test_the_file_looks_as_the_page_says(hospital):
    folder, written, _ = hospital
    (shown,) = re.findall(r"^```text\n(.*?)^```", written, re.M | re.S)
    content = (folder / f"Aufnahmen-{MONTHS[0]}.csv").read_bytes().decode(ENCODING)
    assert content.replace("\r\n", "\n").startswith(shown)


def test_every_month_keeps_its_promise_by_recount(releases):
    for released in releases:
        groups = {}
        for row in released:
            groups.setdefault(tuple(row[name] for name in QUASI), []).append(row)
        assert min(map(len, groups.values())) >= 5
        for group in groups.values():
            assert len({row["Hauptdiagnose"] for row in group}) >= 2


def test_nobody_is_in_two_months(originals, releases):
    seen = set()
    for original, released in zip(originals, releases, strict=True):
        new = [row for row in original if row["Patientennummer"] not in seen]
        seen |= {row["Patientennummer"] for row in original}
        assert len(released) == len(new)
        for name in ("Hauptdiagnose", "HbA1c"):
            values = Counter(row[name] for row in released)
            assert values == Counter(row[name] for row in new), "as they were, decimal commas too"


def test_what_points_at_people_is_gone(hospital, originals, releases):
    folder, _, _ = hospital
    for original, released, name in zip(originals, releases, RELEASES, strict=True):
        assert not set(IDENTIFYING) & set(released[0])
        text = (folder / f"{name}.csv").read_text("utf-8")
        for row in original[:50]:
            assert row["Patientennummer"] not in text
            assert row["Geburtsdatum"] not in text
    for path in (folder / "private").rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_months_look_alike(releases):
    """Half of what November and December show is what was shown the month before."""
    shown = [
        {(row["Geburtsdatum"], row["Geschlecht"], row["PLZ"]) for row in released}
        for released in releases
    ]
    for before, after, released in zip(shown, shown[1:], releases[1:], strict=False):
        known = [row for row in released if tuple(row[n] for n in QUASI[:3]) in before & after]
        assert len(known) >= len(released) / 2
    for released, month in zip(releases, MONTHS, strict=True):
        days = {f"{day:02d}.{month[5:]}.2026" for day in range(1, 32)}
        assert {row["Aufnahmedatum"] for row in released} <= {month, "2026-Q4", "2026", "*", *days}


def test_documents_for_the_owner_and_for_everybody(hospital):
    folder, _, _ = hospital
    assert stat.S_IMODE((folder / "oktober.html").stat().st_mode) == 0o600
    certificate = (folder / "oktober.json").read_text("utf-8")
    assert '"edition": "public"' in certificate
    assert "input_sha256" not in certificate
