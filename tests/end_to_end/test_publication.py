"""A release and what lies beside it get their names together, or what was there comes back."""

import pytest

from incrowd.errors import InputError
from incrowd.flow.publication import Publication

ROLES = ["--quasi", "age,sex,zip", "--sensitive", "diagnosis"]
DOCUMENTS = ["--report", "page.html", "--certificate", "certificate.json", "--save-job", "job.toml"]

RUNS = {
    "table": (
        ["run", "census.csv", "--k", 4, *ROLES, "--method", "mondrian", "-o", "out.csv"],
        ["--key", "private/key.csv", "--save-policy", "private/policy", *DOCUMENTS],
    ),
    "out of core": (
        ["run", "census.csv", "--k", 4, *ROLES, "--method", "mondrian", "-o", "out.csv"],
        ["--memory", "1MB", "--certificate", "certificate.json", "--save-job", "job.toml"],
    ),
    "sets": (
        ["run", "lists.dat", "--k", 2, "--method", "mondrian", "-o", "out.dat"],
        ["--key", "private/key.csv", *DOCUMENTS],
    ),
    "transactions": (
        [
            *("run", "visits.dat", "--k", 2, "--confidence", 0.9, "--mine-rules", 1),
            *("--sensitive-items", "h", "-o", "out.dat"),
        ],
        ["--key", "private/key.csv", "--save-rules", "private/rules.txt", *DOCUMENTS],
    ),
}
STORES = {
    "table": "incrowd.flow.tables.TableFile.publish",
    "out of core": "incrowd.flow.out_of_core.OutOfCoreFile.publish",
    "sets": "incrowd.flow.sets.SetFile.publish",
    "transactions": "incrowd.flow.sets.SetFile.publish",
}


@pytest.fixture
def full_desk(desk):
    (desk / "private").mkdir()
    (desk / "lists.dat").write_text("a b\na b c\nb c\na\nb d\nc d\n" * 3)
    (desk / "visits.dat").write_text("b c e g h\na c d i j\na f l\nb e g h\nd f l\n" * 2)
    return desk


def fail(*_, **__):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("shape", RUNS)
def test_with_force_a_failed_publication_brings_everything_back(full_desk, monkeypatch, shape):
    command, documents = RUNS[shape]
    first = full_desk.call(*command, *documents)
    assert first.status == 0, first.err
    before = full_desk.files()
    monkeypatch.setattr(STORES[shape], fail)
    again = full_desk.call(*command, *documents, "--force", "--seed", 9)
    assert again.status == 2, again.err
    assert "No space left" in again.err
    assert full_desk.files() == before


@pytest.mark.slow
@pytest.mark.parametrize("shape", RUNS)
def test_without_force_a_failed_publication_leaves_nothing(full_desk, monkeypatch, shape):
    command, documents = RUNS[shape]
    before = full_desk.files()
    monkeypatch.setattr(STORES[shape], fail)
    assert full_desk.call(*command, *documents).status == 2
    assert full_desk.files() == before


def test_what_beside_a_release_of_sets_was_placed_first_is_taken_back(full_desk, monkeypatch):
    """The mapping beside transactions gets its name before the release, which then fails."""
    from incrowd.flow import publication

    place, before = publication.Publication.place, full_desk.files()

    def place_but_the_release(self, temporary, final, **more):
        if final.name == "out.dat":
            fail()
        place(self, temporary, final, **more)

    monkeypatch.setattr(publication.Publication, "place", place_but_the_release)
    assert full_desk.call(*RUNS["transactions"][0]).status == 2
    assert full_desk.files() == before


def test_a_publication_writes_over_files_only_by_force(tmp_path):
    (tmp_path / "mine").write_text("mine")
    publication = Publication(force=False)
    publication.write(tmp_path / "new", "new")
    with pytest.raises(InputError, match="already exists"), publication:
        publication.write(tmp_path / "mine", "yours")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"mine": "mine"}
    with Publication(force=True) as publication:
        publication.write(tmp_path / "mine", "yours")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"mine": "yours"}


def test_a_folder_that_is_not_ours_is_never_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    with (
        pytest.raises(InputError, match="not a folder that incrowd wrote"),
        Publication(force=True) as publication,
    ):
        publication.place_folder(
            lambda folder: (folder / "new").write_text("new"),
            tmp_path / "folder",
            is_replaceable=lambda folder: (folder / "new").is_file(),
        )
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["mine"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_interrupt_right_after_a_file_got_its_name_undoes_it_too(tmp_path, monkeypatch):
    from incrowd.flow import publication

    real = publication.publish

    def interrupted(*arguments, **more):
        real(*arguments, **more)
        raise KeyboardInterrupt

    (tmp_path / "mine").write_text("mine")
    monkeypatch.setattr(publication, "publish", interrupted)
    for name, force in (("new", False), ("mine", True)):
        publishing = Publication(force=force)
        with pytest.raises(KeyboardInterrupt), publishing:
            publishing.write(tmp_path / name, "yours")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"mine": "mine"}
