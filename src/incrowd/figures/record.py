"""Guarantees in plain words, and the record of a run: findings, losses, times, versions, how to
repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from incrowd.audit import Audit
from incrowd.figures.blocks import Bars, Block, Cell, Code, Facts, Listing, Section
from incrowd.measures.losses.tables import METRICS


@dataclass(frozen=True)
class Promise:
    """What a guarantee says to somebody who has never heard of it."""

    plain: str
    attacker: str
    who_can_check: str
    not_stopped: tuple[str, ...]


_COMPOSITION = "Two releases of the same people, compared: publish one."
_METHOD = (
    "Reasoning about the search: why it generalized as it did can tell something "
    "(minimality, downcoding), and less loss leaves less slack."
)
_SINGLING = "Predicate singling-out: some condition may still pick out exactly one person."
_HOMOGENEITY = (
    "Homogeneity: if everybody in a group has the same sensitive value, finding the group tells it."
)
_SKEWNESS = (
    "Skewness: if a group has a rare sensitive value far more often than everybody else, "
    "belonging to it says much."
)
_BACKGROUND = "Background knowledge: knowing which values somebody does not have leaves fewer."
_LAW = (
    "It is not by itself “anonymous” in the sense of the GDPR, which asks about singling out, "
    "linking and inference."
)
_FILE = "Anybody, from the released file alone."
_OWNER = "Only the owner: it compares released rows with the original."


def describe_promise(guarantee: Mapping[str, Any], *, has_own_k: bool = False) -> Promise:
    """Return a guarantee in words, with its own numbers in them."""
    name, stated = guarantee["name"], guarantee.get("parameters", {})
    if name == "k-anonymity":
        return _describe_groups(stated, has_own_k)
    if name == "adaptive":
        return _describe_adaptive()
    if name in _OF_SETS:
        return _describe_sets(name, stated)
    if name == "rules":
        return _describe_rules(stated)
    if name == "km":
        return _describe_km(stated)
    if name in ("edge-dp", "node-dp"):
        return _describe_noise(name, stated)
    claim = str(guarantee.get("claim", name))
    return Promise(claim, "Not described.", "See the findings.", (_COMPOSITION, _LAW))


def _describe_groups(stated: Mapping[str, Any], has_own_k: bool) -> Promise:
    k = stated.get("k", "k")
    plain = (
        f"Every released row has the same quasi-identifying values as at least {_one_less(k)} "
        "others."
    )
    if has_own_k:
        plain += " A person who requested a larger k is in a group at least that large."
    not_stopped = ["The choice of columns: no audit can check what else somebody may know."]
    if stated.get("l"):
        plain += (
            f" In every such group there are at least {stated['l']:g} well-represented values of "
            "each sensitive column."
        )
        not_stopped.append(_BACKGROUND)
    else:
        not_stopped += [_HOMOGENEITY, _BACKGROUND]
    if stated.get("t") is not None:
        plain += (
            " In every such group sensitive values are spread almost as in the whole file "
            f"(distance at most {stated['t']})."
        )
    else:
        not_stopped.append(_SKEWNESS)
    not_stopped += [_COMPOSITION, _METHOD, _SINGLING, _LAW]
    attacker = (
        "Somebody who knows the quasi-identifiers of a person and that the person is in the data: "
        f"the person's row is one of at least {k}."
    )
    checks = _FILE if not has_own_k else f"{_FILE} A k per person needs the owner."
    return Promise(plain, attacker, checks, tuple(not_stopped))


def _describe_adaptive() -> Promise:
    return Promise(
        "Every person has requested a k. What the release shows of them is compatible with at "
        "least that many rows, and somebody who matches people to rows believes in the right pair "
        "with a probability of at most one in that number.",
        "Somebody who knows everybody's quasi-identifiers and who is in the file, but nobody's "
        "requested k, and who takes all ways to match people to rows to be equally likely.",
        f"{_OWNER} The belief is an estimate where it cannot be counted.",
        (
            "The choice of columns: no audit can check what else somebody may know.",
            "The requested k: stars and group sizes hint at who asked for much.",
            _HOMOGENEITY.replace("a group", "a crowd").replace("the group", "the crowd"),
            _METHOD,
            _COMPOSITION,
            "People with several rows: the promise is about rows.",
            _LAW,
        ),
    )


_OF_SETS = {
    "smooth": "An item is shown by a group only if at least half of its people had it.",
    "majority": "An item is shown by a group only if at least k/2 of its people had it.",
    "suppression": "Nothing is added: each row shows only items that it had.",
}


def _describe_sets(name: str, stated: Mapping[str, Any]) -> Promise:
    k = stated.get("k", "k")
    learnt = (
        "Homogeneity: everything a group shows is true of everybody in it."
        if name == "suppression"
        else "Homogeneity: whoever finds a person's group learns each shown item with a "
        "probability of at least one half, and often of nearly one."
    )
    if name == "majority":
        learnt = (
            "Homogeneity: whoever finds a person's group learns what it shows with some certainty."
        )
    fillers = (
        ()
        if name == "suppression"
        else (
            "Fillers: a group of a few alike and others beside them keeps the promise. Look at "
            "the shares of entries suppressed and created.",
        )
    )
    return Promise(
        f"Every released list is the same for at least {k} people. {_OF_SETS[name]}",
        f"Somebody who knows a person's own list finds at least {k} rows that fit.",
        "Anybody can count equal lists; the rest only the owner can check, with the original.",
        (
            learnt,
            *fillers,
            "Part of a list: somebody who knows rare items that are shown finds few groups.",
            "In graphs, who lists a person: the promise is about each person's own list.",
            _COMPOSITION,
            _METHOD,
            _LAW,
        ),
    )


def _describe_rules(stated: Mapping[str, Any]) -> Promise:
    k, confidence = stated.get("k", "k"), stated.get("confidence")
    return Promise(
        f"For every protected rule, its public items are shown by at least {k} transactions, and "
        f"at most {_format_percent(confidence)} of these hold the rule's sensitive items. An item "
        "in parentheses stands for at least one of those listed in it.",
        "Somebody who knows that a person has the public items of a protected rule, and nothing "
        "else of the person's items.",
        "Anybody who has the file, the rules and the list of sensitive items; that nothing was "
        "invented only the owner can check.",
        (
            "Somebody who knows other public items than a rule's, or more of them.",
            f"A confidence of {_format_percent(confidence)} lets a sensitive item be that certain.",
            "Sensitive items that nearly everybody has, and knowledge of sensitive items "
            "themselves, which are published as they are.",
            "Knowledge of what a person does not have, or how many items.",
            _COMPOSITION,
            _LAW,
        ),
    )


def _describe_km(stated: Mapping[str, Any]) -> Promise:
    k, m = stated.get("k", "k"), stated.get("m", "m")
    return Promise(
        f"Every combination of up to {m} public items that a released transaction shows is shown "
        f"by at least {k} transactions.",
        f"Somebody who knows up to {m} public items of a person.",
        "Anybody, from the file and the list of sensitive items; that nothing was invented only "
        "the owner can check.",
        (
            f"Somebody who knows more than {m} items.",
            "What the transactions that fit have in common: if all hold a sensitive item, it is "
            "revealed.",
            "Knowledge of what a person does not have.",
            _COMPOSITION,
            _LAW,
        ),
    )


def _describe_noise(name: str, stated: Mapping[str, Any]) -> Promise:
    one = "one entry (a row's item)" if name == "edge-dp" else "one whole row"
    return Promise(
        f"Whatever is released is at most e^{stated.get('epsilon', 'ε')} times as likely with "
        f"{one} as with another in its place: every answer was given with noise.",
        "Anybody, whatever they know besides. Who is in the data and which items exist is public.",
        "Nobody, from a file: it is a property of the mechanism. The record of the run is kept.",
        (
            "A large ε: each unit multiplies odds by 2.7.",
            "What the data tell about everybody.",
            "Further releases of the same data: each adds its ε.",
            *(
                ("Many entries of one person together: the promise is about one at a time.",)
                if name == "edge-dp"
                else ()
            ),
        ),
    )


def _one_less(k: Any) -> Any:
    return k - 1 if isinstance(k, int) else f"{k} − 1"


def _format_percent(share: Any) -> str:
    return f"{100 * share:g}%" if isinstance(share, (int, float)) else "the stated share"


def describe_assumption(guarantee: Mapping[str, Any], quasi: tuple[str, ...]) -> str:
    """Return what the whole promise rests on, and what no audit can check."""
    name = guarantee["name"]
    if quasi:
        return (
            "This rests on an assumption that no audit can check: that an attacker knows at most "
            f"{join_names(quasi)} of a person. An attacker who knows more is not covered."
        )
    if name in ("edge-dp", "node-dp"):
        return (
            "This rests on an assumption that no audit can check: that the list of items is "
            "public. An attacker may know anything else."
        )
    m = guarantee.get("parameters", {}).get("m", "m")
    known = {
        "rules": "the public items of the stated rules",
        "km": f"up to {m} public items of a person",
    }.get(name, "people's own lists")
    return (
        "This rests on an assumption that no audit can check: that an attacker knows at most "
        f"{known}."
    )


def join_names(names: tuple[str, ...], most: int = 20) -> str:
    """Return names one after the other; of many the first, and how many there are besides."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


