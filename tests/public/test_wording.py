"""Messages speak of keywords in Python and of flags on the command line, by one renderer."""

import ast
import re
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import incrowd as ic
from command_line import call
from incrowd.errors import InputError
from incrowd.hierarchies.specs import KINDS
from incrowd.job.inputs import SET_KINDS
from incrowd.wording import (
    DOCUMENTED,
    is_command_line_only,
    phrase,
    setting_of,
    speak_flags,
    to_python,
)

SOURCE = Path(ic.__file__).parent
FLAG = re.compile(r"(?<![\w(-])--[a-z][a-z-]*[a-z]|(?<![\w-])--[a-z]\b|(?<![\w-])-o\b")
OF_PAGES = ("report", "figures")
"""Rooms whose texts with two hyphens are colours of style sheets."""

DYNAMIC = "x1"
"""What stands for a value that is put into a message when it is raised."""


@cache
def messages():
    return list(find_messages())


def find_messages():
    """Every text in the source that names a flag, but for commands' own and docstrings."""
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0]
        if room in ("cli", "wording.py", *OF_PAGES) or path.parts[-2:] == ("compiling", "build.py"):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        skipped = set()
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                skipped.add(id(body[0].value))
            if isinstance(node, ast.JoinedStr):
                skipped |= {id(part) for part in node.values}
        for node in ast.walk(tree):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            elif isinstance(node, ast.JoinedStr):
                text = "".join(
                    part.value if isinstance(part, ast.Constant) else DYNAMIC
                    for part in node.values
                )
            else:
                continue
            if FLAG.search(text):
                yield f"{path.name}:{node.lineno}", text


@pytest.fixture(scope="module", autouse=True)
def every_option_is_loaded():
    for name in ic.__all__:
        getattr(ic, name)


def test_every_flag_of_every_message_has_a_name_in_python():
    found = messages()
    assert len(found) > 150
    unknown = {
        (place, flag)
        for place, text in found
        for flag in FLAG.findall(text)
        if not is_command_line_only(flag) and setting_of(flag) is None
    }
    assert not unknown, "name them in wording.py: in _KEYWORDS, or in COMMAND_LINE_ONLY"


def test_no_message_shows_a_flag_in_python():
    for place, text in messages():
        shown = re.sub(r"\bincrowd [a-z-]+( [^\s;,.]\S*)*", "", to_python(text))
        left = {flag for flag in FLAG.findall(shown) if not is_command_line_only(flag)}
        assert not left, f"{place}: {shown}"


def test_no_word_of_a_sentence_becomes_a_value():
    """A bare word after a flag is its value only where it is a choice, a name or a placeholder."""
    words = {
        DYNAMIC,
        *SET_KINDS,
        *KINDS,
        "full",
        "driver",
        "linkage",
        "learning",
        "bound",
        "age",
        "id",
        "zip",
    }
    for part in DOCUMENTED:
        words |= {str(getattr(part, "name", ""))}
        for item in part.__dataclass_fields__.values():
            words |= set(item.metadata.get("choices") or ())
    for place, text in messages():
        for value in re.findall(r'[=\[ ]"([a-z-]+)"', to_python(text)):
            if f'"{value}"' not in text:
                assert value in words, f"{place}: {to_python(text)}: add {value!r} to PROSE?"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Use --suppression-limit 0.05.", "Use ic.ReleaseOptions(suppression_limit=0.05)."),
        ("State --hierarchy age=flat", 'State hierarchies={"age": "flat"}'),
        ("--hierarchy zip=prefix:1,3.", 'hierarchies={"zip": "prefix:1,3"}.'),
        (
            "say so: --missing-values '?,NA'.",
            'say so: ic.InputOptions(missing_values=["?", "NA"]).',
        ),
        ("Leave --l and --t out.", "Leave l=… and t=… out."),
        ("Use --method cluster or greedy.", 'Use method="cluster" or "greedy".'),
        ("Use --method cluster or state k.", 'Use method="cluster" or state k.'),
        ("--guarantee rules or km", "guarantee=ic.RuleProtection(…) or ic.KmAnonymity(…)"),
        ("the key that run --key wrote", "the key that ic.ReleaseOptions(key=…) wrote"),
        ("--original DATA --key KEY", "original=DATA, key=KEY"),
        (
            "--no-header or --header",
            "ic.InputOptions(header=False) or ic.InputOptions(header=True)",
        ),
        ("with -o, or --force.", "with output=…, or force=True."),
        ("--k 2,5,10", "ks=[2, 5, 10]"),
        ("--bottom age=20", 'coding={"age": ic.Coding(bottom=20)}'),
        ("incrowd check FILE --report", "incrowd check FILE --report"),
        ("a -- b, well-known x--y", "a -- b, well-known x--y"),
    ],
)
def test_flags_and_what_they_are_in_python(written, shown):
    assert to_python(written) == shown
    assert phrase(written) == shown
    with speak_flags():
        assert phrase(written) == written


def test_an_error_speaks_to_who_reads_it(tmp_path):
    table = pa.table({"age": ["30"] * 9 + ["old"], "ill": list("ab") * 5})
    with pytest.raises(InputError) as caught:
        ic.anonymize(table, quasi=["age"], sensitive=["ill"], k=2, hierarchies={"age": "ranges"})
    assert 'hierarchies={"age": "flat"}' in str(caught.value)
    assert "--" not in str(caught.value)
    path = tmp_path / "people.csv"
    path.write_text("age,ill\n" + "30,a\n" * 9 + "old,b\n", encoding="utf-8")
    done = call("run", path, "--k", 2, "--quasi", "age", "--hierarchy", "age=ranges")
    assert "--hierarchy age=flat" in done.err
    assert "hierarchies=" not in done.err


def test_notes_speak_to_who_reads_them(tmp_path):
    ids = [f"p{row // 2}" for row in range(40)]
    table = pa.table({"patient_id": ids, "age": ["1", "2"] * 20, "ill": list("ab") * 20})
    release = ic.anonymize(table, quasi=["age"], sensitive=["ill"], k=4, method="mondrian")
    (note,) = [note for note in release.audit.notes if "repeats" in note]
    assert 'person="patient_id"' in note
    table.to_pandas().to_csv(tmp_path / "people.csv", index=False)
    done = call("run", tmp_path / "people.csv", "--k", 4, "--quasi", "age", "--method", "mondrian")
    assert "--person patient_id" in done.err
