"""A release's lines saved, and put on another batch."""

import stat
import tomllib
from collections import Counter

import pytest

from incrowd.samples import write_sample

QUASI = ["age", "sex", "zip", "education"]
FLAGS = ["--quasi", ",".join(QUASI), "--sensitive", "diagnosis", "--method", "mondrian"]


@pytest.fixture
def policy(desk):
    (desk / "next").mkdir()
    write_sample(desk / "next", 1_500, 8)
    more = ["--hierarchy", "education=hierarchies/education.csv", "--save-policy", "policy"]
    ran = desk.call("run", "census.csv", "--k", 5, *FLAGS, *more)
    assert ran.status == 0, ran.err
    return desk / "policy"


def lines(desk, name):
    return Counter(tuple(row[column] for column in QUASI) for row in desk.rows(name))


def test_a_policy_is_private_and_of_the_released_lines(desk, policy):
    assert stat.S_IMODE(policy.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in policy.iterdir()} == {0o600}
    assert set(lines(desk, "policy/combinations.csv")) == set(lines(desk, "census.release.csv"))
    mapping = tomllib.loads((policy / "policy.toml").read_text())
    assert mapping["method"] == {
        "name": "policy",
        "combinations": "combinations.csv",
        "unfit": "refuse",
    }
    assert not {"data", "output"} & set(mapping)
    assert str(desk.folder) not in (policy / "policy.toml").read_text()


def test_the_same_batch_shows_the_same(desk, policy):
    """Every row fits a line that was released, and all lines that are shown stay large enough."""
    ran = desk.call("run", "census.csv", "--policy", policy, "-o", "again.csv", "--json")
    assert ran.status == 0, ran.err
    assert set(lines(desk, "again.csv")) <= set(lines(desk, "census.release.csv"))
    assert min(lines(desk, "again.csv").values()) >= 5
    assert ran.json["method"]["parameters"]["unfit_rows"] == 0


def test_another_batch_by_recount(desk, policy):
    refused = desk.call("run", "next/census.csv", "--policy", policy, "-o", "next.csv")
    assert refused.status == 3
    assert "fit none of its combinations" in refused.err
    assert not (desk / "next.csv").exists()
    search = ["--policy-unfit", "search", "--json"]
    ran = desk.call("run", "next/census.csv", "--policy", policy, "-o", "next.csv", *search)
    assert ran.status == 0, ran.err
    found = lines(desk, "next.csv")
    assert min(found.values()) >= 5
    assert sum(found.values()) == 1_500
    figures = ran.json["method"]["parameters"]
    assert 0 < figures["unfit_rows"] <= figures["searched_rows"] < 1_500
    known = lines(desk, "census.release.csv")
    as_before = sum(count for line, count in found.items() if line in known)
    assert as_before >= 1_500 - figures["searched_rows"]


def test_unfit_rows_may_be_left_out(desk, policy):
    more = ["--suppression-limit", 0.5, "--json"]
    ran = desk.call("run", "next/census.csv", "--policy", policy, "-o", "next.csv", *more)
    assert ran.status == 0, ran.err
    n_unfit = ran.json["method"]["parameters"]["unfit_rows"]
    assert ran.json["n_suppressed"] == n_unfit > 0
    assert set(lines(desk, "next.csv")) <= set(lines(desk, "census.release.csv"))


@pytest.mark.parametrize("condition", [["--l", 3], ["--t", 0.6]])
def test_conditions_hold_in_the_new_batch(desk, policy, condition):
    ran = desk.call(
        *("run", "next/census.csv", "--policy", policy, "-o", "next.csv"),
        *(*condition, "--policy-unfit", "search", "--json"),
    )
    assert ran.status == 0, ran.err
    if condition[0] == "--l":
        values = {}
        for row in desk.rows("next.csv"):
            values.setdefault(tuple(row[name] for name in QUASI), set()).add(row["diagnosis"])
        assert min(map(len, values.values())) >= 3
    else:
        figures = ran.json["method"]["parameters"]
        assert figures["searched_rows"] == 1_500, "a part has another whole"


def test_few_rows_are_searched_with_some_that_fit(desk, policy):
    rows = desk.rows("census.csv")
    head = ",".join(rows[0])
    odd = dict(rows[0], age="12", sex="female", zip="99999", education=rows[0]["education"])
    text = [head, *(",".join(row.values()) for row in [*rows, odd])]
    (desk / "more.csv").write_text("\n".join(text) + "\n")
    more = ["--policy-unfit", "search", "--json"]
    ran = desk.call("run", "more.csv", "--policy", policy, "-o", "more.out.csv", *more)
    assert ran.status == 0, ran.err
    assert min(lines(desk, "more.out.csv").values()) >= 5


def test_what_is_no_policy_is_refused(desk, policy):
    assert desk.call("run", "census.csv", "--policy", "hierarchies").status == 2
    assert desk.call("run", "policy/policy.toml", "--policy", policy).status == 2
    lines_of = (policy / "combinations.csv").read_text()
    (policy / "combinations.csv").write_text(lines_of.replace("zip", "postcode", 1))
    other = desk.call("run", "census.csv", "--policy", policy, "-o", "o.csv")
    assert other.status == 2
    assert "of other columns" in other.err
    (policy / "combinations.csv").unlink()
    assert desk.call("run", "census.csv", "--policy", policy, "-o", "o.csv").status == 2
    assert desk.call("run", "census.csv", "--k", 5, *FLAGS[:4], "--method", "policy").status == 2


def test_an_existing_policy_is_replaced_by_force_alone(desk, policy):
    before = (policy / "combinations.csv").read_bytes()
    words = ["run", "census.csv", "--k", 20, *FLAGS, "-o", "o.csv", "--save-policy", "policy"]
    assert desk.call(*words).status == 2
    assert (policy / "combinations.csv").read_bytes() == before
    assert desk.call(*words, "--force").status == 0
    assert (policy / "combinations.csv").read_bytes() != before
    assert desk.call(*words[:-1], "hierarchies", "--force").status == 2
    assert (desk / "hierarchies/education.csv").exists()


def test_bins_make_no_policy(desk):
    words = ["--bins", "age=5", "--save-policy", "p", "-o", "o.csv"]
    refused = desk.call("run", "census.csv", "--k", 5, *FLAGS, *words)
    assert refused.status == 2
    assert not (desk / "o.csv").exists()