# The record of a run: every finding with its sign, losses, times, versions, and how to repeat.

MOST_ROWS_NAMED = 20

SET_LOSSES = {
    "jaccard": "entries in both over entries in either; higher is better",
    "suppressed": "entries taken away, of those before; lower is better",
    "created": "entries added, over those before; lower is better",
    "item_error": "mean over items of how far their number of rows is off; lower is better",
    "count_error": "the same, common items weighing more; lower is better",
    "size_error": "mean over rows of how far their number of items is off; lower is better",
    "are": "average relative error of random counts; lower is better",
    "share_ungeneralized": "public items shown as they are; higher is better",
    "mean_part_size": "items that a shown one stands for; lower is better",
}


_LOADED = {
    True: 'import incrowd as ic\n\njob = ic.Job.load("job.toml")\n',
    False: "import tomllib\nfrom pathlib import Path\n\nimport incrowd as ic\n\n"
    'job = ic.Job.from_mapping(tomllib.loads(Path("job.toml").read_text()))\n',
}


TECHNICAL = (
    *("key", "truth", "row numbers", "canonical order", "row order", "items", "absent rules"),
    *("rerun", "coding", "signed zeros", "formula cells", "unstated columns", "near-continuous"),
    *("closure", "graph", "measured"),
)
"""Checks of how a release is written and proven, for experts: they are listed in the appendix."""

