"""Reports of every method: they tell what the audit tells, and the public one nothing else."""

import functools
import json
import re
import shutil
import subprocess

import pytest

from benchmarks.sets.data import user_lists
from browser.opening import assert_quiet_and_readable
from end_to_end.conftest import Desk
from incrowd.guarantees.table import GUARANTEES
from incrowd.methods.table import METHODS
from incrowd.sets.files import write_sets

TABLE = ["census.csv", "--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--k", 5]
FEW = ["few.csv", *TABLE[1:]]
LISTS = ["lists.dat", "--k", 4]
VISITS = ["visits.dat", "--k", 2, "--sensitive-items", "h,i,j"]

JOBS = {
    "greedy": [*TABLE, "--method", "greedy"],
    "mondrian": [*TABLE, "--method", "mondrian", "--l", 2],
    "cluster": [*TABLE, "--effort", "quick"],
    "full-domain": [*TABLE, "--method", "full-domain"],
    "microaggregate": ["census.csv", "--quasi", "age", "--k", 5, "--method", "microaggregate"],
    "policy": [*TABLE, "--method", "policy", "--set", "method.combinations=lines.csv"],
    "own-k": [*FEW, "--method", "mondrian", "--k-column", "k"],
    "adaptive": [*FEW, "--guarantee", "adaptive", "--k-column", "k"],
    "bits": [*FEW, "--guarantee", "adaptive", "--mask", "bit", "--posterior", "report"],
    "smooth": [*LISTS, "--guarantee", "smooth"],
    "suppression": [*LISTS, "--guarantee", "suppression", "--method", "mondrian"],
    "majority": [*LISTS, "--guarantee", "majority", "--method", "facility"],
    "edge-dp": ["lists.dat", "--guarantee", "edge-dp", "--epsilon", 3],
    "node-dp": ["lists.dat", "--guarantee", "node-dp", "--epsilon", 3],
    "rules": [*VISITS, "--rules", "rules.txt", "--confidence", 0.9],
    "km": [*VISITS, "--m", 1],
}

OWNER_ONLY = ("own-k", "adaptive", "bits", "edge-dp", "node-dp", "rules")
"""Promises that the release alone cannot show: pages are made again where the issuer is known."""


def fill(desk):
    """Put the data of all jobs on a desk; removed columns hold what must not be told."""
    rows = (desk / "census.csv").read_text().splitlines()
    rows[1:] = [
        re.sub(r"^[^,]+,[^,]+", f"zq-{n:05},zq-{n:05}", row) for n, row in enumerate(rows[1:])
    ]
    (desk / "census.csv").write_text("\n".join(rows) + "\n")
    (desk / "few.csv").write_text("\n".join(rows[:151]) + "\n")
    write_sets(user_lists(150, 60, seed=1), desk / "lists.dat")
    visits = ["b c e g h", "a c d i j", "a f l", "b e g h", "d f l"] * 3
    (desk / "visits.dat").write_text("\n".join(visits) + "\n")
    (desk / "rules.txt").write_text("a c -> h\n")
    (desk / "lines.csv").write_text("age,sex,zip\n*,*,*\n")
    return desk


@pytest.fixture
def full_desk(desk):
    return fill(desk)


@pytest.fixture(scope="module")
def page_of(sample_folder, tmp_path_factory):
    """Return a job's report, as a file, and its audit; each is made once."""
    folder = tmp_path_factory.mktemp("desk")
    shutil.copytree(sample_folder, folder, dirs_exist_ok=True)
    desk = fill(Desk(folder))

    @functools.cache
    def made(name):
        ending = ".csv" if JOBS[name][0].endswith(".csv") else ".dat"
        words = ["-o", name + ending, "--report", f"{name}.html", "--json"]
        ran = desk.call("run", *JOBS[name], *words)
        assert ran.status == 0, ran.err
        return desk / f"{name}.html", ran.json

    return made


