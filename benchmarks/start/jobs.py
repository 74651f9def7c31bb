"""The jobs that are started: every method with every guarantee and condition that it keeps.

Methods and what they keep come from the code's own tables, so that a new one is measured without
being named here; one whose words are missing is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.releases import EDUCATION, lists, people, write_rows, write_transactions
from incrowd.errors import JobError
from incrowd.guarantees.evidence import SETS, TABLES
from incrowd.guarantees.table import GUARANTEES
from incrowd.methods.table import METHODS

ROLES = "--quasi age,sex,zip,education --sensitive diagnosis --hierarchy education=education.csv"
MASKED = "--quasi age,sex,marital,education --sensitive diagnosis"
NUMBERS = "--quasi age,height --sensitive diagnosis"

WORDS = {
    "k-anonymity": "--k 5",
    "l-diversity": "--k 4 --l 3",
    "t-closeness": "--k 4 --t 0.4",
    "k-per-person": "--k-column k",
    "person": "--k 4 --person patient",
    "adaptive": "--k 4",
    "smooth": "--guarantee smooth --k 6",
    "majority": "--guarantee majority --k 6",
    "suppression": "--guarantee suppression --k 6",
    "edge-dp": "--guarantee edge-dp --epsilon 5 --items items.txt",
    "node-dp": "--guarantee node-dp --epsilon 900 --items items.txt",
    "rules": "--guarantee rules --k 5 --confidence 0.2 --rules rules.txt "
    "--sensitive-items sensitive.txt",
    "km": "--guarantee km --k 4 --m 2",
}
"""How each guarantee, and each condition beside k, is asked for."""

OF_SETS = {"k-per-person": "--guarantee smooth --k 6 --row-k wishes.csv"}
"""How a condition is asked for by a method that is for sets alone."""

OF_METHOD = {
    "full-domain": "--suppression-limit 0.1",
    "adaptive": "--guarantee adaptive --posterior report",
    "facility": "--orders 2",
}
"""Further words of methods."""

SEARCHES = {("adaptive", "adaptive"): {"cover": "--search cover --rounds 4"}}
"""Other searches of a method, which need other kernels."""


@dataclass(frozen=True)
class Job:
    """One ``incrowd run`` in the folder of the inputs, and a run that must come before it."""

    method: str
    promise: str
    words: tuple[str, ...]
    before: tuple[str, ...] = ()
    search: str = ""

    @property
    def name(self) -> str:
        """The job's name among the cases."""
        return "-".join(filter(None, (self.method, self.search, self.promise)))


def every_job() -> list[Job]:
    """Return all jobs; raise where this module has no words for a guarantee or a condition."""
    return [
        job
        for method, kind in METHODS.items()
        for promise in _in_order(kind.keeps)
        for job in _jobs_of(method, promise)
    ]


def _in_order(keeps: frozenset[str]) -> list[str]:
    """Return guarantees in the order of their table, then conditions."""
    return sorted(
        keeps,
        key=lambda name: (
            (list(GUARANTEES).index(name), "") if name in GUARANTEES else (len(GUARANTEES), name)
        ),
    )


def _jobs_of(method: str, promise: str) -> Iterator[Job]:
    if promise not in WORDS:
        raise JobError(
            f"the benchmark 'start' has no words for {promise!r}, which {method!r} keeps",
            remedy="Add them to WORDS in benchmarks/start/jobs.py.",
        )
    shapes = {GUARANTEES[name].shape for name in METHODS[method].keeps & GUARANTEES.keys()}
    shape = TABLES if TABLES in shapes else SETS
    if promise in GUARANTEES:
        shape = GUARANTEES[promise].shape
    data = INPUTS[shape]
    roles = {"microaggregate": NUMBERS, "adaptive": MASKED}.get(method, ROLES)
    roles = roles if shape == TABLES else ""
    asked = f"{roles} {OF_SETS.get(promise, WORDS[promise]) if shape == SETS else WORDS[promise]}"
    if method == "policy":
        learn = f"{asked} --method mondrian --save-policy policy -o first.csv"
        again = "--policy policy --policy-unfit search"
        yield Job(method, promise, (data, *again.split()), (FORMER, *learn.split()))
        return
    asked += f" --method {method} {OF_METHOD.get(method, '')}"
    for search, words in {"": "", **SEARCHES.get((method, promise), {})}.items():
        yield Job(method, promise, (data, *asked.split(), *words.split()), search=search)


# ── inputs ──────────────────────────────────────────────────────────────────────────────────────

N_ITEMS = 150
INPUTS = {"tables": "people.csv", "sets": "lists.dat", "transactions": "transactions.dat"}
"""The file of each shape of data."""

FORMER = "former.csv"
"""What a policy is learned from: other people with the same values."""


def write_inputs(folder: Path, n_rows: int) -> None:
    """Write small generated data of every shape."""
    rows = people(n_rows, seed=1)
    write_rows(folder / "people.csv", rows)
    write_rows(folder / FORMER, [{**row, "patient": f"former-{row['patient']}"} for row in rows])
    lines = [f"{leaf};{group};*" for group, leaves in EDUCATION.items() for leaf in leaves]
    (folder / "education.csv").write_text("\n".join(lines) + "\n", "utf-8")
    sets = lists(n_rows, N_ITEMS, seed=3)
    baskets = "".join(" ".join(f"i{item}" for item in row) + "\n" for row in sets)
    (folder / "lists.dat").write_text(baskets, "utf-8")
    wishes = "".join(f"{row},{8 + row % 5}\n" for row in range(1, n_rows, 20))
    (folder / "wishes.csv").write_text("row,k\n" + wishes, "utf-8")
    names = "".join(f"i{item}\n" for item in range(N_ITEMS))
    (folder / "items.txt").write_text(names, "utf-8")
    write_transactions(folder, -(-n_rows // 900))
    shown = (folder / "transactions.dat").read_text("utf-8").splitlines(keepends=True)
    (folder / "transactions.dat").write_text("".join(shown[:n_rows]), "utf-8")
