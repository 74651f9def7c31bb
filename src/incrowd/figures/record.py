"""The record of a run: every finding with its sign, losses, times, versions, and how to repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from incrowd.audit import Audit
from incrowd.figures.blocks import Bars, Block, Cell, Code, Facts, Listing, Section
from incrowd.measures.losses.tables import METRICS

SIGNS = {True: "holds", False: "does not hold", None: "note"}
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


def findings_section(findings: Iterable[Mapping[str, Any]]) -> Section:
    """Return every finding with its sign, broken ones first."""
    order = {False: 0, True: 1, None: 2}
    listed = sorted(findings, key=lambda finding: order[finding["holds"]])
    rows = tuple(
        (finding["name"], SIGNS[finding["holds"]], _format_summary(finding)) for finding in listed
    )
    text = "A note informs and decides nothing."
    if not rows:
        return Section(
            "findings",
            "Everything that was checked",
            ("Nothing of this promise can be checked from the file alone: only its owner can.",),
        )
    return Section(
        "findings",
        "Everything that was checked",
        (text,),
        (Listing(("finding", "verdict", "what was found"), rows),),
    )


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
    return Section("times", "Time and memory", (), tuple(blocks))


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
    return Section("repeat", "How to repeat it", (text,), tuple(blocks))


def notes_section(notes: tuple[str, ...]) -> Section | None:
    """Return what the run had to say."""
    if not notes:
        return None
    return Section(
        "notes", "Notes of the run", (), (Listing(("note",), tuple((note,) for note in notes)),)
    )


def _to_plain(value: Any) -> Cell:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {inner}" for name, inner in value.items()) or None
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in value) or None
    return str(value)
