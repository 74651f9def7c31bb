"""``incrowd check`` with risk, attacks and two releases, as a user calls it."""

import csv
from collections import Counter

import pytest

QUASI = "age,sex,zip"
FLAGS = ["--quasi", QUASI, "--sensitive", "diagnosis", "--k", 5]
OWNER = ["--original", "census.csv", "--key", "private/key.csv"]


@pytest.fixture(scope="module")
def made(tmp_path_factory, sample_folder):
    """A desk with a release by Mondrian and its key, made once."""
    import shutil

    from end_to_end.conftest import Desk

    folder = tmp_path_factory.mktemp("more")
    shutil.copytree(sample_folder, folder, dirs_exist_ok=True)
    (folder / "private").mkdir()
    desk = Desk(folder)
    for name, k in (("census.release.csv", 5), ("other.csv", 4)):
        finished = desk.call(
            "run", "census.csv", *FLAGS[:4], "--k", k, "--method", "mondrian", "-o", name,
            "--key", f"private/{'key' if k == 5 else 'other'}.csv",
        )  # fmt: skip
        assert finished.status == 0, finished.err
    return desk


def write(desk, name, lines):
    (desk / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def finding(finished, name):
    return next(item for item in finished.json["findings"] if item["name"] == name)


def test_risk_of_a_release_is_recounted_from_its_file(made):
    finished = made.call("check", "census.release.csv", *FLAGS, "--risk", "--json")
    assert finished.status == 0, finished.err
    figures = finding(finished, "risk")["figures"]
    sizes = Counter(made.group_sizes("census.release.csv", QUASI.split(",")))
    n_rows = sum(sizes.values())
    assert figures["release"]["prosecutor"]["mean"] == pytest.approx(len(sizes) / n_rows)
    assert figures["release"]["prosecutor"]["highest"] == 1 / min(sizes.values())
    assert figures["original"] is None
    beside = made.call("check", "census.release.csv", *FLAGS, "--risk", *OWNER, "--json")
    original = made.group_sizes("census.csv", QUASI.split(","))
    before = finding(beside, "risk")["figures"]["original"]
    assert before["prosecutor"]["n_unique"] == sum(size == 1 for size in original.values())


def test_the_terminal_tells_every_finding_in_a_sentence(made):
    finished = made.call(
        "check", "census.release.csv", *FLAGS, *OWNER, "--risk", "--attack", "linkage,homogeneity"
    )
    assert finished.status == 0, finished.err
    for word in ("risk", "attack: linkage", "attack: homogeneity", "the right row is picked"):
        assert word in finished.out


def test_an_attack_on_a_real_release_succeeds_at_most_once_in_k(made):
    finished = made.call(
        "check", "census.release.csv", *FLAGS, *OWNER, "--attack", "linkage", "--json"
    )
    figures = finding(finished, "attack: linkage")["figures"]
    assert figures["after"]["is_exact"]
    assert figures["n_targets"] == 1_500
    assert figures["after"]["highest"] <= 1 / 5
    assert figures["before"]["rate"] > 0.8


def test_a_population_is_read_and_counted(made):
    finished = made.call(
        "check", "census.release.csv", *FLAGS, *OWNER, "--risk", "--population", "census.csv",
        "--risk-threshold", 0.1, "--sampling-fraction", 0.5, "--json",
    )  # fmt: skip
    assert finished.status == 0, finished.err
    figures = finding(finished, "risk")["figures"]
    assert figures["threshold"] == 0.1
    journalist = figures["release"]["journalist"]
    assert journalist["n_rows_fitting_nobody"] == journalist["n_rows_in_short_groups"] == 0
    assert journalist["k_map"] >= 5
    assert figures["release"]["uniqueness"]["n_population"] == 3_000
    # the population is the original: against it, the original's rows are its own groups
    assert figures["original"]["journalist"]["mean"] == pytest.approx(
        figures["original"]["prosecutor"]["mean"]
    )


def test_composition_of_two_releases_of_the_same_people(made):
    files = made.call(
        "check", "census.release.csv", "other.csv", "--composition", "--same-people",
        "--quasi", QUASI, "--sensitive", "diagnosis", "--k", 4, "--json",
    )  # fmt: skip
    assert files.status == 1, files.err
    bounds = finding(files, "attack: composition")
    assert bounds["holds"] is False
    assert finding(files, "second release: k-anonymity")["holds"]
    keys = made.call(
        "check", "census.release.csv", "other.csv", "--composition", *OWNER, "--other-key",
        "private/other.csv", "--quasi", QUASI, "--sensitive", "diagnosis", "--k", 4, "--json",
    )  # fmt: skip
    assert keys.status == 1, keys.err
    figures = finding(keys, "attack: composition")["figures"]
    assert figures["n_people_in_both"] == 1_500
    # recounted: who is in which group of both releases
    groups = []
    for name, key in (("census.release.csv", "key"), ("other.csv", "other")):
        rows = made.rows(name)
        with (made / f"private/{key}.csv").open(encoding="utf-8") as file:
            person_of = {
                int(r["released_row"]): int(r["original_row"]) for r in csv.DictReader(file)
            }
        groups.append(
            {
                person_of[place]: tuple(row[column] for column in QUASI.split(","))
                for place, row in enumerate(rows, 1)
            }
        )
    sizes = Counter((groups[0][person], groups[1][person]) for person in groups[0])
    below = sum(size for size in sizes.values() if size < 4)
    assert figures["n_people_below_k"] == below
    assert figures["fewest_in_common"] == min(sizes.values())
    assert bounds["figures"]["n_sure_people"] <= figures["n_exposed_people"]
    same = made.call(
        "check", "census.release.csv", "census.release.csv", "--composition", "--same-people",
        *FLAGS,
    )  # fmt: skip
    assert same.status == 0, same.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--attack", "linkage"], "needs the original"),
        (["--attack", "sustained"], "needs the original"),
        (["--attack", "linkag"], "'linkage'"),
        (["--attack", "known-items"], "not one on tables"),
        (["--attack", "linkage", "--known-share", "0"], "--known-share"),
        (["--attack", "linkage", *OWNER, "--known-columns", "zipp"], "'zip'"),
        (["--risk-threshold", "0.5"], "--risk"),
        (["--risk", "--risk-threshold", "7"], "--risk-threshold"),
        (["--risk", "--sampling-fraction", "0"], "--sampling-fraction"),
        (["--risk", "--population", "nowhere.csv"], "nowhere.csv"),
        (["--composition"], "two releases"),
        (["other.csv"], "--composition"),
        (["other.csv", "--composition", "--other-key", "private/other.csv"], "--original"),
        (["other.csv", "--composition", "--other-original", "census.csv"], "--other-key"),
        (
            ["other.csv", "--composition", *OWNER, "--other-key", "private/key.csv"],
            "key does not hold",
        ),
    ],
)
def test_what_cannot_be_measured_ends_with_2(made, arguments, says):
    finished = made.call("check", "census.release.csv", *arguments, *FLAGS)
    assert finished.status == 2, (finished.out, finished.err)
    assert says in finished.err
    assert not finished.out


