"""``incrowd check`` on good, broken and foreign files."""

import csv
import random
import shutil

import pytest

from command_line import call

QUASI = ["age", "sex", "zip"]
FLAGS = ["--quasi", ",".join(QUASI), "--sensitive", "diagnosis"]


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="module")
def released_folder(sample_folder, tmp_path_factory):
    """A folder with a release and its key, made once."""
    folder = tmp_path_factory.mktemp("released")
    shutil.copytree(sample_folder, folder, dirs_exist_ok=True)
    (folder / "private").mkdir()
    words = ["--k", 5, "--l", 2, *FLAGS, "--key", "private/key.csv"]
    finished = call("run", "census.csv", *words, folder=folder)
    assert finished.status == 0, finished.err
    return folder


@pytest.fixture
def released(desk, released_folder):
    shutil.copytree(released_folder, desk.folder, dirs_exist_ok=True)
    return desk


def test_a_good_release_holds(released):
    finished = released.incrowd("check", "census.release.csv", "--k", 5, "--l", 2, *FLAGS)
    assert finished.status == 0, finished.err
    assert finished.out.startswith("holds")
    audit = released.call("check", "census.release.csv", "--k", 5, *FLAGS, "--json").json
    sizes = released.group_sizes("census.release.csv", QUASI)
    assert audit["smallest_group"] == min(sizes.values())
    assert released.call("check", "census.release.csv", "--k", max(sizes.values()), *FLAGS).status


def test_one_changed_row_does_not_hold(released):
    rows = released.rows("census.release.csv")
    draw = random.Random(1)
    for _ in range(5):
        changed = [dict(row) for row in rows]
        row = draw.randrange(len(rows))
        changed[row][draw.choice(QUASI)] = "something else"
        write(released / "changed.csv", changed)
        finished = released.call("check", "changed.csv", "--k", 5, *FLAGS, "--json")
        assert finished.status == 1
        finding = finished.json["findings"][0]
        assert finding["holds"] is False
        assert row + 1 in finding["exposed_rows"]
        assert "something else" not in finished.out + finished.err


def test_stars_have_three_meanings(desk):
    """Six rows: a pair, and four with stars; counted by hand under each meaning."""
    lines = ["1,a", "1,a", "1,*", "*,a", "*,*", "*,*"]
    (desk / "stars.csv").write_text("age,sex\n" + "\n".join(lines) + "\n")
    check = ["check", "stars.csv", "--quasi", "age,sex", "--k", 2]
    as_value = desk.call(*check, "--stars", "as-value", "--json")
    assert as_value.status == 1  # '1,*' and '*,a' stand alone
    assert as_value.json["findings"][0]["exposed_rows"] == [3, 4]
    # (1,a) is covered by all six, (1,*) by itself and the two (*,*), (*,*) by the two (*,*)
    as_wildcard = desk.call(*check, "--stars", "as-wildcard", "--json")
    assert as_wildcard.status == 0
    assert as_wildcard.json["findings"][0]["name"] == "compatibility"
    # only the pair is counted; rows that still show a value are not vouched for
    excluded = desk.call(*check, "--stars", "excluded", "--json")
    assert excluded.status == 1
    assert excluded.json["findings"][0]["figures"]["unchecked_rows"] == 4
    (desk / "blank.csv").write_text("age,sex\n1,a\n1,a\n*,*\n")
    blank = ["check", "blank.csv", "--quasi", "age,sex", "--k", 2]
    assert desk.call(*blank, "--stars", "as-value").status == 1
    assert desk.call(*blank, "--stars", "excluded").status == 0
    assert desk.call(*blank, "--stars", "as-wildcard").status == 1  # *,* is covered by itself only


def test_the_key_is_proven_before_it_is_used(released):
    check = ["check", "census.release.csv", "--k", 5, *FLAGS, "--original", "census.csv"]
    assert released.call(*check, "--key", "private/key.csv").status == 0
    lines = (released / "private/key.csv").read_text().splitlines()

    def with_lines(changed):
        (released / "private/bad.csv").write_text("\n".join(changed) + "\n")
        return released.call(*check, "--key", "private/bad.csv", "--json")

    first, last = lines[1].split(","), lines[-1].split(",")
    swapped = [lines[0], f"{first[0]},{last[1]}", *lines[2:-1], f"{last[0]},{first[1]}"]
    finished = with_lines(swapped)
    assert finished.status == 1
    assert finished.json["findings"][0]["name"] == "key"
    twice = [lines[0], f"{first[0]},{last[1]}", *lines[2:]]
    assert with_lines(twice).status == 1
    assert with_lines(lines[:-1]).status == 2
    rows = released.rows("census.release.csv")
    other = next(row["diagnosis"] for row in rows if row["diagnosis"] != rows[0]["diagnosis"])
    rows[0]["diagnosis"] = other
    write(released / "moved.csv", rows)
    moved = released.call(
        "check",
        "moved.csv",
        "--k",
        5,
        *FLAGS,
        "--original",
        "census.csv",
        "--key",
        "private/key.csv",
        "--json",
    )
    assert moved.status == 1
    assert moved.json["findings"][0]["figures"]["columns"] == ["diagnosis"]