def figures_of(page):
    found = re.search(
        r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(found[1])


@pytest.mark.parametrize("name", JOBS)
def test_the_owners_page_tells_the_audit(page_of, name):
    path, audit = page_of(name)
    page = path.read_text()
    assert figures_of(page)["audit"] == audit
    assert len(page) < 3_000_000
    assert not re.search(r"""(src|href)=["'](?!#)""", page), "nothing is asked of the network"
    names = {finding["name"] for finding in audit["findings"]}
    assert {"risk", "utility: queries", "utility: statistics"} <= names
    assert path.stat().st_mode & 0o777 == 0o600


def test_there_is_a_job_of_every_method_and_guarantee(page_of):
    audits = [page_of(name)[1] for name in JOBS]
    assert {audit["method"]["name"] for audit in audits} == set(METHODS)
    assert {audit["guarantee"]["name"] for audit in audits} == set(GUARANTEES)


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", JOBS)
def test_every_methods_page_in_a_browser(browser, page_of, name, width):
    assert_quiet_and_readable(browser, page_of(name)[0], width)


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_the_public_page_is_made_again_without_the_original(full_desk, name, tmp_path_factory):
    desk, words = full_desk, JOBS[name]
    output = "out.csv" if words[0].endswith(".csv") else "out.dat"
    documents = ["--report", "page.html", "--report-for", "public"]
    documents += ["--certificate", "public.json", "--certificate-for", "public"]
    documents += ["--sign-key", "sign.pem", *WORDS]
    for call in (
        ["genpkey", "-algorithm", "ed25519", "-out", "sign.pem"],
        ["pkey", "-in", "sign.pem", "-pubout", "-out", "sign.pub"],
    ):
        subprocess.run(["openssl", *call], cwd=desk.folder, capture_output=True, check=True)
    ran = desk.call("run", *words, "-o", output, *documents)
    assert ran.status == 0, ran.err
    page = (desk / "page.html").read_bytes()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for file in (output, "public.json", "public.json.sig", "sign.pub"):
        shutil.copy(desk / file, elsewhere)
    for file in desk.folder.glob("*"):
        if file.is_file():
            file.unlink()
    desk.folder = elsewhere
    verify = ["verify-certificate", output, "public.json", "--report", "again.html"]
    if name in OWNER_ONLY:
        assert desk.call(*verify).status == 2
        assert not (elsewhere / "again.html").exists()
        verify += ["--public-key", "sign.pub"]
    made = desk.call(*verify)
    assert made.status == (2 if name in OWNER_ONLY else 0), made.err
    assert (elsewhere / "again.html").read_bytes() == page
    assert b"zq-0" not in page
    text = re.sub(rb"<style>.*?</style>", b"", page, flags=re.DOTALL)
    assert not re.search(rb"before|original distribution|\bseconds\b|\bMB\b", text)


def test_values_that_were_generalized_away_are_not_told(full_desk):
    """A value of every column is planted; what the release does not show, the page does not."""
    desk = full_desk
    rows = desk.rows("census.csv")
    head = list(rows[0])
    for column in head:
        if column not in ("k", "age", "diagnosis"):
            rows[7][column] = "zq-00017"
    text = [",".join(head), *(",".join(row.values()) for row in rows)]
    (desk / "census.csv").write_text("\n".join(text) + "\n")
    words = [*TABLE, "--method", "mondrian", "--hierarchy", "zip=flat", "--hierarchy", "sex=flat"]
    words += ["-o", "out.csv", "--report", "page.html", "--report-for", "public"]
    words += ["--certificate", "public.json", "--certificate-for", "public"]
    assert desk.call("run", *words).status == 0
    assert "zq-00017" not in (desk / "out.csv").read_text()
    assert "zq-00017" not in (desk / "page.html").read_text()
    assert "zq-00017" not in (desk / "public.json").read_text()


WORDS = ["--report-title", "Teaching <sample>", "--report-note", "Ask us."]


def test_the_owners_words_are_in_the_page_and_the_certificate(full_desk):
    desk = full_desk
    words = [*TABLE, "--method", "mondrian", "-o", "out.csv", *WORDS]
    assert desk.call("run", *words, "--report", "own.html").status == 0
    own = (desk / "own.html").read_text()
    assert "<h1>Teaching &lt;sample&gt;</h1>" in own
    assert "<span>original: census.csv</span><span>release: out.csv</span>" in own
    assert re.search(r"<span>\d+ \w+ 20\d\d</span></p>\n<p class=.words.>Ask us.</p>", own)
    public = ["--report", "page.html", "--report-for", "public", "--report-date", "2026-11-18"]
    public += ["--certificate", "public.json", "--certificate-for", "public", "--force"]
    assert desk.call("run", *words, *public).status == 0
    page = (desk / "page.html").read_text()
    assert "<h1>Teaching &lt;sample&gt;</h1>" in page
    assert "18 November 2026" in page
    assert "census.csv" not in page
    told = json.loads((desk / "public.json").read_text())
    assert told["report"] == {
        **{"title": "Teaching <sample>", "note": "Ask us."},
        "date": "2026-11-18",
    }
    (desk / "census.csv").unlink()
    verify = ["verify-certificate", "out.csv", "public.json", "--report", "again.html"]
    assert desk.call(*verify).status == 0
    assert (desk / "again.html").read_text() == page
    told["report"]["title"] = ["odd"]
    (desk / "public.json").write_text(json.dumps(told))
    refused = desk.call(*verify, "--force")
    assert refused.status == 2
    assert "lacks report" in refused.err


def test_a_public_page_that_nobody_dated_has_no_date(full_desk):
    desk = full_desk
    words = [*TABLE, "--method", "mondrian", "-o", "out.csv", "--certificate", "public.json"]
    words += ["--certificate-for", "public", "--report", "page.html", "--report-for", "public"]
    assert desk.call("run", *words).status == 0
    assert "report" not in json.loads((desk / "public.json").read_text())
    assert (
        '<p class="about"><span>k-anonymity, k = 5</span></p>' in (desk / "page.html").read_text()
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--report-date", "18.11.2026"], "report_date: not a date"),
        (["--report-title", "a" * 121], "at most 120 characters"),
        (["--report-title", "two\nlines"], "more than one line"),
        (["--report-note", "a" * 3_001], "at most 3,000 characters"),
    ],
)
def test_words_that_do_not_fit_are_refused(desk, words, told):
    refused = desk.call("run", *TABLE, "-o", "out.csv", *words)
    assert refused.status == 2
    assert told in refused.err
    assert not (desk / "out.csv").exists()


