"""Help in tiers: one screen first, everything where it is asked for."""

import pytest
import typer

from command_line import call, incrowd
from incrowd.cli.app import PLACES, app, load_command
from incrowd.cli.help import OPTIONS, SCREENS, SUMMARIES, TOPICS
from incrowd.cli.job_flags import FLAGS

ROWS, NARROW = 24, 40
"""Lines of a screen of 100 columns, and of one of 80 at most."""

COMMANDS = {name: load_command(name) for name in PLACES}


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


def test_the_first_screen_of_all_lists_commands_and_options():
    """The list is written down, so that no command is imported for it: here it is compared."""
    assert list(SUMMARIES) == list(COMMANDS)
    for name, command in COMMANDS.items():
        first = " ".join(command.help.split("\n\n")[0].split())
        assert SUMMARIES[name] == first
    group = typer.main.get_command(app)
    stated = {option.opts[0]: option.help for option in group.get_params(typer.Context(group))}
    assert stated == OPTIONS
    screen = incrowd("--help", env={"COLUMNS": "200"})
    assert screen.status == 0
    for text in (*SUMMARIES.items(), *OPTIONS.items()):
        assert all(word in screen.out for word in text)


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], *([name, "--help"] for name in SCREENS)]
)
def test_what_is_shown_at_once_is_what_typer_would_show(words):
    shown, typed = incrowd(*words, env={"COLUMNS": "80"}), call(*words)
    assert (shown.status, shown.out, shown.err) == (typed.status, typed.out, typed.err)
    assert shown.out


@pytest.mark.parametrize("words", [["runn"], ["--helpp"], [], ["--help", "run"]])
def test_other_lines_are_read_by_typer(words):
    finished = call(*words)
    if "--help" in words or not words:
        assert all(name in finished.out for name in SUMMARIES)
    else:
        assert "No such" in finished.err
    assert finished.status == (0 if "--help" in words else 2)