def test_nothing_is_measured_with_a_key_that_is_not_proven(made):
    rows = made.rows("private/key.csv")
    rows[0]["original_row"], rows[-1]["original_row"] = (
        rows[-1]["original_row"],
        rows[0]["original_row"],
    )
    lines = ["released_row,original_row"]
    write(made, "wrong.csv", lines + [f"{r['released_row']},{r['original_row']}" for r in rows])
    finished = made.call(
        "check", "census.release.csv", *FLAGS, "--original", "census.csv", "--key", "wrong.csv",
        "--attack", "linkage", "--risk", "--json",
    )  # fmt: skip
    assert finished.status == 1
    assert [item["name"] for item in finished.json["findings"]] == ["key"]


def test_sets_are_measured_and_attacked(desk):
    lines = ["1 2", "1 2", "1 3", "1 2 4", "3 4", "3 4"]
    write(desk, "lists.dat", lines)
    released = ["1 2", "1 2", "1 2", "3 4", "3 4", "3 4"]
    write(desk, "lists.release.dat", released)
    write(desk, "key.csv", ["released_row,original_row", "1,1", "2,2", "3,4", "4,3", "5,5", "6,6"])
    flags = ["--guarantee", "smooth", "--k", 3, "--original", "lists.dat", "--key", "key.csv"]
    finished = desk.call(
        "check", "lists.release.dat", *flags, "--risk", "--attack", "known-items",
        "--known-items", "1,2", "--json",
    )  # fmt: skip
    assert finished.status == 0, finished.err
    risk = finding(finished, "risk")["figures"]
    assert risk["release"]["prosecutor"]["mean"] == pytest.approx(1 / 3)
    assert risk["original"]["prosecutor"]["mean"] == pytest.approx(4 / 6)
    found = finding(finished, "attack: known items")["figures"]["by_known_items"]
    assert found["2"]["n_able"] == 6
    assert found["2"]["after"]["rate"] <= 1 / 3
    for wrong, says in (
        (["--attack", "linkage"], "not one on sets"),
        (["--risk", "--population", "lists.dat"], "--population"),
    ):
        refused = desk.call("check", "lists.release.dat", *flags, *wrong)
        assert refused.status == 2
        assert says in refused.err
    alone = desk.call("check", "lists.release.dat", *flags[:4], "--attack", "known-items")
    assert alone.status == 2
    two = desk.call("check", "lists.release.dat", "lists.dat", "--composition", *flags[:4])
    assert two.status == 2
