"""``incrowd init`` on a terminal: one column after another, for a person to confirm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incrowd.cli.terminal import results
from incrowd.errors import IncrowdError
from incrowd.proposing.roles import K_COLUMN, PERSON_COLUMN, Proposal, propose_hierarchy
from incrowd.tables.schema import ROLES

if TYPE_CHECKING:
    from incrowd.proposing.job import JobProposal
    from incrowd.proposing.prediction import Prediction
    from incrowd.tables.table import Table


LETTERS = {
    "r": "identifying",
    "g": "quasi-identifying",
    "s": "sensitive",
    "k": "insensitive",
    "p": PERSON_COLUMN,
}
MEANINGS = {
    "identifying": "remove it",
    "quasi-identifying": "generalize it: others may know it",
    "sensitive": "keep it, protected by l and t",
    "insensitive": "keep it as it is",
    PERSON_COLUMN: "count people by it, and remove it",
    K_COLUMN: "everybody's own k, never released",
}
HELP = (
    "Enter accepts. r removes the column (identifying), g generalizes it (quasi-identifying), "
    "s keeps it as sensitive, k keeps it as it is (insensitive), p counts people by it. "
    "g icd10, g ranges:5, g zip.csv … states its hierarchy too. "
    "b goes back, a accepts all that are left, q quits and writes nothing."
)
N_EXAMPLES = 5
LONGEST_EXAMPLE = 24


@dataclass(frozen=True)
class Step:
    """One question: a column, or similar columns that are decided together."""

    title: str
    columns: tuple[str, ...]


class Quit(Exception):
    """The user leaves without writing anything."""


def steps_of(proposals: Sequence[Proposal]) -> list[Step]:
    """Return the questions in the table's order; a group of similar columns is asked about once."""
    members: dict[str, list[str]] = {}
    for part in proposals:
        members.setdefault(part.group or f"\0{part.column}", []).append(part.column)
    return [Step(key.removeprefix("\0"), tuple(columns)) for key, columns in members.items()]


def converse(
    table: Table,
    proposal: JobProposal,
    predict: Callable[[JobProposal], Prediction | None],
) -> JobProposal:
    """Ask about every column, then show what was decided and what it costs; raise Quit on q.

    Values of the table are shown: only call it where the user may see them.
    """
    steps = steps_of(proposal.proposals)
    place = 0
    console = results()
    console.print(
        f"{proposal.n_rows:,} rows, {len(proposal.proposals)} columns. {HELP}\n", markup=False
    )
    while True:
        while place < len(steps):
            answer = _ask_about(table, proposal, steps, place)
            if answer == "b":
                place = max(0, place - 1)
            elif answer == "a":
                place = len(steps)
            elif isinstance(answer, tuple):
                role, hierarchy = answer
                proposal = decide(table, proposal, steps[place].columns, role, hierarchy)
                place += 1
            else:
                place += 1
        answer, proposal = _confirm(table, proposal, predict)
        if answer != "b":
            return proposal
        place = len(steps) - 1


def decide(
    table: Table, proposal: JobProposal, columns: Sequence[str], role: str, hierarchy: str = ""
) -> JobProposal:
    """Return the proposal with another role for some columns, as stated by the user.

    A quasi-identifier gets the stated hierarchy or the one that suits it. There is one column to
    count people by: a former one is removed.
    """
    parts = []
    for part in proposal.proposals:
        if part.column in columns:
            how = ""
            if role == "quasi-identifying":
                how = hierarchy or propose_hierarchy(table, part.column)
            changed = replace(part, role=role, hierarchy_spec_text=how, confidence="high")
            parts.append(replace(changed, reasons=("stated",)))
        elif part.role == PERSON_COLUMN == role:
            parts.append(replace(part, role="identifying"))
        else:
            parts.append(part)
    having = {part.role: part.column for part in parts}
    return replace(
        proposal,
        proposals=tuple(parts),
        person=having.get(PERSON_COLUMN),
        k_column=having.get(K_COLUMN),
    )


