"""Adaptive anonymity from the command line, recounted with the csv module and plain Python."""

import csv
import random

import pytest

QUASI = ["sex", "education", "marital_status", "occupation"]
FLAGS = ["--guarantee", "adaptive", "--quasi", ",".join(QUASI), "--sensitive", "diagnosis"]
QUICK = ["--effort", "300"]


def written(desk, name, rows):
    with (desk / name).open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, list(rows[0]))
        lines.writeheader()
        lines.writerows(rows)


@pytest.fixture
def people(desk):
    """Three hundred people of the census, each with a k from 1 to 12."""
    random.seed(5)
    rows = desk.rows("census.csv")[:300]
    for row in rows:
        row["k"] = str(random.choice([1, 2, 3, 5, 12]))
    written(desk, "people.csv", rows)
    (desk / "private").mkdir()
    return desk


def pairs(desk, released, key):
    """Return (original row, released row) of everybody, by the key file."""
    original, shown = desk.rows("people.csv"), desk.rows(released)
    lines = desk.rows(key)
    return [
        (original[int(x["original_row"]) - 1], shown[int(x["released_row"]) - 1]) for x in lines
    ]


def is_compatible(person, row, columns=QUASI):
    return all(row[column] in ("*", person[column]) for column in columns)


def crowds(everybody, columns=QUASI):
    """Return the literal and the mutual crowd of each person, themselves included."""
    literal, mutual = [], []
    for person, row in everybody:
        could_be = [is_compatible(person, other, columns) for _, other in everybody]
        back = [is_compatible(somebody, row, columns) for somebody, _ in everybody]
        literal.append(sum(could_be))
        mutual.append(sum(a and b for a, b in zip(could_be, back, strict=True)))
    return literal, mutual


def run(desk, *flags, output="own.csv", key="private/own.csv"):
    return desk.call("run", "people.csv", *FLAGS, *flags, "-o", output, "--key", key, "--json")


def test_everybody_gets_their_own_crowd(people):
    finished = run(people, "--k-column", "k", *QUICK, "--save-job", "job.toml")
    assert finished.status == 0, finished.err
    audit = finished.json
    everybody = pairs(people, "own.csv", "private/own.csv")
    literal, mutual = crowds(everybody)
    for (person, row), n_literal, n_mutual in zip(everybody, literal, mutual, strict=True):
        assert is_compatible(person, row)
        assert row["diagnosis"] == person["diagnosis"]
        assert n_literal >= int(person["k"])
        assert n_mutual >= int(person["k"])
    findings = {finding["name"]: finding for finding in audit["findings"]}
    assert findings["mutual compatibility"]["figures"]["smallest_crowd"] == min(mutual)
    assert findings["literal compatibility"]["figures"]["smallest_crowd"] == min(literal)
    assert findings["posterior"]["figures"]["n_over"] == 0
    assert findings["posterior"]["figures"]["n_estimated"] == 0  # a partition needs no estimate
    n_stars = sum(row[column] == "*" for _, row in everybody for column in QUASI)
    assert audit["losses"]["suppressed_cells"] == pytest.approx(n_stars / (300 * 4))
    assert "k" not in people.rows("own.csv")[0]
    # the saved job makes the same bytes, on another number of threads too
    first = (people / "own.csv").read_bytes()
    again = people.call(
        "run", "job.toml", "-o", "again.csv", "--key", "private/again.csv", "--threads", "1"
    )
    assert again.status == 0, again.err
    assert (people / "again.csv").read_bytes() == first