def test_personal_k_needs_the_owner(released):
    check = ["check", "census.release.csv", *FLAGS, "--k-column", "k"]
    assert released.call(*check).status == 2
    owner = released.call(*check, "--original", "census.csv", "--key", "private/key.csv", "--json")
    wishes = [int(row["k"]) for row in released.rows("census.csv")]
    assert max(wishes) > 5
    assert owner.status == 1
    assert owner.json["findings"][0]["holds"] is False


def test_people_need_the_owner(released):
    check = ["check", "census.release.csv", *FLAGS, "--k", 5, "--person", "id"]
    assert released.call(*check).status == 2
    owner = released.call(*check, "--original", "census.csv", "--key", "private/key.csv", "--json")
    assert owner.status == 0, owner.err
    assert "people" in owner.json["findings"][0]["summary"]


def test_what_cannot_be_checked_answers_2(released):
    assert released.call("check", "census.release.csv", "--k", 5).status == 2
    assert released.call("check", "census.release.csv", *FLAGS).status == 2
    assert released.call("check", "nowhere.csv", "--k", 5, *FLAGS).status == 2
    assert released.call("check", "census.release.csv", "--k", 5, "--quasi", "agge").status == 2
    assert released.call("check", "census.release.csv", "--k", 5, *FLAGS, "--aligned").status == 2
    for command, data in [("check", "census.release.csv"), ("run", "census.csv")]:
        wrong = released.call(command, data, "--k", 5, *FLAGS, "--hierarchy", "age")
        assert wrong.status == 2
        assert "COLUMN=FILE" in wrong.err


def test_leaks_that_others_let_through(released):
    rows = released.rows("census.release.csv")
    numbered = [{"row": number, **row} for number, row in enumerate(rows)]
    write(released / "numbered.csv", numbered)
    check = ["check", "numbered.csv", "--k", 5, *FLAGS, "--json"]
    finished = released.call(*check)
    assert finished.status == 1
    assert {"row numbers"} <= {f["name"] for f in finished.json["findings"] if f["holds"] is False}


def test_more_models_and_measures(released):
    check = ["check", "census.release.csv", "--k", 5, *FLAGS, "--json"]
    measured = released.call(*check, "--measure").json["findings"]
    figures = next(f["figures"] for f in measured if f["name"] == "measured")
    column = figures["columns"]["diagnosis"]
    shares = {}
    for row in released.rows("census.release.csv"):
        group = shares.setdefault(tuple(row[name] for name in QUASI), [])
        group.append(row["diagnosis"])
    alpha = max(
        max(group.count(value) for value in group) / len(group) for group in shares.values()
    )
    assert column["alpha"] == pytest.approx(alpha)
    assert released.call(*check, "--alpha", alpha).status == 0
    assert released.call(*check, "--alpha", alpha - 0.01).status == 1
    assert released.call(*check, "--beta", 0.01).status == 1


def test_a_release_of_another_tool(desk):
    """anjana makes it, incrowd and pycanon agree on what it is."""
    import pandas as pd
    from anjana.anonymity import k_anonymity
    from pycanon import anonymity

    frame = pd.read_csv(desk / "census.csv", dtype=str)[[*QUASI, "diagnosis"]]
    ages = frame["age"].astype(int)
    hierarchies = {
        "age": {
            0: frame["age"].values,
            1: (ages // 20).map(lambda band: f"[{20 * band}, {20 * band + 20}[").values,
            2: ["*"] * len(frame),
        },
        "sex": {0: frame["sex"].values, 1: ["*"] * len(frame)},
        "zip": {0: frame["zip"].values, 1: frame["zip"].str[0].values, 2: ["*"] * len(frame)},
    }
    made = k_anonymity(frame, [], QUASI, 4, 20, hierarchies)
    made.to_csv(desk / "foreign.csv", index=False)
    k = anonymity.k_anonymity(made, QUASI)
    assert k >= 4
    check = ["check", "foreign.csv", *FLAGS, "--json"]
    finished = desk.call(*check, "--k", k)
    assert finished.json["findings"][0]["holds"] is True
    assert finished.json["smallest_group"] == k
    assert desk.call(*check, "--k", k + 1).json["findings"][0]["holds"] is False


def test_pycanon_agrees_on_our_release(released):
    import pandas as pd
    from pycanon import anonymity

    frame = pd.read_csv(released / "census.release.csv", dtype=str)
    figures = released.call(
        "check", "census.release.csv", "--k", 5, *FLAGS, "--measure", "--json"
    ).json
    measured = next(f["figures"] for f in figures["findings"] if f["name"] == "measured")
    ours = measured["columns"]["diagnosis"]
    assert measured["k"] == anonymity.k_anonymity(frame, QUASI)
    assert ours["l_distinct"] == anonymity.l_diversity(frame, QUASI, ["diagnosis"])
    assert ours["t_equal"] == pytest.approx(anonymity.t_closeness(frame, QUASI, ["diagnosis"]))
    assert ours["alpha"] == pytest.approx(
        anonymity.alpha_k_anonymity(frame, QUASI, ["diagnosis"])[0]
    )
