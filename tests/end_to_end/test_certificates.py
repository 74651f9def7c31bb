"""Certificates: what they say, what they keep to themselves, and what verifying them refuses."""

import hashlib
import hmac
import json
import re
import stat
import subprocess

import pytest

import incrowd as ic
from incrowd.checking.certificates import public_scalars, two_digits

FLAGS = ["--k", 5, "--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--method", "mondrian"]
PUBLIC = ["--certificate", "public.json", "--certificate-for", "public"]


def run(desk, *more, data="census.csv"):
    finished = desk.call("run", data, *FLAGS, "-o", "out.csv", "--json", *more)
    assert finished.status == 0, finished.err
    return finished.json


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_owners_has_everything(desk):
    audit = run(desk, "--certificate", "own.json")
    certificate = json.loads((desk / "own.json").read_text())
    for name in ("holds", "losses", "findings", "stages", "seconds", "seed", "quasi"):
        assert certificate[name] == audit[name], name
    assert certificate["input_sha256"] == sha256(desk / "census.csv")
    assert certificate["release_sha256"] == sha256(desk / "out.csv")
    assert 'name = "mondrian"' in certificate["job"]
    assert stat.S_IMODE((desk / "own.json").stat().st_mode) == 0o600
    assert desk.call("verify-certificate", "out.csv", "own.json").status == 0
    verified = desk.call("verify-certificate", "out.csv", "own.json", "--original", "census.csv")
    assert verified.status == 0
    assert "input_sha256" not in verified.out
    other = desk.call("verify-certificate", "out.csv", "own.json", "--original", "out.csv")
    assert other.status == 1
    assert "made from another original" in other.out


def test_the_public_one_is_of_the_release_alone(desk):
    text = (desk / "census.csv").read_text().splitlines()
    text[1] = re.sub(r"[^,]+", "zq-00017", text[1], count=2)  # id and name, which are removed
    (desk / "census.csv").write_text("\n".join(text) + "\n")
    audit = run(desk, "--certificate", "public.json", "--certificate-for", "public")
    written = (desk / "public.json").read_text()
    certificate = json.loads(written)
    assert set(certificate) == {
        *("kind", "format", "edition", "holds", "guarantee", "quasi", "reading", "findings"),
        *("scalars", "n_rows", "n_groups", "smallest_group", "method", "release_sha256"),
        *("input_commitment", "incrowd_version"),
    }
    assert "zq-00017" not in written
    assert audit["input_sha256"] not in written
    assert certificate["input_commitment"] == ""
    assert certificate["scalars"]["loss"] == two_digits(audit["losses"]["loss"])
    assert [finding["name"] for finding in certificate["findings"]] == [
        *("k-anonymity", "row numbers", "canonical order", "risk")
    ]
    assert stat.S_IMODE((desk / "public.json").stat().st_mode) == 0o644


def test_a_commitment_is_proven_by_its_key_alone(desk):
    (desk / "private").mkdir()
    run(desk, *PUBLIC, "--commitment-key", "private/c.key")
    certificate = json.loads((desk / "public.json").read_text())
    key = bytes.fromhex((desk / "private/c.key").read_text())
    digest = sha256(desk / "census.csv")
    assert certificate["input_commitment"] == hmac.new(key, digest.encode(), "sha256").hexdigest()
    assert len(key) == 32
    assert stat.S_IMODE((desk / "private/c.key").stat().st_mode) == 0o600
    verify = ["verify-certificate", "out.csv", "public.json", "--original", "census.csv"]
    assert desk.call(*verify, "--commitment-key", "private/c.key").status == 0
    assert desk.call(*verify).status == 2
    (desk / "private/c.key").write_text("00" * 32)
    assert desk.call(*verify, "--commitment-key", "private/c.key").status == 1
    (desk / "private/c.key").write_text("no key")
    assert desk.call(*verify, "--commitment-key", "private/c.key").status == 2


