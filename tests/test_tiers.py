"""The fast tier has something of everything; what it leaves out, ``./dev test --all`` runs."""

from pathlib import Path

import pytest

from end_to_end.test_commands import COMMANDS
from end_to_end.test_reports import JOBS
from test_docs import NAMES

TESTS = Path(__file__).parent


@pytest.fixture
def fast(request):
    """The tests of the fast tier, where all tests were collected."""
    config = request.config
    if config.option.keyword or [Path(path).resolve() for path in config.args] != [TESTS]:
        pytest.skip("needs all tests to be collected")
    return [item for item in request.session.items if not item.get_closest_marker("slow")]


def cases_of(fast, name):
    """Return the cases of a parametrized test."""
    return {item.callspec.id for item in fast if item.originalname == name}


def test_every_folder_is_in_the_fast_tier(fast):
    folders = {path.parent for path in TESTS.rglob("test_*.py")}
    assert {item.path.parent for item in fast} == folders


def test_every_method_and_guarantee_is_in_the_fast_tier(fast):
    assert cases_of(fast, "test_the_owners_page_tells_the_audit") == set(JOBS)
    assert "test_there_is_a_job_of_every_method_and_guarantee" in {item.name for item in fast}


def test_every_command_and_page_is_in_the_fast_tier(fast):
    assert cases_of(fast, "test_links_lead_somewhere") == set(NAMES)
    assert cases_of(fast, "test_help_shows_an_example") == set(COMMANDS)


@pytest.mark.parametrize("what", ["spark", "browser"])
def test_one_test_of_each_is_in_the_fast_tier(fast, what):
    assert len([item for item in fast if item.get_closest_marker(what)]) == 1
