"""Bad input gets a clear error, exit status 2, and nothing is written."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

OK = ["--k", "3", "--quasi", "age,sex", "--sensitive", "diagnosis"]


def table(desk, text, name="bad.csv", encoding="utf-8"):
    (desk / name).write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return name


def rows(*lines):
    return "age,sex,diagnosis\n" + "".join(f"{line}\n" for line in lines)


GOOD_LINES = [f"{20 + row % 5},{'fm'[row % 2]},flu" for row in range(40)]

FILES = {
    "empty file": "",
    "header only": "age,sex,diagnosis\n",
    "short row": rows(*GOOD_LINES, "30,f"),
    "long row": rows(*GOOD_LINES, "30,f,flu,extra"),
    "wrong encoding": rows(*GOOD_LINES, "30,f,Michał").encode("cp1250"),
    "duplicate column": "age,sex,age,diagnosis\n1,f,1,x\n",
    "empty column name": "age,,diagnosis\n1,f,x\n",
    "NUL byte": rows(*GOOD_LINES, "3\x000,f,flu"),
    "a star": rows(*GOOD_LINES, "*,f,flu"),
    "a starred diagnosis": rows(*GOOD_LINES, "30,f,*"),
    "one text among numbers": rows(*GOOD_LINES, "thirty,f,flu"),
    "a cell of 10 MB": rows(*GOOD_LINES, "30,f," + "x" * 10_000_000),
    "100,000 columns": ",".join(f"c{n}" for n in range(100_000)) + "\n" + "1," * 99_999 + "1\n",
}


def refused(desk, *arguments, status=2):
    """Run, and return the message; nothing may have been written or changed."""
    before = desk.files()
    finished = desk.call(*arguments)
    assert finished.status == status, (finished.status, finished.out, finished.err)
    assert desk.files() == before
    assert not finished.out
    assert "Traceback" not in finished.err
    assert finished.err.strip()
    return finished.err


@pytest.mark.parametrize("case", FILES)
def test_bad_files(desk, case):
    message = refused(desk, "run", table(desk, FILES[case]), *OK)
    assert "bad.csv" in message or "column" in message


def test_bad_files_name_the_place_and_the_remedy(desk):
    assert "42" in refused(desk, "run", table(desk, FILES["short row"]), *OK)
    assert "--encoding" in refused(desk, "run", table(desk, FILES["wrong encoding"]), *OK)
    message = refused(desk, "run", table(desk, FILES["one text among numbers"]), *OK)
    assert "--missing-values" in message
    assert "41" in message
    assert "thirty" not in message  # values are for those who ask for them
    shown = refused(desk, "run", table(desk, FILES["one text among numbers"]), *OK, "--show-values")
    assert "thirty" in shown


def test_missing_file_and_folder(desk):
    assert "nowhere.csv" in refused(desk, "run", "nowhere.csv", *OK)
    refused(desk, "run", "hierarchies", *OK)


def test_corrupt_files(desk):
    packed = gzip.compress((desk / "census.csv").read_bytes())
    refused(desk, "run", table(desk, packed[: len(packed) // 2], "half.csv.gz"), *OK)
    refused(desk, "run", table(desk, b"PAR1 no parquet PAR1", "no.parquet"), *OK)


def test_nested_parquet(desk):
    pq.write_table(pa.table({"age": [[1], [2]], "sex": ["f", "m"]}), desk / "nested.parquet")
    assert "age" in refused(desk, "run", "nested.parquet", "--k", "2", "--quasi", "age,sex")


def test_unknown_words_name_the_near_ones(desk):
    run = ["run", "census.csv"]
    assert "'education'" in refused(desk, *run, "--k", 3, "--quasi", "age,eduction")
    assert "'greedy'" in refused(desk, *run, *OK, "--method", "greedi")
    assert "'k-anonymity'" in refused(desk, *run, *OK, "--guarantee", "k-anonimity")
    assert "'metric'" in refused(desk, *run, *OK, "--set", "method.metrik=4")
    (desk / "job.toml").write_text('data = "census.csv"\n[roles]\nage = "quasi"\n')
    assert "'quasi-identifying'" in refused(desk, "run", "job.toml", "--k", 3)
    assert "nllm" in refused(desk, *run, *OK, "--metric", "nlm")


def test_statuses_reach_the_shell(desk):
    assert desk.call("run", "nowhere.csv", *OK).status == 2
    assert desk.call("run", "census.csv", "--no-such-flag").status == 2
    assert desk.incrowd("run", "census.csv", *OK[2:], "--k", 9_999).status == 3
    assert desk.call("nothing").status == 2


@pytest.mark.parametrize("k", ["1", "0", "-3", "2.5", "many"])
def test_bad_k(desk, k):
    refused(desk, "run", "census.csv", "--k", k, "--quasi", "age")


def test_k_must_be_stated(desk):
    assert "--k" in refused(desk, "run", "census.csv", "--quasi", "age")


def test_one_role_per_column(desk):
    message = refused(desk, "run", "census.csv", "--k", 3, "--quasi", "age", "--sensitive", "age")
    assert "quasi-identifying and sensitive" in message


def test_outputs_are_guarded(desk):
    assert "input" in refused(desk, "run", "census.csv", *OK, "-o", "census.csv", "--force")
    (desk / "there.csv").write_text("precious")
    assert "--force" in refused(desk, "run", "census.csv", *OK, "-o", "there.csv")
    refused(desk, "run", "census.csv", *OK, "-o", "no/such/folder.csv")
    refused(desk, "run", "census.csv", *OK, "-o", "hierarchies")
    refused(desk, "run", "census.csv", *OK, "-o", "release.docx")
    refused(desk, "run", "census.csv", *OK, "-o", "/sys/release.csv")
    assert "folder" in refused(desk, "run", "census.csv", *OK, "-o", "r.csv", "--key", "key.csv")


HIERARCHIES = {
    "without some values": ("f;person;*\n", "m"),
    "two roots": ("f;a\nm;b\n", "root"),
    "a cycle": ("f;m;f;*\nm;x;y;*\n", ""),
    "two parents": ("f;a;b;*\nm;a;c;*\n", "parent"),
    "a star as leaf": ("f;*\nm;*\n*;*\n", ""),
    "contradicting leaves": ("f;a;*\nf;b;*\nm;a;*\n", "f"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("case", HIERARCHIES)
def test_bad_hierarchies(desk, case):
    text, word = HIERARCHIES[case]
    (desk / "bad.csv").write_text(text)
    name = table(desk, rows(*GOOD_LINES), "small.csv")
    message = refused(desk, "run", name, *OK, "--hierarchy", "sex=bad.csv", "--show-values")
    assert "sex" in message
    assert word in message


def test_bad_tree_files(desk):
    name = table(desk, rows(*GOOD_LINES), "small.csv")
    (desk / "sex.json").write_text("{not json")
    refused(desk, "run", name, *OK, "--hierarchy", "sex=sex.json")
    refused(desk, "run", name, *OK, "--hierarchy", "sex=nowhere.csv")
    refused(desk, "run", name, *OK, "--hierarchy", "age=intervals:5,7")
    refused(desk, "run", name, *OK, "--hierarchy", "sex=intervals:5")


def test_infeasible_jobs_name_the_nearest_setting(desk):
    run = ["run", "census.csv", "--quasi", "age,sex", "--sensitive", "diagnosis"]
    assert "1500" in refused(desk, *run, "--k", 1501, status=3).replace(",", "")
    message = refused(desk, *run, "--k", 3, "--l", 500, status=3)
    n_values = len({row["diagnosis"] for row in desk.rows("census.csv")})
    assert str(n_values) in message
    refused(desk, *run, "--k", 3, "--l", 60, "--l-kind", "entropy", status=3)
    refused(desk, *run, "--k", 3, "--t", -0.1)


def test_insensitive_columns_that_point_at_people(desk):
    run = ["run", "census.csv", "--k", 3, "--quasi", "age", "--sensitive", "diagnosis"]
    assert "--accept-insensitive" in refused(desk, *run, "--insensitive", "id")
    accepted = desk.call(*run, "--insensitive", "id", "--accept-insensitive", "id")
    assert accepted.status == 0, accepted.err


def test_formulas_are_kept_and_warned_of(desk):
    name = table(desk, rows(*GOOD_LINES, *["21,f,=cmd()"] * 5), "formula.csv")
    finished = desk.call("run", name, *OK)
    assert finished.status == 0, finished.err
    assert "formula" in finished.err
    assert "=cmd()" in (desk / "formula.release.csv").read_text()