def test_signatures_are_openssls(desk):
    def openssl(*words):
        return subprocess.run(["openssl", *words], cwd=desk.folder, capture_output=True, check=True)

    for name in ("sign", "other"):
        openssl("genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem")
        openssl("pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub")
    run(desk, *PUBLIC, "--sign-key", "sign.pem")
    sig = ["-sigfile", "public.json.sig", "-in", "public.json"]
    openssl("pkeyutl", "-verify", "-pubin", "-inkey", "sign.pub", "-rawin", *sig)
    verify = ["verify-certificate", "out.csv", "public.json", "--public-key"]
    assert desk.call(*verify, "sign.pub").status == 0
    assert desk.call(*verify, "other.pub").status == 1
    assert desk.call(*verify, "census.csv").status == 2
    changed = (desk / "public.json").read_text().replace('"k": 5', '"k": 4')
    (desk / "public.json").write_text(changed)
    assert desk.call(*verify, "sign.pub").status == 1
    (desk / "public.json.sig").unlink()
    assert desk.call(*verify, "sign.pub").status == 1


def test_other_bytes_and_another_promise_are_told(desk):
    run(desk, *PUBLIC)
    assert desk.call("verify-certificate", "out.csv", "public.json").status == 0
    content = json.loads((desk / "public.json").read_text())
    content["guarantee"]["parameters"]["k"] = 50
    (desk / "claims.json").write_text(json.dumps(content))
    claimed = desk.call("verify-certificate", "out.csv", "claims.json", "--json")
    assert claimed.status == 1
    assert {f["name"] for f in claimed.json["findings"] if f["holds"] is False} >= {"found again"}
    lines = (desk / "out.csv").read_text().splitlines()
    (desk / "out.csv").write_text("\n".join(lines[:-1]) + "\n")
    shorter = desk.call("verify-certificate", "out.csv", "public.json", "--json")
    assert shorter.status == 1
    assert [f["holds"] for f in shorter.json["findings"] if f["name"] == "bytes"] == [False]


def forged(desk, **changes):
    """Write a certificate of the raw data that says what it likes."""
    names = desk.rows("census.csv")
    content = {
        "kind": "incrowd certificate",
        "format": 1,
        "edition": "public",
        "holds": True,
        "guarantee": {"name": "k-anonymity", "claim": "nobody is found", "parameters": {"k": 2}},
        "quasi": ["age", "sex", "zip"],
        "reading": {"quasi": ["age", "sex", "zip"], "sensitive": [], "missing_values": []},
        "findings": [{"name": "k-anonymity", "holds": True, "summary": "", "figures": {}}],
        "n_rows": len(names),
        "n_groups": 1,
        "smallest_group": len(names),
        "release_sha256": sha256(desk / "census.csv"),
    }
    content["reading"]["graph"] = "bipartite"
    for name, value in changes.items():
        section, _, inner = name.partition("__")
        if inner:
            content[section][inner] = value
        else:
            content[section] = value
    (desk / "forged.json").write_text(json.dumps(content))
    return desk.call("verify-certificate", "census.csv", "forged.json")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"guarantee__parameters": {"k": ["x"]}}, "not a whole number"),
        ({"guarantee__parameters": {"k": 5, "x": 1}}, "unknown field 'x'"),
        ({"guarantee__parameters": {}}, "k is not stated"),
        ({"guarantee__parameters": {"k": 2, "k_column": "wish"}}, "wish is the owner's"),
        ({"guarantee__parameters": {"k": 2, "t": 0.5, "t_kind": "hierarchical"}}, "sensitive"),
        ({"guarantee__name": "trust-me"}, "trust-me"),
        ({"guarantee__name": "adaptive"}, "compares people"),
        (
            {"guarantee": {"name": "node-dp", "claim": "", "parameters": {"epsilon": 1.0}}},
            "property of the mechanism",
        ),
        ({"reading__quasi": ["colour"], "quasi": ["colour"]}, "colour"),
        ({"reading__quasi": [], "quasi": []}, "no quasi-identifying column"),
        ({"findings": []}, "nothing that was found on the file alone"),
        ({"guarantee": "k = 5"}, "guarantee"),
        ({"guarantee": {"name": "k-anonymity"}}, "guarantee.claim"),
        ({"reading": {}}, "reading.quasi"),
        ({"findings": ["fine"]}, "findings"),
        ({"n_groups": "many"}, "n_groups"),
        ({"edition": "owner", "input_sha256": "", "job": "["}, "job"),
    ],
)
def test_what_cannot_be_checked_never_holds(desk, changes, told):
    refused = forged(desk, **changes)
    assert refused.status == 2, refused.out
    assert told in refused.err
    assert "holds" not in refused.out