def test_check_proves_the_release_and_refuses_a_star_less(people):
    assert run(people, "--k-column", "k", *QUICK, "--save-job", "job.toml").status == 0
    owner = ["--original", "people.csv", "--key", "private/own.csv"]
    checked = people.call("check", "own.csv", "--job", "job.toml", *owner)
    assert checked.status == 0, checked.out + checked.err
    # a person whose crowd is as small as their wish, with a masked cell shown again
    everybody = pairs(people, "own.csv", "private/own.csv")
    _, mutual = crowds(everybody)
    tight = [
        place
        for place, (person, row) in enumerate(everybody)
        if mutual[place] == int(person["k"]) and "*" in (row[column] for column in QUASI)
    ]
    person, _ = everybody[tight[0]]
    rows = people.rows("own.csv")
    masked = rows[tight[0]]
    for column in QUASI:
        if masked[column] == "*":
            masked[column] = person[column]
            break
    written(people, "broken.csv", rows)
    refused = people.call("check", "broken.csv", "--job", "job.toml", *owner)
    assert refused.status == 1, refused.out
    assert "does not hold" in refused.out


def test_nobody_but_the_owner_can_check(people):
    assert run(people, "--k-column", "k", *QUICK).status == 0
    for flags in ([], ["--original", "people.csv"]):
        checked = people.call(
            "check", "own.csv", "--guarantee", "adaptive", "--k", "3", "--quasi", ",".join(QUASI),
            "--sensitive", "diagnosis", *flags,
        )  # fmt: skip
        assert checked.status == 2
        assert "--key" in checked.err


@pytest.mark.parametrize("wrong", ["", "many", "-3", "0", "2.5", "99999999999"])
def test_a_k_that_is_no_number_is_refused(people, wrong):
    rows = people.rows("people.csv")
    rows[6]["k"] = wrong
    written(people, "people.csv", rows)
    before = people.files()
    finished = run(people, "--k-column", "k")
    assert finished.status == 2
    assert "row 7" in finished.err
    assert "many" not in finished.err
    assert people.files() == before


def test_a_crowd_larger_than_the_table_is_infeasible(people):
    rows = people.rows("people.csv")
    rows[6]["k"] = rows[9]["k"] = "301"
    written(people, "people.csv", rows)
    finished = run(people, "--k-column", "k")
    assert finished.status == 3
    assert "2 of 300 rows" in finished.err


def test_rules_state_k_and_sensitive_ones_need_consent(people):
    rule = "12 where diagnosis = flu and sex in (F, M)"
    refused = run(people, "--k", "2", "--k-rule", rule)
    assert refused.status == 2
    assert "--k-from-sensitive" in refused.err
    both = run(people, "--k-column", "k", "--k-rule", "3 where sex = F")
    assert both.status == 2
    rules = ["--k-rule", "9 where education = Bachelors", "--k-rule", "4 where sex = F"]
    finished = run(people, "--k", "2", *rules, *QUICK)
    assert finished.status == 0, finished.err
    everybody = pairs(people, "own.csv", "private/own.csv")
    _, mutual = crowds(everybody)
    for (person, _), crowd in zip(everybody, mutual, strict=True):
        wish = 9 if person["education"] == "Bachelors" else 4 if person["sex"] == "F" else 2
        assert crowd >= wish
    owner = ["--original", "people.csv", "--key", "private/own.csv"]
    checked = people.call("check", "own.csv", *FLAGS, "--k", "2", *rules, *owner)
    assert checked.status == 0, checked.out + checked.err
    stricter = people.call("check", "own.csv", *FLAGS, "--k", "60", *rules, *owner)
    assert stricter.status == 1


def test_rules_on_sensitive_columns_are_measured(people):
    values = {row["diagnosis"] for row in people.rows("people.csv")}
    rule = f'12 where diagnosis = "{sorted(values)[0]}"'
    finished = run(people, "--k", "2", "--k-rule", rule, "--k-from-sensitive", *QUICK)
    assert finished.status == 0, finished.err
    names = [finding["name"] for finding in finished.json["findings"]]
    assert "stars tell" in names


