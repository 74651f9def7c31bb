"""Docs and help speak the field's language: no private words for what has a name."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from incrowd.cli.app import PLACES, load_command
from incrowd.cli.explain.topics import all_topics
from incrowd.cli.help import SCREENS
from incrowd.engines.choice import EngineChoice
from incrowd.guarantees.table import GUARANTEES
from incrowd.job.documents import ReleaseOptions
from incrowd.job.inputs import InputOptions, RuleInput, SetInput
from incrowd.methods.table import METHODS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")]

# a phrase, and what to write instead
PHRASES = {
    r"stands? alone|standing alone": "is unique",
    r"(could|can|may) be known by": "quasi-identifiers",
    r"drives searches|searches that draw": "random seed",
    r"what separates cells": "delimiter",
    r"if not stated|unless it is stated": "by default; if omitted",
    r"is called '|are called c0": "unknown …; did you mean …?",
    r"it is no \w+ file|was cut off|or cut off": "not a valid … file (corrupt or truncated)",
    r"come from one place": "specify exactly one of …",
    r"rows must lie|rows lie\b|rows that lie|where they lie|entries lie": "out of core; on disk",
    r"k of (one's|their|his|her|its) own|k per person's|own k of": "per-record k",
    r"hangs? together": "association between columns",
    r"\btellers?\b|\batoms?\b": "the field's word",
    r"\btorn up\b|\btears? up\b": "ruin and recreate; dissolve",
    r"a wish\b|wishe[sd]\b|wish for": "requested k",
    r"\bmend(s|ed)?\b": "fix, repair",
    r"\bforetells?\b": "predicts",
    r"\breckoned\b": "estimated",
    r"as they stand\b|as it stands\b": "unchanged",
    r"who is who\b|who is which": "the identity of rows",
    r"\bdearest\b": "most expensive",
    r"holds? it off|held off|holds? off": "protects against",
    r"(?<!does )(?<!what )\btells? (of|apart|that|which|how|what|nothing|more|less)\b": (
        "reveals, says"
    ),
    r"is told\b|are told\b|be told\b": "is reported",
    r"to the byte what": "identical to",
    r"hand(s|ed)? (back|out)": "return",
    r"is no harm|no harm": "has no effect",
    r"at work\b": "during a run",
    r"say `--": "use `--…`",
}


def prose_of(text):
    """Return a page without its code blocks and generated tables."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"<!-- table .*?<!-- end -->", "", text, flags=re.S)


def private_words(text):
    return [
        (match[0], instead)
        for pattern, instead in PHRASES.items()
        for match in re.finditer(pattern, text, re.I)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_have_no_private_words(page):
    assert private_words(prose_of(page.read_text("utf-8"))) == []


def test_help_has_no_private_words():
    texts = {}
    for command in PLACES:
        found = load_command(command)
        texts[command] = f"{found.help or ''} {found.epilog or ''}"
        for option in found.params:
            texts[f"{command} {option.name}"] = getattr(option, "help", "") or ""
    for part in [
        *GUARANTEES.values(),
        *METHODS.values(),
        EngineChoice,
        InputOptions,
        SetInput,
        RuleInput,
        ReleaseOptions,
    ]:
        texts[part.__name__] = part.__doc__ or ""
        for item in fields(part):
            texts[f"{part.__name__}.{item.name}"] = item.metadata["help"]
    for topic in all_topics():
        texts[f"explain {topic.name}"] = " ".join(topic.paragraphs)
    for command, screen in SCREENS.items():
        texts[f"{command} --help"] = " ".join([screen.purpose, *(text for _, text in screen.lines)])
    assert len(texts) > 150
    assert {name: words for name, text in texts.items() if (words := private_words(text))} == {}