DRAWN = ("risk", "attack", "utility")
"""Findings with sections of their own begin so."""


def findings_section(findings: Iterable[Mapping[str, Any]]) -> Section:
    """Return the findings that decide, each with its sign, broken ones first."""
    listed = list(findings)
    title = "What was checked"
    if not listed:
        return Section(
            "findings",
            title,
            ("Nothing of this promise can be checked from the file alone: only its owner can.",),
        )
    main = [finding for finding in listed if not _is_technical(finding)]
    others = [finding for finding in listed if _is_technical(finding) and finding["holds"]]
    text: tuple[str, ...] = ()
    if others:
        counted = "1 technical check holds" if len(others) == 1 else None
        counted = counted or f"{len(others)} technical checks hold"
        text = (f"{counted} as well: see the appendix.",)
    blocks = (_findings_listing(main),) if main else ()
    return Section("findings", title, text, blocks)


def technical_section(findings: Iterable[Mapping[str, Any]]) -> Section | None:
    """Return the findings for experts, and those that have sections of their own."""
    listed = [finding for finding in findings if _is_technical(finding)]
    if not listed:
        return None
    return Section(
        "technical",
        "Technical findings",
        ("A note informs and decides nothing.",),
        (_findings_listing(listed),),
        is_appendix=True,
    )


def _is_technical(finding: Mapping[str, Any]) -> bool:
    if finding["holds"] is False:
        return False
    return finding["name"] in TECHNICAL or finding["name"].startswith(DRAWN)


