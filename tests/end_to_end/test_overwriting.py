"""No output of a command is written over an input or over another output, also by force."""

import os
import re

import pytest

import incrowd as ic


def content_of(desk):
    """Every file of the desk with its bytes."""
    return {
        path.relative_to(desk.folder): path.read_bytes()
        for path in sorted(desk.folder.rglob("*"))
        if path.is_file()
    }


def refused(desk, *arguments):
    """Run a command that must refuse before it writes anything; return what it says."""
    before = content_of(desk)
    done = desk.call(*arguments)
    assert done.status == 2, (done.out, done.err)
    assert re.search("output would|outputs would", done.err), done.err
    assert content_of(desk) == before
    return done.err


@pytest.fixture
def tables(desk):
    """The census with a hierarchy file and a job that names both."""
    made = desk.call("hierarchy", "census.csv", "age", "--build", "intervals:5,20", "-o", "age.csv")
    assert made.status == 0, made.err
    (desk / "job.toml").write_text(
        'data = "census.csv"\noutput = "out.csv"\n'
        '[roles]\nage = "quasi-identifying"\nsex = "quasi-identifying"\n'
        '[hierarchies]\nage = "age.csv"\n'
        '[guarantee]\nname = "k-anonymity"\nk = 4\n[method]\nname = "mondrian"\n',
        encoding="utf-8",
    )
    return desk


@pytest.mark.parametrize("over", ["census.csv", "age.csv", "job.toml", "out.csv"])
@pytest.mark.parametrize("flag", ["--save-job", "--key", "--save-policy", "--commitment-key"])
def test_run_writes_over_no_file_of_its_own(tables, flag, over):
    public = ("--certificate", "certificate.json", "--certificate-for", "public")
    more = public if flag == "--commitment-key" else ()
    refused(tables, "run", "job.toml", flag, over, *more, "--force")


@pytest.mark.parametrize("over", ["census.csv", "age.csv", "job.toml"])
def test_a_release_is_written_over_no_input(tables, over):
    name = "job.csv" if over == "job.toml" else over
    if over == "job.toml":
        (tables / "job.csv").symlink_to("job.toml")
    refused(tables, "run", "job.toml", "-o", name, "--force")


@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["hard", "symbolic"])
def test_links_to_an_input_are_seen_through(tables, link):
    link(tables / "age.csv", tables / "key.csv")
    says = refused(tables, "run", "job.toml", "--key", "key.csv", "--force")
    assert "key.csv" in says


def test_two_outputs_of_one_name_are_refused(tables):
    keys = ("--key", "secret/key.csv", "--save-job", "secret/../secret/key.csv")
    (tables / "secret").mkdir()
    assert "secret/key.csv" in refused(tables, "run", "job.toml", *keys)


def test_no_output_lies_in_a_folder_that_is_another(tables):
    (tables / "secret").mkdir()
    refused(tables, "run", "job.toml", "-o", "out/", "--save-job", "out/again.toml", "--force")


def test_an_input_in_a_folder_that_would_be_replaced_is_kept(tables):
    done = tables.call("run", "job.toml", "--save-policy", "policy")
    assert done.status == 0, done.err
    refused(
        tables,
        *("run", "census.csv", "--policy", "policy", "--save-policy", "policy"),
        *("-o", "again.csv", "--force"),
    )


def test_costs_and_the_key_that_signs_are_inputs(tables):
    (tables / "costs.csv").write_text("kept\n", encoding="utf-8")
    costs = ("--method", "greedy", "--costs", "age=costs.csv")
    assert "costs.csv" in refused(
        tables, "run", "job.toml", *costs, "--key", "costs.csv", "--force"
    )
    (tables / "sign.pem").write_text("kept\n", encoding="utf-8")
    signing = ("--certificate", "c.json", "--sign-key", "sign.pem", "--key", "sign.pem")
    assert "sign.pem" in refused(tables, "run", "job.toml", *signing, "--force")


def test_a_job_of_python_is_guarded_too(tables):
    job = ic.Job.load(tables / "job.toml")
    before = content_of(tables)
    guarded = ic.Job.from_mapping(
        {**job.to_mapping(), "release": {"key": str(tables / "age.csv")}}, tables.folder
    )
    with pytest.raises(ic.InputError, match=r"age\.csv"):
        ic.run(guarded, force=True)
    assert content_of(tables) == before


# ── sets and rules ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def baskets(desk):
    """Transactions with rules, weights and sensitive items."""
    (desk / "visits.dat").write_text("a b s\na c\nb c s\na b c\n" * 6, encoding="utf-8")
    (desk / "rules.txt").write_text("a -> s\n", encoding="utf-8")
    (desk / "weights.csv").write_text("item,weight\na,2\n", encoding="utf-8")
    (desk / "sensitive.txt").write_text("s\n", encoding="utf-8")
    return desk


RULES = (
    *("--guarantee", "rules", "--k", 2, "--confidence", 0.9, "--rules", "rules.txt"),
    *("--weights", "weights.csv", "--sensitive-items", "sensitive.txt"),
)


@pytest.mark.parametrize(
    "over",
    [
        *("visits.dat", "rules.txt", "weights.csv", "sensitive.txt", "out.dat"),
        *("out.dat.mapping.csv", "out.dat.rows", "visits.dat.rows"),
    ],
)
@pytest.mark.parametrize("flag", ["--save-rules", "--key", "--save-job"])
def test_a_run_of_rules_writes_over_no_file_of_its_own(baskets, flag, over):
    refused(baskets, "run", "visits.dat", *RULES, "-o", "out.dat", flag, over, "--force")


# ── the other commands ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("over", ["census.csv", "age.csv", "job.toml"])
def test_compare_keeps_its_inputs(tables, over):
    refused(tables, "compare", "job.toml", "--k", "2", "-o", over, "--force")


def test_compare_writes_two_files(tables):
    named = ("-o", "points.html", "--report", "points.html")
    refused(tables, "compare", "job.toml", "--k", "2", *named)


def test_init_keeps_the_data(desk):
    refused(desk, "init", "census.csv", "-o", "census.csv", "--force")


@pytest.mark.parametrize("over", ["census.csv", "age.csv"])
def test_hierarchy_keeps_its_inputs(tables, over):
    arguments = ("census.csv", "age", "--from", "age.csv", "-o", over, "--force")
    refused(tables, "hierarchy", *arguments)


@pytest.mark.parametrize(
    "over", ["census.csv", "age.csv", "job.toml", "original.csv", "key.csv", "population.csv"]
)
def test_the_report_of_a_check_is_written_over_no_input(tables, over):
    for name in ("original.csv", "key.csv", "population.csv"):
        (tables / name).write_text("kept\n", encoding="utf-8")
    (tables / "report.html").symlink_to(over)
    files = ("--original", "original.csv", "--key", "key.csv", "--job", "job.toml")
    risk = ("--risk", "--population", "population.csv")
    refused(tables, "check", "census.csv", *files, *risk, "--report", "report.html", "--force")


@pytest.mark.parametrize("over", ["out.csv", "certificate.json"])
def test_a_report_made_again_is_written_over_no_input(tables, over):
    public = ("--certificate", "certificate.json", "--certificate-for", "public")
    assert tables.call("run", "job.toml", *public).status == 0
    (tables / "report.html").symlink_to(over)
    arguments = ("out.csv", "certificate.json", "--report", "report.html", "--force")
    refused(tables, "verify-certificate", *arguments)
