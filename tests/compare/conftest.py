"""A small census, and points measured in this process instead of one each."""

import pytest

from incrowd.comparing import comparison
from incrowd.comparing.measure import measure_point
from incrowd.job.job import Job
from incrowd.samples import write_sample


@pytest.fixture
def census(tmp_path):
    write_sample(tmp_path, 300, 5)
    return tmp_path / "census.csv"


@pytest.fixture
def job(census):
    return Job.from_mapping(
        {
            "data": str(census),
            "roles": {
                "age": "quasi-identifying",
                "sex": "quasi-identifying",
                "diagnosis": "sensitive",
            },
            "guarantee": {"k": 2},
            "method": {"name": "mondrian"},
        }
    )


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Measure points in this process; the list has every point that was measured.

    The command in a process of its own knows nothing of this.
    """
    ran = []

    def in_this_process(planned, folder, asked):
        ran.append(planned.point.key)
        folder.mkdir(mode=0o700)
        assert planned.job.output is None
        return measure_point(planned.job, folder, asked)

    monkeypatch.setattr(comparison, "_in_process", in_this_process)
    return ran