def _findings_listing(findings: list[Mapping[str, Any]]) -> Listing:
    order = {False: 0, True: 1, None: 2}
    listed = sorted(findings, key=lambda finding: order[finding["holds"]])
    rows = tuple(
        (finding["name"], finding["holds"], _format_summary(finding)) for finding in listed
    )
    return Listing(("check", "verdict", "what was found"), rows, signs="verdict")


def _format_summary(finding: Mapping[str, Any]) -> str:
    rows = list(finding.get("exposed_rows", ()))[:MOST_ROWS_NAMED]
    if finding["holds"] is False and rows:
        return f"{finding['summary']} (rows {', '.join(str(row) for row in rows)})"
    return str(finding["summary"])


def losses_section(losses: Mapping[str, float]) -> Section | None:
    """Return all losses with what they mean."""
    if not losses:
        return None
    rows = []
    for name, value in losses.items():
        metric = METRICS.get(name)
        meaning = f"{metric.formula}; {metric.direction}" if metric else SET_LOSSES.get(name, "")
        rows.append((name, value, meaning))
    return Section(
        "all-losses",
        "What it cost, by every measure",
        ("The same change is cheap by one measure and dear by another.",),
        (Listing(("loss", "value", "what it is"), tuple(rows)),),
        is_appendix=True,
    )


def times_section(audit: Audit) -> Section | None:
    """Return how long each stage took, and how much memory."""
    if not audit.seconds and not audit.stages:
        return None
    facts: list[tuple[str, Cell]] = [
        ("time", float(audit.seconds)),
        ("most memory, in MB", round(audit.peak_memory_bytes / 2**20)),
    ]
    facts += [(f"engine, {name}", _to_plain(value)) for name, value in audit.engine.items()]
    blocks: list[Block] = []
    if audit.stages:
        blocks.append(
            Bars(
                "Stages",
                tuple(audit.stages),
                {"seconds": tuple(float(seconds) for seconds in audit.stages.values())},
                unit="seconds",
                is_horizontal=True,
                y_title="stage",
            )
        )
    blocks.append(Facts(tuple(facts), title="In all", units={"time": "seconds"}))
    return Section("times", "Time and memory", (), tuple(blocks), is_appendix=True)


def repeat_section(audit: Audit, job_text: str | None, *, is_table: bool = True) -> Section:
    """Return the job, the seed, versions and hashes, and the lines that do it again."""
    facts: list[tuple[str, Cell]] = [
        ("incrowd", audit.incrowd_version),
        ("seed", audit.seed),
    ]
    if audit.method:
        facts.append(("method", str(audit.method["name"])))
    facts += [
        ("release, SHA-256", audit.release_sha256 or None),
        ("input, SHA-256", audit.input_sha256 or None),
    ]
    blocks: list[Block] = [Facts(tuple(facts), title="On which bytes, by what")]
    parameters = audit.method.get("parameters", {}) if audit.method else {}
    if parameters:
        rows = tuple((name, _to_plain(value)) for name, value in parameters.items())
        blocks.append(Listing(("of the method", "value"), rows, title="Settings and what it told"))
    text = "The same job, data and seed give the same bytes, on any number of threads."
    if job_text:
        console = "incrowd run job.toml"
        python = f"{_LOADED[is_table]}release = ic.run(job)\n"
        python += "print(release.audit.holds, release.audit.release_sha256)"
        blocks += [
            Code(job_text, "toml", "job.toml"),
            Code(console, "console", "In a terminal"),
            Code(python, "python", "In Python"),
        ]
    return Section("repeat", "How to repeat it", (text,), tuple(blocks), is_appendix=True)


def notes_section(notes: tuple[str, ...]) -> Section | None:
    """Return what the run had to say."""
    if not notes:
        return None
    listing = Listing(("note",), tuple((note,) for note in notes))
    return Section("notes", "Notes of the run", (), (listing,), is_appendix=True)


def _to_plain(value: Any) -> Cell:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {inner}" for name, inner in value.items()) or None
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in value) or None
    return str(value)
