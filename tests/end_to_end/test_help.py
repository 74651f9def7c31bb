"""Help in tiers: one screen first, everything where it is asked for."""

import pytest
import typer

from command_line import incrowd
from incrowd.cli.app import app
from incrowd.cli.help import SCREENS, TOPICS
from incrowd.cli.job_flags import FLAGS

ROWS, NARROW = 24, 40
"""Lines of a screen of 100 columns, and of one of 80 at most."""

COMMANDS = typer.main.get_command(app).commands


def flags_of(command):
    return {
        word
        for parameter in COMMANDS[command].params
        for word in (*parameter.opts, *parameter.secondary_opts)
        if word.startswith("--")
    }


@pytest.mark.parametrize("command", SCREENS)
def test_help_is_one_screen(desk, command, monkeypatch):
    finished = desk.call(command, "--help")
    lines = finished.out.rstrip("\n").splitlines()
    assert finished.status == 0
    assert len(lines) <= ROWS
    assert max(len(line.rstrip()) for line in lines) <= 100
    assert "--help-all" in finished.out
    monkeypatch.setattr("incrowd.cli.help.HELP_WIDTH", 80)
    narrow = desk.call(command, "--help").out.rstrip("\n").splitlines()
    assert len(narrow) <= NARROW
    assert max(len(line.rstrip()) for line in narrow) <= 80


@pytest.mark.parametrize("command", SCREENS)
def test_the_screen_names_about_twenty_flags_that_exist(command):
    named = SCREENS[command].flags
    assert set(named) <= flags_of(command)
    assert len(set(named)) == len(named)
    assert 15 <= len(named) <= 26
    assert len(SCREENS[command].examples) == 3


@pytest.mark.parametrize("command", SCREENS)
def test_help_all_lists_every_flag_by_topic(command):
    finished = incrowd(command, "--help-all", env={"COLUMNS": "200"})
    assert finished.status == 0, finished.err
    for flag in flags_of(command):
        assert flag in finished.out, flag
    for topic in ("Tables", "Sets", "Transactions", "Engines"):
        assert f" {topic} " in finished.out


def test_flags_stand_with_the_data_they_are_about():
    """What is about one shape of data alone is listed with it, whatever part of a job it is in."""

    def panel(name):
        option = FLAGS[name].parameter.annotation.__metadata__[0]
        return TOPICS[option.rich_help_panel]

    assert panel("l") == panel("suppression_limit") == panel("partitions") == "Tables"
    assert panel("vote") == panel("symmetrize") == "Sets"
    assert panel("confidence") == panel("gamma") == "Transactions"
    assert panel("k") == "Guarantee"
    assert panel("report") == "Documents"