def test_numbers_are_cut_into_bins_and_rules_see_them_whole(people):
    flags = ["--quasi", "age,sex", "--k", "2", "--k-rule", "10 where age >= 75", *QUICK]
    finished = run(people, *flags, "--save-job", "job.toml")
    assert finished.status == 0, finished.err
    ages = {row["age"] for row in people.rows("own.csv")} - {"*"}
    assert len(ages) <= 10
    assert ages <= {row["age"] for row in people.rows("people.csv")}
    assert any("median" in note for note in finished.json["notes"])
    owner = ["--original", "people.csv", "--key", "private/own.csv"]
    assert people.call("check", "own.csv", "--job", "job.toml", *owner).status == 0
    uncut = people.call("check", "own.csv", *FLAGS, *flags[:-2], *owner)
    assert uncut.status in (1, 2)  # medians are not the people's own ages
    kept = run(people, *flags, "--bins", "age=0", output="kept.csv", key="private/kept.csv")
    assert kept.status == 0, kept.err


def run_bits(desk, columns, *flags):
    """Release bits as stated; return the audit's figures of what the file shows."""
    key = f"private/{columns}.csv"
    flags = ["--k-column", "k", "--mask", "bit", "--posterior", "report", *flags]
    finished = run(
        desk, *flags, "--bit-columns", columns, "--save-job", f"{columns}.toml",
        output=f"{columns}.csv", key=key,
    )  # fmt: skip
    assert finished.status == 0, finished.err
    assert "compatibility" in finished.json["guarantee"]["claim"]
    owner = ["--original", "people.csv", "--key", key]
    checked = desk.call("check", f"{columns}.csv", "--job", f"{columns}.toml", *owner, "--json")
    assert checked.status == 0, checked.out + checked.err
    found = [
        next(item["figures"] for item in audit["findings"] if item["name"] == "cells shown")
        for audit in (finished.json, checked.json)
    ]
    assert found[0] == found[1]
    return found[0]


@pytest.fixture
def few(people):
    """A hundred of the people."""
    written(people, "people.csv", people.rows("people.csv")[:100])
    return people


def by_bits(desk, columns):
    """Return (original row with its bits, released row) of everybody, and the released bits."""
    bits = [name for name in desk.rows(f"{columns}.csv")[0] if "=" in name]
    everybody = []
    for person, row in pairs(desk, f"{columns}.csv", f"private/{columns}.csv"):
        coded = {name: str(int(person[name.split("=")[0]] == name.split("=")[1])) for name in bits}
        everybody.append(({**person, **coded}, row))
    return everybody, bits


def test_bits_by_the_cover_all_or_those_that_are_shown(few):
    values = {f"{name}={row[name]}" for row in few.rows("people.csv") for name in QUASI}
    n_ones_of_all = {}
    for columns in ("all", "shown"):
        figures = run_bits(few, columns)
        everybody, bits = by_bits(few, columns)
        ones = {name: sum(row[name] == "1" for _, row in everybody) for name in bits}
        if columns == "all":
            n_ones_of_all = ones
            assert set(bits) == values
            assert 0 in ones.values()  # or this table shows nothing of the difference
        else:
            assert set(bits) == {name for name, n_ones in n_ones_of_all.items() if n_ones}
        assert {row[name] for _, row in everybody for name in bits} <= {"0", "1", "*"}
        n_shown = sum(row[name] != "*" for _, row in everybody for name in bits)
        assert figures["n_cells"] == 100 * len(values)
        assert figures["n_shown"] == n_shown
        assert figures["shown"] == pytest.approx(n_shown / (100 * len(values)), abs=1e-6)
        assert (figures["n_values"], figures["n_values_shown"]) == (400, sum(ones.values()))
        assert figures["n_columns_left_out"] == len(values) - len(bits)
        assert figures["n_columns_without_1"] == list(ones.values()).count(0)
        literal, mutual = crowds(everybody, bits)
        for (person, _), n_literal, n_mutual in zip(everybody, literal, mutual, strict=True):
            assert min(n_literal, n_mutual) >= int(person["k"])