def test_a_forged_claim_of_raw_data_does_not_hold(desk):
    assert forged(desk).status == 1
    assert forged(desk, guarantee__name="adaptive", release_sha256="0" * 64).status == 1
    one = {"quasi": ["sex"], "n_groups": 2, "smallest_group": 700}
    assert forged(desk, reading__quasi=["sex"], **one).status == 1


@pytest.mark.parametrize("name", ["quasi", "claim"])
def test_other_columns_and_another_claim_are_told(desk, name):
    run(desk, *PUBLIC)
    content = json.loads((desk / "public.json").read_text())
    if name == "quasi":
        content["quasi"].append("education")
    else:
        content["guarantee"]["claim"] = "nobody is found"
    (desk / "claims.json").write_text(json.dumps(content))
    claimed = desk.call("verify-certificate", "out.csv", "claims.json")
    assert claimed.status == 1
    assert name in claimed.out


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["owner", "public"])
@pytest.mark.parametrize(
    "words",
    [
        ["--k-column", "k"],
        ["--k-rule", "9 where age >= 70"],
        ["--person", "id"],
        [
            "--t",
            0.4,
            "--t-kind",
            "hierarchical",
            "--hierarchy",
            "diagnosis=hierarchies/diagnosis.csv",
        ],
    ],
)
def test_what_only_the_owner_can_check_is_told(desk, words, edition):
    run(desk, *words, "--certificate", "c.json", "--certificate-for", edition)
    refused = desk.call("verify-certificate", "out.csv", "c.json")
    assert refused.status == 2, refused.out
    assert "could not check" in refused.err
    assert "incrowd check" in refused.err
    assert desk.call("verify-certificate", "census.csv", "c.json").status == 1


def test_what_was_not_signed_and_not_checked_is_said(desk):
    run(desk, *PUBLIC)
    verified = desk.call("verify-certificate", "out.csv", "public.json")
    assert verified.status == 0
    assert verified.out.startswith("unsigned")
    told = desk.call("verify-certificate", "out.csv", "public.json", "--json").json["findings"]
    unchecked = next(finding for finding in told if finding["name"] == "not checked")
    assert unchecked["holds"] is None
    assert {"scalars", "method"} <= set(unchecked["figures"]["fields"])
    assert "input_commitment" in unchecked["figures"]["fields"]
    assert unchecked["figures"]["findings"] == ["risk"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("no json", "not JSON"),
        ("[1]", "not a certificate"),
        ('{"kind": "incrowd certificate", "format": 9}', "another format"),
        ('{"kind": "incrowd certificate", "format": 1}', "lacks edition"),
    ],
)
def test_what_is_no_certificate_is_refused(desk, content, told):
    (desk / "c.json").write_text(content)
    refused = desk.call("verify-certificate", "census.csv", "c.json")
    assert refused.status == 2
    assert told in refused.err


@pytest.mark.parametrize(
    "words",
    [
        ["--certificate", "c.txt"],
        ["--sign-key", "sign.pem"],
        ["--commitment-key", "c.key", "--certificate", "c.json"],
        ["--certificate", "c.json", "--certificate-for", "all"],
        ["--certificate", "c.json", "--sign-key", "census.csv"],
        ["--report", "same.html", "--report-for", "nobody"],
        ["--certificate", "missing/c.json"],
    ],
)
def test_contradictions_publish_nothing(desk, words):
    before = desk.files()
    refused = desk.call("run", "census.csv", *FLAGS, "-o", "out.csv", *words)
    assert refused.status == 2, refused.err
    assert desk.files() == before


def test_documents_are_taken_back_where_the_release_fails(desk, monkeypatch):
    before = desk.files()

    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("incrowd.flow.tables.TableFile.publish", fails)
    refused = desk.call("run", "census.csv", *FLAGS, "-o", "out.csv", *PUBLIC)
    assert refused.status == 2
    assert desk.files() == before