def _ask_about(
    table: Table, proposal: JobProposal, steps: list[Step], place: int
) -> str | tuple[str, str]:
    """Return what to do: "" (accept), "b", "a", or another role with its hierarchy."""
    from rich.markup import escape

    step, console = steps[place], results()
    part = next(part for part in proposal.proposals if part.column == step.columns[0])
    told = f"{part.role}: {MEANINGS[part.role]}"
    if part.hierarchy_spec_text and part.role == "quasi-identifying":
        told += f"; hierarchy {part.hierarchy_spec_text}"
    console.print(
        f"[dim]{place + 1}/{len(steps)}[/dim] [bold]{escape(step.title)}[/bold] ({part.kind})"
    )
    console.print(f"    proposed  [bold]{escape(told)}[/bold] [dim]({part.confidence})[/dim]")
    console.print(f"    because   {'; '.join(part.reasons)}", markup=False)
    console.print(f"    examples  {_examples(table, part.column)}", markup=False)
    while True:
        typed = _read("    Enter accepts; r g s k p, b, a, q or ? ")
        letter, _, hierarchy = typed.partition(" ")
        if letter in ("", "b", "a"):
            return letter
        if letter == "?":
            console.print(f"    {HELP}", markup=False)
        elif letter not in LETTERS or (hierarchy and letter != "g"):
            console.print("    one of r, g, s, k, p, b, a, q; ? explains them", markup=False)
        else:
            problem = _problem_of(table, proposal, step.columns, LETTERS[letter], hierarchy.strip())
            if not problem:
                return LETTERS[letter], hierarchy.strip()
            console.print(f"    {problem}", markup=False, style="red")


def _problem_of(
    table: Table, proposal: JobProposal, columns: Sequence[str], role: str, hierarchy: str
) -> str:
    """Return why a choice cannot be, or nothing; a hierarchy is built as a run would build it."""
    from incrowd.guarantees.tables.k_anonymity import KAnonymity
    from incrowd.job.job import Job
    from incrowd.proposing.prediction import encode_for
    from incrowd.tables.schema import Schema

    if role == PERSON_COLUMN and len(columns) > 1:
        return "people are counted by one column"
    if not hierarchy:
        return ""
    try:
        job = Job(
            guarantee=KAnonymity(2),
            schema=Schema(quasi=columns),
            hierarchies=dict.fromkeys(columns, hierarchy),
            input=proposal.input,
        )
        encode_for(replace(table, frame=table.frame.select(list(columns))), job)
    except IncrowdError as error:
        return error.text(show_values=True)
    return ""


def _examples(table: Table, column: str) -> str:
    """Return some values of a column, spread over their order."""
    from incrowd.tables.identifiers import DistinctValues

    labels = sorted(DistinctValues.of(table, column).labels.to_pylist())
    if not labels:
        return "none: every cell is missing"
    n_shown = min(N_EXAMPLES, len(labels))
    chosen = [labels[(2 * place + 1) * len(labels) // (2 * n_shown)] for place in range(n_shown)]
    shown = ["".join(sign if sign.isprintable() else "�" for sign in label) for label in chosen]
    texts = [
        text if len(text) <= LONGEST_EXAMPLE else f"{text[: LONGEST_EXAMPLE - 1]}…"
        for text in shown
    ]
    return f"{', '.join(texts)}{', …' if len(labels) > n_shown else ''} ({len(labels):,} different)"


def _confirm(
    table: Table,
    proposal: JobProposal,
    predict: Callable[[JobProposal], Prediction | None],
) -> tuple[str, JobProposal]:
    """Show what was decided and what it costs; return "" (go on) or "b", and the proposal."""
    console = results()
    while True:
        _show_roles(proposal)
        prediction = predict(proposal)
        offer = ""
        if prediction is not None:
            console.print(f"{prediction.text}\n", markup=False, style="yellow")
            if prediction.removed:
                offer = ", d leaves these columns out"
        while True:
            typed = _read(f"Enter goes on{offer}, b goes back, q quits ")
            if typed in ("", "b"):
                return typed, proposal
            if typed == "d" and prediction is not None and prediction.removed:
                proposal = decide(table, proposal, prediction.removed, "identifying")
                break


def _show_roles(proposal: JobProposal) -> None:
    console = results()
    console.print()
    for role in (*ROLES, PERSON_COLUMN, K_COLUMN):
        named = [step.title for step in steps_of(_having(proposal, role))]
        if named:
            console.print(f"{role}: {', '.join(named)}", markup=False)


def _having(proposal: JobProposal, role: str) -> list[Proposal]:
    return [part for part in proposal.proposals if part.role == role]


def _read(prompt: str) -> str:
    """Return a line that the user types, in lower case up to the first blank; raise Quit on q."""
    try:
        typed = results().input(prompt, markup=False).strip()
    except EOFError:
        raise Quit from None
    letter, blank, rest = typed.partition(" ")
    if letter.lower() == "q":
        raise Quit
    return f"{letter.lower()}{blank}{rest}"