def test_decoded_bits_show_a_value_where_its_1_is_shown(few):
    figures = run_bits(few, "decoded", "--rounds", "3")
    run_bits(few, "all", "--rounds", "3")
    decoded = pairs(few, "decoded.csv", "private/decoded.csv")
    of_person = {person["id"]: row for person, row in by_bits(few, "all")[0]}
    assert set(few.rows("decoded.csv")[0]) == {*QUASI, "diagnosis"}
    for person, row in decoded:
        for name in QUASI:
            is_one = of_person[person["id"]][f"{name}={person[name]}"] == "1"
            assert row[name] == (person[name] if is_one else "*")
    n_shown = sum(row[name] != "*" for _, row in decoded for name in QUASI)
    assert 0 < n_shown < 400
    assert (figures["n_cells"], figures["n_shown"]) == (400, n_shown)
    literal, mutual = crowds(decoded)
    for (person, _), n_literal, n_mutual in zip(decoded, literal, mutual, strict=True):
        assert min(n_literal, n_mutual) >= int(person["k"])
    # a check refuses a decoded file in which a masked cell is shown that was never shown
    rows = few.rows("decoded.csv")
    place, name = next(
        (place, name) for place, row in enumerate(rows) for name in QUASI if row[name] == "*"
    )
    line = next(
        line for line in few.rows("private/decoded.csv") if int(line["released_row"]) == place + 1
    )
    person = few.rows("people.csv")[int(line["original_row"]) - 1]
    others = {row[name] for row in few.rows("people.csv")} - {person[name]}
    rows[place][name] = min(others)
    written(few, "wrong.csv", rows)
    owner = ["--original", "people.csv", "--key", "private/decoded.csv"]
    assert few.call("check", "wrong.csv", "--job", "decoded.toml", *owner).status == 1


def test_a_cover_over_the_bound_is_refused_unless_reported(people):
    flags = ["--k-column", "k", "--search", "cover", "--sweeps", "0"]
    refused = run(people, *flags)
    assert refused.status == 4
    assert "posterior" in refused.err
    assert not (people / "own.csv").exists()
    reported = run(people, *flags, "--posterior", "report")
    assert reported.status == 0, reported.err
    posterior = next(x for x in reported.json["findings"] if x["name"] == "posterior")
    assert posterior["holds"] is None
    assert posterior["figures"]["n_over"] > 0
    assert posterior["figures"]["worst_p_times_k"] > 1


def test_missing_cells_are_values_or_masked(people):
    rows = people.rows("people.csv")
    for row in rows[::10]:
        row["education"] = ""
    for row in rows[5::10]:
        row["education"] = "?"
    written(people, "people.csv", rows)
    flags = ["--k", "3", "--missing-values", "?", *QUICK]
    finished = run(people, *flags)
    assert finished.status == 0, finished.err
    assert {"", "?"} & {row["education"] for row in people.rows("own.csv")}
    masked = run(people, *flags, "--missing", "suppress", output="m.csv", key="private/m.csv")
    assert masked.status == 0, masked.err
    assert not {"", "?"} & {row["education"] for row in people.rows("m.csv")}


def test_one_k_for_all_and_the_bridge_to_stars_as_values(people):
    finished = run(people, "--k", "4", "--as-value", *QUICK)
    assert finished.status == 0, finished.err
    sizes = people.group_sizes("own.csv", QUASI)
    assert min(sizes.values()) >= 4
    assert any("more than" in note for note in finished.json["notes"])
    settings = finished.json["method"]["parameters"]
    assert settings["shown_as_wildcard"] >= settings["shown"]
    checked = people.call(
        "check", "own.csv", "--k", "4", "--quasi", ",".join(QUASI), "--sensitive", "diagnosis"
    )
    assert checked.status == 0, checked.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--hierarchy", "sex=auto"], "hierarchy"),
        (["--method", "cluster"], "adaptive"),
        (["--person", "id"], "person"),
        (["--mask", "bit", "--search", "partition"], "cover"),
        (["--bit-columns", "decoded"], "--mask bit"),
        (["--mask", "bit", "--bit-columns", "none"], "bit_columns"),
        (["--epsilon-weight", "0"], "epsilon"),
        (["--sweeps", "often"], "sweeps"),
        (["--memory", "lots"], "memory"),
        (["--bins", "sex=1"], "bins"),
        (["--bins", "sex=4"], "sex"),
        (["--l", "2"], "l"),
    ],
)
def test_what_does_not_fit_is_refused(people, flags, said):
    before = people.files()
    finished = run(people, "--k", "3", *flags)
    assert finished.status == 2, finished.err
    assert said in finished.err
    assert people.files() == before