def test_an_existing_document_is_kept(desk):
    (desk / "public.json").write_text("mine")
    refused = desk.call("run", "census.csv", *FLAGS, "-o", "out.csv", *PUBLIC)
    assert refused.status == 2
    assert (desk / "public.json").read_text() == "mine"
    assert not (desk / "out.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "is_checked"),
    [
        (["lists.dat", "--guarantee", "smooth", "--k", 4], True),
        (["lists.dat", "--guarantee", "suppression", "--k", 4], True),
        (["visits.dat", "--k", 2, "--rules", "rules.txt", "--confidence", 0.9], False),
        (["lists.dat", "--guarantee", "edge-dp", "--epsilon", 3], False),
    ],
)
def test_certificates_of_sets(desk, words, is_checked):
    from benchmarks.sets.data import user_lists
    from incrowd.sets.files import write_sets

    write_sets(user_lists(120, 60, seed=1), desk / "lists.dat")
    visits = ["b c e g h", "a c d i j", "a f l", "b e g h", "d f l"] * 3
    (desk / "visits.dat").write_text("\n".join(visits) + "\n")
    (desk / "rules.txt").write_text("a c -> h\n")
    more = ["--sensitive-items", "h,i,j"] if "visits.dat" in words else []
    ran = desk.call("run", *words, *more, "-o", "out.dat", *PUBLIC)
    assert ran.status == 0, ran.err
    certificate = json.loads((desk / "public.json").read_text())
    assert bool(certificate["findings"]) == is_checked
    assert ("jaccard" in certificate["scalars"]) == is_checked
    verified = desk.call("verify-certificate", "out.dat", "public.json", "--json")
    if not is_checked:
        assert verified.status == 2
        assert "could not check" in verified.err
        return
    assert verified.status == 0, verified.out
    again = {finding["name"]: finding["holds"] for finding in verified.json["findings"]}
    assert again["found again"] is True


def test_sets_with_a_k_per_person_are_the_owners(desk):
    from benchmarks.sets.data import user_lists
    from incrowd.sets.files import write_sets

    write_sets(user_lists(120, 60, seed=1), desk / "lists.dat")
    (desk / "k.csv").write_text("row,k\n1,9\n")
    words = ["lists.dat", "--guarantee", "smooth", "--k", 4, "--row-k", "k.csv"]
    for edition in ("owner", "public"):
        named = ["--certificate", f"{edition}.json", "--certificate-for", edition]
        ran = desk.call("run", *words, "-o", "out.dat", "--force", *named)
        assert ran.status == 0, ran.err
        assert desk.call("verify-certificate", "out.dat", f"{edition}.json").status == 2


def test_rare_sensitive_items_are_no_mismatch(desk):
    visits = ["a b h", "a b", "a b", "b c", "b c i"]
    (desk / "visits.dat").write_text("\n".join(visits) + "\n")
    words = ["visits.dat", "--k", 2, "--m", 1, "--sensitive-items", "h,i"]
    ran = desk.call("run", *words, "-o", "out.dat", *PUBLIC)
    assert ran.status == 0, ran.err
    refused = desk.call("verify-certificate", "out.dat", "public.json")
    assert refused.status == 2
    assert "sensitive" in refused.err


def test_a_folder_has_a_certificate(desk):
    (desk / "parts").mkdir()
    (desk / "census.csv").rename(desk / "parts/census.csv")
    ran = desk.call("run", "parts", *FLAGS, "-o", "out.csv/", *PUBLIC)
    assert ran.status == 0, ran.err
    assert desk.call("verify-certificate", "out.csv/", "public.json").status == 0
    part = next((desk / "out.csv").glob("*.csv"))
    part.write_text(part.read_text() + part.read_text().splitlines()[1] + "\n")
    assert desk.call("verify-certificate", "out.csv/", "public.json").status == 1


def test_in_python(tmp_path):
    job = ic.Job(
        schema=ic.Schema(quasi=["age", "sex", "zip"], sensitive=["diagnosis"]),
        guarantee=ic.KAnonymity(5),
        method=ic.Mondrian(),
    )
    release = ic.anonymize(ic.sample_census(300), job)
    path = release.certificate(tmp_path / "c.json", edition="public")
    assert json.loads(path.read_text())["release_sha256"] == release.audit.release_sha256
    with pytest.raises(ic.InputError, match="already exists"):
        release.certificate(path)
    with pytest.raises(ic.InputError, match="not kept"):
        ic.Release(None, release.audit).certificate(tmp_path / "other.json")


def test_scalars_are_a_closed_list_of_two_digits():
    losses = {"loss": 0.123456, "ncp": 0.5, "are_subsets": 12345.6, "created": 0.0}
    assert public_scalars("k-anonymity", losses) == {"loss": 0.12, "created": 0.0, "are": 12000.0}
    assert public_scalars("edge-dp", {"jaccard": 0.5}) == {}