@pytest.mark.slow
def test_a_check_draws_a_page(full_desk):
    desk = full_desk
    (desk / "private").mkdir()
    words = [*TABLE, "--method", "mondrian", "-o", "out.csv", "--key", "private/key.csv"]
    assert desk.call("run", *words).status == 0
    check = ["check", "out.csv", *TABLE[1:], "--report", "page.html", "--json"]
    alone = desk.call(*check, "--risk")
    assert alone.status == 0, alone.err
    assert figures_of((desk / "page.html").read_text())["audit"] == alone.json
    assert desk.call(*check).status == 2, "the page is there"
    owner = ["--original", "census.csv", "--key", "private/key.csv", "--attack", "linkage"]
    owned = desk.call(*check, *owner, "--force")
    assert owned.status == 0, owned.err
    assert figures_of((desk / "page.html").read_text())["audit"] == owned.json
    broken = desk.call(*check, "--k", 400, "--force")
    assert broken.status == 1
    assert "<span>does not hold</span>" in (desk / "page.html").read_text()
    assert "<h1>Check of out.csv</h1>" in (desk / "page.html").read_text()
    assert desk.call("check", "out.csv", *TABLE[1:], "--report", "page.txt").status == 2


@pytest.mark.slow
def test_a_report_of_rows_that_lie_on_disk_brings_them_together(full_desk):
    desk = full_desk
    (desk / "parts").mkdir()
    shutil.copy(desk / "census.csv", desk / "parts/one.csv")
    words = ["parts", *TABLE[1:], "--method", "mondrian", "--report", "page.html"]
    assert desk.call("run", *words, "-o", "out.csv").status == 0
    refused = desk.call("run", *words, "-o", "out/", "--force")
    assert refused.status == 2
    assert "a report shows all rows together" in refused.err
