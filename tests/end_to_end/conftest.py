"""A folder with a small census, and the command line in it."""

import csv
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from command_line import Finished, call, incrowd
from incrowd.samples import write_sample


@dataclass
class Desk:
    """A user's folder."""

    folder: Path

    def __truediv__(self, name):
        return self.folder / name

    def incrowd(self, *arguments, env=None) -> Finished:
        return incrowd(*arguments, folder=self.folder, env=env)

    def call(self, *arguments) -> Finished:
        return call(*arguments, folder=self.folder)

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    def rows(self, name, delimiter=",") -> list[dict[str, str]]:
        with (self.folder / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, delimiter=delimiter))

    def group_sizes(self, name, columns) -> Counter:
        return Counter(tuple(row[column] for column in columns) for row in self.rows(name))


@pytest.fixture(scope="session")
def sample_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder, 1_500, 7)
    return folder


@pytest.fixture
def desk(tmp_path, sample_folder):
    shutil.copytree(sample_folder, tmp_path, dirs_exist_ok=True)
    return Desk(tmp_path)