def test_rules_hold_for_k_anonymity_too(people):
    flags = ["--quasi", ",".join(QUASI), "--sensitive", "diagnosis", "--k", "3"]
    flags += ["--k-rule", "25 where age >= 80"]
    finished = people.call(
        "run", "people.csv", *flags, "--method", "mondrian", "-o", "own.csv", "--key",
        "private/own.csv", "--json",
    )  # fmt: skip
    assert finished.status == 0, finished.err
    sizes = people.group_sizes("own.csv", QUASI)
    everybody = pairs(people, "own.csv", "private/own.csv")
    crowds_of_old = [
        sizes[tuple(row[column] for column in QUASI)]
        for person, row in everybody
        if int(person["age"]) >= 80
    ]
    assert min(crowds_of_old) >= 25
    assert 3 <= min(sizes.values()) < 25
    owner = ["--original", "people.csv", "--key", "private/own.csv"]
    assert people.call("check", "own.csv", *flags, *owner).status == 0
    stricter = [*flags[:-1], "300 where age >= 80"]
    assert people.call("check", "own.csv", *stricter, *owner).status == 1
    assert people.call("check", "own.csv", *flags).status == 2  # only the owner can


def assert_crowds(people, output, key):
    everybody = pairs(people, output, key)
    for (person, row), *sizes in zip(everybody, *crowds(everybody), strict=True):
        assert is_compatible(person, row)
        assert min(sizes) >= int(person["k"])


def test_parts_keep_everybodys_crowd_and_the_saved_job_repeats_them(people):
    finished = run(people, "--k-column", "k", "--partitions", 3, *QUICK, "--save-job", "job.toml")
    assert finished.status == 0, finished.err
    assert_crowds(people, "own.csv", "private/own.csv")
    said = finished.json
    assert said["method"]["parameters"]["partitions_searched"] == 3
    posterior = next(found for found in said["findings"] if found["name"] == "posterior")
    assert posterior["figures"]["n_over"] == posterior["figures"]["n_estimated"] == 0
    owner = ["--original", "people.csv", "--key", "private/own.csv"]
    assert people.call("check", "own.csv", "--job", "job.toml", *owner).status == 0
    again = people.call(
        "run", "job.toml", "-o", "again.csv", "--key", "private/again.csv", "--threads", "1"
    )
    assert again.status == 0, again.err
    assert (people / "again.csv").read_bytes() == (people / "own.csv").read_bytes()


def test_parts_that_would_not_bound_belief_are_refused(people):
    before = people.files()
    refused = run(people, "--k-column", "k", "--partitions", 3, "--search", "cover")
    assert refused.status == 2
    assert "does not bound it in the whole" in refused.err
    assert people.files() == before


@pytest.mark.spark
def test_spark_gives_the_bytes_of_this_machine(people, spark_engine):  # noqa: ARG001
    flags = ("--partitions", 2, "--search", "cover", "--rounds", 2, "--posterior", "report")
    here = run(people, "--k-column", "k", *flags)
    assert here.status == 0, here.err
    there = run(
        people,
        *("--k-column", "k", *flags, "--engine", "spark"),
        output="spark.csv",
        key="private/spark.csv",
    )
    assert there.status == 0, there.err
    assert there.json["engine"]["name"] == "spark"
    assert (people / "spark.csv").read_bytes() == (people / "own.csv").read_bytes()
