"""The papers' own names of methods and guarantees: in flags, job files and Python."""

import csv
import tomllib

import pytest

import incrowd as ic
from incrowd.errors import IncrowdError
from incrowd.job.job import Job

METHODS = {
    "gkaa": ("greedy", {"preset": "gkaa"}),
    "pgkaa": ("greedy", {"preset": "pgkaa"}),
    "pgpkaa": ("greedy", {"preset": "pgpkaa", "processors": 4}),
    "h-pgpkaa": ("greedy", {"preset": "h-pgpkaa", "processors": 4}),
    "mondrian": ("mondrian", {}),
    "mce": ("adaptive", {"search": "cover", "cover": "mce"}),
    "rbat": ("rbat", {}),
    "mr-rbat": ("rbat", {}),
}
GUARANTEES = {
    "smooth-k-anonymity": "smooth",
    "k-majority": "majority",
    "adaptive-k-anonymity": "adaptive",
}


def mapping_of(method):
    """A job under which a method searches, as a job file states it."""
    mapping = {"guarantee": {"k": 5}, "method": {"name": method}}
    if method in ("rbat", "mr-rbat"):
        more = {"guarantee": {"name": "km", "k": 5, "m": 2}, "rules": {"sensitive_items": "s"}}
        return {**mapping, **more, "data": "visits.dat"}
    mapping["roles"] = {"age": "quasi-identifying"}
    if method == "mce":
        mapping["guarantee"]["name"] = "adaptive"
    if "pgpkaa" in method:
        mapping["method"]["processors"] = 4
    return mapping


@pytest.mark.parametrize("name", METHODS)
def test_a_method_in_a_job_file_and_in_python(name):
    meant, settings = METHODS[name]
    job = Job.from_mapping(mapping_of(name))
    assert job.method.name == meant
    for field, value in settings.items():
        assert getattr(job.method, field) == value
    # what is saved has the names of this program
    saved = job.to_mapping()["method"]
    assert saved["name"] == meant
    assert saved.items() >= settings.items()
    processors = {"processors": 4} if "processors" in settings else {}
    stated = ic.Job(
        schema=job.schema,
        guarantee=job.guarantee,
        method={"name": name.upper(), **processors},
        data=job.data,
        rules=job.rules,
    )
    assert stated.method == job.method


@pytest.mark.parametrize("name", GUARANTEES)
def test_a_guarantee_in_a_job_file_and_in_python(name):
    shape = {"roles": {"age": "quasi-identifying"}} if "adaptive" in name else {"data": "a.dat"}
    for stated in (name, name.title()):
        job = Job.from_mapping({"guarantee": {"name": stated, "k": 4}, **shape})
        assert job.guarantee.name == GUARANTEES[name]
        assert job.to_mapping()["guarantee"]["name"] == GUARANTEES[name]
    again = ic.Job(schema=job.schema, guarantee={"name": name, "k": 4}, data=job.data)
    assert again.guarantee == job.guarantee


@pytest.mark.parametrize(
    ("method", "flag"),
    [("pgpkaa", "--processors"), ("mce", "--guarantee adaptive"), ("rbat", "--guarantee rules")],
)
def test_what_is_missing_is_told_by_its_flag(method, flag):
    mapping = {"roles": {"age": "quasi-identifying"}, "guarantee": {"k": 5}}
    with pytest.raises(IncrowdError) as caught:
        Job.from_mapping({**mapping, "method": {"name": method}})
    assert flag in f"{caught.value.what} {caught.value.remedy}"


def test_flags_take_the_names_and_the_saved_job_has_ours(desk):
    rows = [[str(20 + place % 30), "fm"[place % 2]] for place in range(60)]
    with (desk.folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "sex"], *rows])
    words = ["run", "t.csv", "--k", "3", "--quasi", "age,sex", "--force"]
    words += ["--method", "H-PGPkAA", "--processors", "4", "--reorganize", "scheme-1"]
    assert desk.call(*words, "--save-job", "job.toml").status == 0
    method = tomllib.loads((desk.folder / "job.toml").read_text())["method"]
    assert method["name"] == "greedy"
    assert method["preset"] == "h-pgpkaa"
    assert method["reorganize"] == "levels-last"
    lists = "\n".join(f"{place % 4} {4 + place % 3}" for place in range(40))
    (desk.folder / "a.dat").write_text(lists + "\n")
    words = ["run", "a.dat", "--k", "4", "--guarantee", "smooth-k-anonymity", "--force"]
    assert desk.call(*words, "--save-job", "job.toml").status == 0
    saved = tomllib.loads((desk.folder / "job.toml").read_text())
    assert saved["guarantee"]["name"] == "smooth"
    release = str(next(desk.folder.glob("a.release*")))
    checked = desk.call("check", release, "--guarantee", "k-majority", "--k", "4", "--json")
    assert checked.json["guarantee"]["name"] == "majority"
