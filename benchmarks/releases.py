"""Run a grid of jobs and record the SHA-256 of everything they publish, with time and memory.

A release must not change by a byte when the code is reorganized. This script runs every method
under every guarantee on small generated inputs, through the command line alone, so that it works
with any layout of the code::

    python benchmarks/releases.py run --source . --out before.json
    python benchmarks/releases.py run --source ../other-checkout --out after.json
    python benchmarks/releases.py compare before.json after.json
    python benchmarks/releases.py ratio --before . --after ../other-checkout

``benchmarks/results/releases.json`` holds the hashes that the grid had last (``run --hashes``),
without times, and can take the place of ``before.json``.

What each run needs lies in a working folder: ``inputs/``, generated with fixed seeds;
``kernels/``, the compiled loops, apart for each source, since Numba does not notice a change in
a loop that another compiled loop calls; and ``jobs/NAME/``, where a job runs and publishes.
"""

from __future__ import annotations

import argparse
import base64
import csv
import fnmatch
import gzip
import hashlib
import json
import math
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

AUDIT = "(audit)"
"""Stands for the audit's figures among the files of a job."""

DOCUMENTS = (AUDIT, "page.html", "public.json*", "owner.json", "job.toml")
"""What tells about a release: its wording may change while the release does not."""

MOST_SECONDS = 600
ENVIRONMENT = ("numpy", "numba", "pyarrow", "polars", "duckdb", "pyspark", "scipy")
"""Packages whose version can change bytes."""


# ── The grid ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Job:
    """Calls of ``incrowd run`` in a folder of their own, and what is expected of them.

    ``@`` in a call is the folder of inputs. A call that names no output publishes
    ``release`` with the ending of its input.
    """

    name: str
    calls: tuple[str, ...]
    status: int = 0
    volatile: dict[str, str] = field(default_factory=dict)
    """Files that differ from run to run, by pattern, and why; they are not hashed."""

    @property
    def needs_spark(self) -> bool:
        return self.name.startswith("spark/")


def grid() -> list[Job]:
    """All jobs, in the order in which they run; names are paths, so that patterns select."""
    jobs = [
        *table_jobs(),
        *adaptive_jobs(),
        *set_jobs(),
        *rule_jobs(),
        *file_jobs(),
        *document_jobs(),
        *disk_jobs(),
        *refused_jobs(),
        *spark_jobs(),
    ]
    names = [job.name for job in jobs]
    assert len(names) == len(set(names))
    return jobs


REPRESENTATIVE = (
    "tables/cluster/k",
    "tables/cluster/l-distinct",
    "tables/greedy/k",
    "tables/mondrian/k",
    "tables/full-domain/k",
    "tables/microaggregate/k",
    "adaptive/partition/k-column",
    "adaptive/cover/mce",
    "sets/cluster/smooth",
    "sets/facility/practical",
    "rules/rbat/rules-file",
    "rules/rbat/km",
    "documents/owner-report",
    "disk/tables/cluster",
)
"""What ``ratio`` runs unless it is told otherwise: a job of each kind."""

ROLES = "--quasi age,sex,zip,education --sensitive diagnosis"
PEOPLE = f"@people.csv {ROLES} --hierarchy education=@education.csv"
NUMBERS = "@people.csv --quasi age,height --sensitive diagnosis"
FEW = "@people.csv --quasi age,sex,marital --sensitive diagnosis"
MASKED = "@people.csv --quasi age,sex,marital,education --sensitive diagnosis"
ON_DISK = "--memory 300MB"
"""Less than the program itself takes, so that rows lie on disk, however few they are."""


def named(prefix: str, calls: dict[str, str], **options: Any) -> Iterator[Job]:
    """A job of one call for each name."""
    for name, call in calls.items():
        yield Job(f"{prefix}/{name}", (call,), **options)


def table_jobs() -> Iterator[Job]:
    """Methods of tables under k-anonymity and the conditions added to it."""
    conditions = {
        "k": "--k 5",
        "l-distinct": "--k 4 --l 3",
        "l-entropy": "--k 4 --l 2.2 --l-kind entropy",
        "l-recursive": "--k 4 --l 2 --l-kind recursive --c 3",
        "t-equal": "--k 4 --t 0.4",
        "t-hierarchical": "--k 4 --t 0.35 --t-kind hierarchical --hierarchy diagnosis=@codes.json",
        "k-column": "--k 3 --k-column k",
        "person": "--k 4 --person patient",
    }
    ordered = FEW.replace("diagnosis", "stage")
    for method in ("cluster", "greedy", "mondrian", "full-domain"):
        # rows left out differ from condition to condition where levels do not
        limit = "--suppression-limit 0.1" if method == "full-domain" else ""
        calls = {
            name: f"{PEOPLE} --method {method} {flags} {limit if name != 'k' else ''}"
            for name, flags in conditions.items()
        }
        calls["t-ordered"] = f"{ordered} --method {method} --k 4 --t 0.2 --t-kind ordered"
        calls["coding"] = f"{FEW} --method {method} --k 5 --bottom age=20 --top age=80"
        yield from named(f"tables/{method}", calls)
    yield from named(
        "tables/cluster",
        {
            "k-large": f"{PEOPLE} --k 40",
            "k-rule": f"{PEOPLE} --k 3 --k-rule '8 where age >= 70' "
            "--k-rule '6 where marital = divorced'",
            "two-sensitive": f"{FEW},stage --k 4 --l 2 --t 0.5 --insensitive ward",
            "bins": "@people.csv --quasi age,sex,height --k 5 --bins height=8 --bins age=10",
            "metric-ncp": f"{PEOPLE} --k 5 --metric ncp",
            "metric-wllm": f"{FEW} --k 5 --metric wllm --hierarchy marital=@marital.json",
            "identical-together": f"{PEOPLE} --k 5 --keep-identical-together",
            "effort": f"{PEOPLE} --k 5 --effort 3000 --seed 7",
            "suppression": f"{PEOPLE} --k 20 --suppression-limit 0.1",
            "keep-suppressed": f"{PEOPLE} --k 20 --suppression-limit 0.1 --keep-suppressed",
            "keep-order": f"{PEOPLE} --k 5 --keep-order",
            "one-thread": f"{PEOPLE} --k 5 --threads 1",
            "prefix-and-intervals": f"{PEOPLE} --k 5 --hierarchy age=intervals:5,10,20 "
            "--hierarchy zip=prefix:1,3",
            "ranges": f"{NUMBERS} --k 5 --hierarchy age=ranges:5,from=20,to=80 --metric ncp",
            "dates": "@people.csv --quasi born,sex --sensitive diagnosis --k 4 "
            "--hierarchy born=dates:month,year,decade",
            "missing-tokens": "@people.csv --quasi income,sex,marital --k 4 --missing-values '?'",
            "identifying-and-insensitive": f"{PEOPLE} --k 4 --identifying name --insensitive ward",
        },
    )
    parts = {
        f"partitions-{reorganize}": f"--partitions 3 --reorganize {reorganize} --hierarchy zip=flat"
        for reorganize in ("levels-first", "values-first", "none")
    }
    greedy = {
        **parts,
        "no-repair": "--partitions 3 --repair no",
        "gkaa": "--preset gkaa",
        "pgkaa": "--preset pgkaa",
        "pgpkaa": "--preset pgpkaa --processors 4",
        "h-pgpkaa": "--preset h-pgpkaa --processors 32",
        "metric-ncp": "--metric ncp",
        "metric-distortion": "--metric distortion",
        "metric-weights": "--metric weights",
        "polish": "--polish quick",
        "polish-suppression": "--polish quick --suppression-limit 0.03",
        "costs": "--metric ncp --hierarchy sex=flat --costs sex=@sex_costs.csv",
        "partitions-l": "--partitions 3 --l 3",
    }
    yield from named(
        "tables/greedy",
        {name: f"{PEOPLE} --method greedy --k 5 {flags}" for name, flags in greedy.items()},
    )
    mondrian = {
        "relaxed": "--no-strict",
        "relaxed-l": "--no-strict --l 3",
        "metric-ncp": "--metric ncp --hierarchy zip=flat",
        "polish": "--polish quick",
    }
    yield from named(
        "tables/mondrian",
        {name: f"{PEOPLE} --method mondrian --k 5 {flags}" for name, flags in mondrian.items()},
    )
    full_domain = {
        "suppression": "--suppression-limit 0.05",
        "keep-suppressed": "--suppression-limit 0.05 --keep-suppressed",
        "levels": "--minimum-levels age=1 --maximum-levels education=2 --suppression-limit 0.2",
        "weights": "--column-weights zip=0.5,age=2 --metric nwllm",
        "suppression-t": "--suppression-limit 0.1 --t 0.4",
    }
    yield from named(
        "tables/full-domain",
        {name: f"{PEOPLE} --method full-domain --k 5 {f}" for name, f in full_domain.items()},
    )
    yield from named(
        "tables/microaggregate",
        {
            "k": f"{NUMBERS} --method microaggregate --k 5",
            "rounded": f"{NUMBERS} --method microaggregate --k 3 --hierarchy age=mean:5",
            "key": f"{NUMBERS} --method microaggregate --k 4 --effort 4000 --key private/key.csv",
        },
    )
    learn = f"{PEOPLE} --k 5 --save-policy policy -o first.csv"
    again = "@batch.csv --policy policy"
    yield Job("tables/policy/search", (learn, f"{again} --policy-unfit search"))
    yield Job("tables/policy/suppress", (learn, f"{again} --suppression-limit 0.9"))
    yield Job("tables/policy/l", (learn, f"{again} --policy-unfit search --l 2 --k 4"))


def adaptive_jobs() -> Iterator[Job]:
    """The guarantee and the method that are called adaptive."""
    base = f"{MASKED} --guarantee adaptive"
    report = f"{base} --posterior report"
    yield from named(
        "adaptive/partition",
        {
            "k": f"{base} --k 4",
            "k-column": f"{base} --k-column k --search partition",
            "k-rule": f"{base} --k 3 --k-rule '8 where age >= 70'",
            "parts": f"{base} --k 4 --partitions 3 --effort 300",
            "as-value": f"{base} --k 4 --as-value --effort 500",
            "sweeps": f"{base} --k 3 --search partition --sweeps 1 --effort 300",
            "missing-suppressed": f"{base} --k 4 --missing suppress",
            "bins": f"{base} --k 4 --bins age=6 --key private/key.csv",
            "revealed": f"{base} --k 4 --revealed 5",
        },
    )
    yield from named(
        "adaptive/cover",
        {
            "mce": f"{report} --k 4 --search cover --cover mce",
            "lse": f"{report} --k 4 --search cover --cover lse --rounds 4",
            "nearest": f"{report} --k 4 --search cover --cover nearest --rounds 4",
            "k-column": f"{report} --k-column k --search cover --rounds 6",
            "parts": f"{report} --k 4 --search cover --partitions 3 --rounds 4",
            "epsilon-weight": f"{report} --k 4 --search cover --epsilon-weight 1 --sweeps 0",
            "bit": f"{report} --k 3 --mask bit",
            "bit-shown": f"{report} --k 3 --mask bit --bit-columns shown",
            "bit-decoded": f"{report} --k 3 --mask bit --bit-columns decoded",
            "pseudonyms": f"{report} --k 3 --search cover --rounds 2 --pseudonyms pid "
            "--pseudonym-secret @secret --key private/key.csv",
            "bit-k-column": f"{report} --k-column k --mask bit --rounds 4 --key private/key.csv",
        },
    )


def set_jobs() -> Iterator[Job]:
    """Lists, matrices and graphs."""
    guarantees = ("smooth", "majority", "suppression")
    for guarantee in guarantees:
        calls = {guarantee: f"@lists.dat --guarantee {guarantee} --k 6"}
        calls[f"{guarantee}-own-k"] = f"{calls[guarantee]} --row-k @row_k.csv"
        yield from named("sets/cluster", calls)
        yield from named(
            "sets/facility", {guarantee: f"{calls[guarantee]} --method facility --orders 2"}
        )
    smooth = "@lists.dat --guarantee smooth --k 6"
    yield from named(
        "sets/cluster",
        {
            "chunks": "@many.dat --guarantee smooth --k 6 --chunk-rows 1000 --effort quick",
            "seed": f"{smooth} --effort 2 --seed 5",
            "small-k": "@lists.dat --guarantee smooth --k 3",
            "vote-strict": f"{smooth} --vote strict",
            "majority-strict": "@lists.dat --guarantee majority --k 6 --vote strict",
            "keep-order": f"{smooth} --keep-order",
            "key": f"{smooth} --key private/key.csv",
            "listed-items": f"{smooth} --items @items.txt",
            "directed": "@directed.txt --graph directed --guarantee smooth --k 5 --no-header",
            "directed-keep-order": "@directed.txt --graph directed --guarantee suppression --k 5 "
            "--no-header --keep-order",
            "undirected": "@undirected.txt --graph undirected --guarantee smooth --k 5 --no-header",
            "undirected-majority": "@undirected.txt --graph undirected --guarantee majority --k 5 "
            "--no-header --key private/key.csv",
        },
    )
    facility = f"{smooth} --method facility"
    yield from named(
        "sets/facility",
        {
            "practical": facility,
            "alg1": f"{facility} --variant alg1",
            "alg2": f"{facility} --variant alg2 --alpha 0.4 --orders 2",
            "not-cut": f"{facility} --no-cut --beta 3 --orders 2",
            "own-k": f"{facility} --orders 2 --row-k @row_k.csv",
            "chunks": "@many.dat --guarantee smooth --k 6 --method facility --orders 2 "
            "--chunk-rows 1000",
            "directed": "@directed.txt --graph directed --guarantee smooth --k 5 --no-header "
            "--method facility --orders 2",
        },
    )
    yield from named(
        "sets/mondrian",
        {
            "suppression": "@lists.dat --guarantee suppression --method mondrian --k 6",
            "directed": "@directed.txt --graph directed --guarantee suppression --k 5 --no-header "
            "--method mondrian",
        },
    )
    noise = "@lists.dat --items @items.txt --guarantee"
    reason = {"release*": "drawn from the operating system", AUDIT: "losses of what was drawn"}
    yield from named(
        "sets/randomized-response",
        {
            "edge-dp": f"{noise} edge-dp --epsilon 5",
            "node-dp": f"{noise} node-dp --epsilon 900",
        },
        volatile=reason,
    )


def rule_jobs() -> Iterator[Job]:
    """Transactions under rules and km-anonymity."""
    rules = "@transactions.dat --k 5 --confidence 0.2 --sensitive-items @sensitive.txt"
    stated = f"{rules} --rules @rules.txt"
    yield from named(
        "rules/rbat",
        {
            "rules-file": stated,
            "rules-paper": f"{stated} --order paper --improve none",
            "rules-alpha-full": f"{stated} --alpha full --gamma 2 --improve none",
            "rules-weights": f"{stated} --weights @weights.csv --improve full",
            "rules-closure-sensitive": f"{stated} --closure sensitive",
            "rules-closure-all": f"{stated} --closure all --absent ok",
            "rules-on-engine": f"{stated} --rounds engine",
            "mined": f"{rules} --mine-rules 2 --save-rules private/rules.txt",
            "generated": f"{rules} --generate-rules 40 --save-rules private/rules.txt --seed 3",
            "drawn-sensitive": "@transactions.dat --k 5 --confidence 0.6 --mine-rules 2 "
            "--sensitive-items share:0.1 --seed 2",
            "key": f"{stated} --key private/key.csv",
            "keep-order": f"{stated} --keep-order",
            "edges": "@transactions.csv --header --k 5 --confidence 0.6 "
            "--rules @rules.txt --sensitive-items @sensitive.txt",
            "km": "@transactions.dat --k 4 --m 2",
            "km-1": "@transactions.dat --k 4 --m 1",
            "km-3": "@transactions.dat --k 3 --m 3 --improve quick",
            "km-sensitive": "@transactions.dat --guarantee km --k 4 --m 2 "
            "--sensitive-items @sensitive.txt",
        },
    )


def file_jobs() -> Iterator[Job]:
    """Formats of inputs and outputs, in memory."""
    flags = f"{ROLES} --k 5 --method mondrian"
    yield from named(
        "files/tables",
        {
            "csv-to-tsv": f"@people.csv {flags} -o release.tsv",
            "csv-to-gz": f"@people.csv {flags} -o release.csv.gz",
            "csv-to-parquet": f"@people.csv {flags} -o release.parquet",
            "csv-to-arrow": f"@people.csv {flags} -o release.arrow",
            "tsv": f"@people.tsv {flags}",
            "gz": f"@people.csv.gz {flags} -o release.csv.gz",
            "semicolons-latin-1": f"@semicolons.csv {flags} --encoding latin-1 --delimiter ';'",
            "parquet": f"@people.parquet {flags} --insensitive ward",
            "parquet-cluster": f"@people.parquet {ROLES} --k 5",
            "parquet-dates": "@people.parquet --quasi born,height,sex --k 4",
            "parquet-to-csv": f"@people.parquet {flags} -o release.csv",
            "arrow": f"@people.arrow {flags}",
            "folder-csv": f"@parts {flags} -o release/",
            "folder-csv-to-file": f"@parts {flags} -o release.csv",
            "folder-csv-to-parquet": f"@parts {flags} -o release.parquet/",
            "folder-parquet": f"@parts.parquet {flags} -o release/",
            "folder-with-l": f"@parts.parquet {flags} --l 2 -o release.csv",
        },
    )
    smooth = "--guarantee smooth --k 6 --effort 2"
    yield from named(
        "files/sets",
        {
            "gz": f"@lists.dat.gz {smooth} -o release.dat.gz",
            "edges-csv": f"@edges.csv {smooth} --header",
            "edges-txt": f"@edges.txt {smooth} --no-header",
            "pairs-parquet": f"@pairs.parquet {smooth}",
            "lists-parquet": f"@lists.parquet {smooth}",
            "npz": f"@matrix.npz {smooth}",
            "mtx": f"@matrix.mtx {smooth}",
            "folder": f"@baskets {smooth} -o release.dat",
            "dat-to-edges": f"@lists.dat {smooth} -o release.csv",
            "dat-to-parquet": f"@lists.dat {smooth} -o release.parquet",
            "npz-to-mtx": f"@matrix.npz {smooth} -o release.mtx",
            "dat-to-npz": f"@lists.dat {smooth} -o release.npz",
        },
    )


def document_jobs() -> Iterator[Job]:
    """Reports, certificates, keys, and jobs that are saved and run again."""
    plain = f"{PEOPLE} --k 5 --method mondrian"
    timed = "holds seconds and memory"
    public = (
        "--report page.html --report-for public --certificate public.json --certificate-for public"
    )
    for name, call in {
        "public-report": plain,
        "public-report-l": f"{PEOPLE} --k 4 --l 3",
        "public-report-adaptive": f"{FEW} --guarantee adaptive --k 4 --effort 300",
        "public-report-sets": "@lists.dat --guarantee smooth --k 6 --effort 2",
        "public-report-rules": "@transactions.dat --k 5 --confidence 0.6 --rules @rules.txt "
        "--sensitive-items @sensitive.txt",
        "public-report-means": f"{NUMBERS} --method microaggregate --k 5",
    }.items():
        yield Job(f"documents/{name}", (f"{call} {public}",))
    yield Job(
        "documents/owner-report",
        (f"{plain} --report page.html --certificate owner.json",),
        volatile={"page.html": timed, "owner.json": timed},
    )
    yield Job(
        "documents/owner-report-sets",
        ("@lists.dat --guarantee smooth --k 6 --effort 2 --report page.html",),
        volatile={"page.html": timed},
    )
    yield Job(
        "documents/signed",
        (f"{plain} --certificate public.json --certificate-for public --sign-key @sign.pem",),
    )
    yield Job(
        "documents/commitment",
        (
            f"{plain} --certificate public.json --certificate-for public "
            "--commitment-key private/commitment",
        ),
        volatile={"public.json": "commits under a random key", "private/commitment": "random"},
    )
    yield Job(
        "documents/saved-job",
        (f"{PEOPLE} --k 5 --effort 2000 --save-job job.toml", "job.toml -o again.csv"),
    )
    yield Job(
        "documents/saved-job-adaptive",
        (
            f"{FEW} --guarantee adaptive --k-column k --effort 300 --save-job job.toml",
            "job.toml -o again.csv",
        ),
    )
    yield Job(
        "documents/saved-job-sets",
        (
            "@lists.dat --guarantee majority --k 6 --effort 2 --save-job job.toml",
            "job.toml -o again.dat",
        ),
    )
    yield Job(
        "documents/saved-job-rules",
        (
            "@transactions.dat --k 5 --confidence 0.6 --sensitive-items @sensitive.txt "
            "--rules @rules.txt --save-job job.toml",
            "job.toml -o again.dat",
        ),
    )
    yield Job("documents/key", (f"{PEOPLE} --k 5 --key private/key.csv",))
    yield Job("documents/key-own-k", (f"{PEOPLE} --k 3 --k-column k --key private/key.csv",))
    yield Job(
        "documents/key-suppressed",
        (f"{PEOPLE} --k 20 --suppression-limit 0.1 --key private/key.csv",),
    )
    yield Job("documents/set", (f"{PEOPLE} --k 5 --set method.name=greedy --set seed=3",))
    yield Job("documents/default-name", ("people.csv --k 5 --quasi age,sex --method mondrian",))


def disk_jobs() -> Iterator[Job]:
    """Rows and entries on disk: the bytes are those of the same job in memory."""
    for name, flags in {
        "cluster": "--method cluster",
        "greedy": "--method greedy",
        "greedy-partitions": "--method greedy --partitions 3",
        "greedy-pgpkaa": "--method greedy --preset pgpkaa --processors 4",
        "mondrian": "--method mondrian",
        "full-domain": "--method full-domain",
        "insensitive": "--method mondrian --insensitive ward",
    }.items():
        yield Job(f"disk/tables/{name}", (f"{PEOPLE} --k 5 {flags} {ON_DISK}",))
    flags = f"{ROLES} --k 5 --method mondrian {ON_DISK}"
    yield from named(
        "disk/tables",
        {
            "parquet": f"@people.parquet {flags}",
            "folder-csv": f"@parts {flags} -o release/",
            "folder-parquet": f"@parts.parquet {flags} -o release/",
        },
    )
    smooth = "--guarantee smooth --k 6 --effort 2 --memory 1.2MB"
    yield from named(
        "disk/sets",
        {
            "baskets": f"@many.dat {smooth} --chunk-rows 1000",
            "edges": f"@edges.txt {smooth} --no-header",
            "pairs": f"@pairs.parquet {smooth}",
            "directed": f"@directed.txt {smooth} --graph directed --no-header",
        },
    )


def refused_jobs() -> Iterator[Job]:
    """What publishes nothing, and with which status."""
    yield from named(
        "refused/bad",
        {
            "unknown-column": "@people.csv --quasi agee --k 5",
            "starred": "@starred.csv --quasi age,sex --k 5",
            "k-rule-on-sensitive": f"{PEOPLE} --k 3 --k-rule '8 where diagnosis = flu'",
            "leaking-insensitive": "@people.csv --quasi age,sex --insensitive name --k 5",
            "does-not-fit": f"{PEOPLE} --k 4 --person patient {ON_DISK}",
            "ragged": "@ragged.csv --quasi age,sex --k 5",
            "own-k-by-noise": "@lists.dat --items @items.txt --guarantee edge-dp --epsilon 5 "
            "--row-k @row_k.csv",
        },
        status=2,
    )
    yield from named(
        "refused/unsatisfiable",
        {
            "k-above-rows": f"{PEOPLE} --k 100000",
            "l-above-values": f"{PEOPLE} --k 4 --l 40",
        },
        status=3,
    )
    yield Job(
        "refused/unsatisfiable/policy",
        (f"{PEOPLE} --k 5 --save-policy policy -o first.csv", "@batch.csv --policy policy"),
        status=3,
    )
    yield from named(
        "refused/by-audit",
        {
            "insecure-noise": "@lists.dat --items @items.txt --guarantee edge-dp --epsilon 5 "
            "--insecure-noise-seed 4",
            "symmetrized": "@undirected.txt --graph undirected --guarantee smooth --k 5 "
            "--no-header --symmetrize either",
        },
        status=4,
    )


def spark_jobs() -> Iterator[Job]:
    """A handful on Spark, in local mode."""
    engine = "--engine spark --spark-master local[2]"
    yield from named(
        "spark",
        {
            "mondrian": f"{PEOPLE} --k 5 --method mondrian {engine}",
            "cluster": f"{PEOPLE} --k 5 {engine}",
            "greedy-partitions": f"{PEOPLE} --k 5 --method greedy --partitions 3 {engine}",
            "folder": f"@parts.parquet {ROLES} --k 5 --method mondrian {engine} -o release/",
            "sets-chunks": "@many.dat --guarantee smooth --k 6 --chunk-rows 1000 --effort 1 "
            f"{engine}",
            "rules": "@transactions.dat --k 5 --confidence 0.6 --sensitive-items @sensitive.txt "
            f"--rules @rules.txt --rounds engine {engine}",
            "adaptive-cover": f"{MASKED} --guarantee adaptive --posterior report --k 4 "
            f"--search cover --rounds 3 {engine}",
        },
    )


# ── Inputs ────────────────────────────────────────────────────────────────────────────────────

EDUCATION = {
    "none": ["none at all", "primary"],
    "secondary": ["lower school", "upper school", "apprentice"],
    "higher": ["bachelor", "master", "doctor"],
}
MARITAL = {"alone": ["single", "divorced", "widowed"], "together": ["married", "partner"]}
CODES = {"airways": ["asthma", "flu", "copd"], "heart": ["angina", "stroke"], "other": ["hiv"]}


def write_inputs(folder: Path, times: int) -> None:
    """Write every input of the grid, ``times`` as many rows as the hashes are of."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tables(folder, times)
    write_sets(folder, times)
    write_transactions(folder, times)
    write_sign_key(folder / "sign.pem")
    (folder / "secret").write_text("5e" * 32 + "\n", "ascii")  # of pseudonyms


def people(n_rows: int, seed: int) -> list[dict[str, str]]:
    """People with numbers, codes, categories, dates and missing cells."""
    draw = random.Random(seed)
    zips = [f"{draw.randrange(100):02d}{draw.randrange(1000):03d}" for _ in range(60)]
    schools = [school for group in EDUCATION.values() for school in group]
    statuses = [status for group in MARITAL.values() for status in group]
    codes = [code for group in CODES.values() for code in group]
    rows = []
    for number in range(n_rows):
        age = min(97, max(16, round(draw.gauss(47, 18))))
        sex = draw.choices(["f", "m", "x"], [49, 49, 2])[0]
        rows.append(
            {
                "name": f"n{seed}-{number * 7919 % n_rows}",
                "patient": f"p{draw.randrange(n_rows * 4 // 5)}",
                "age": str(age),
                "sex": sex,
                "zip": draw.choice(zips[: 20 + age % 40]),
                "education": "" if draw.random() < 0.02 else draw.choice(schools),
                "marital": "" if draw.random() < 0.02 else draw.choice(statuses),
                "income": "?" if draw.random() < 0.05 else str(draw.randrange(8, 90) * 1000),
                "height": f"{draw.gauss(178 if sex == 'm' else 166, 7):.1f}",
                "born": (date(2020 - age, 1, 1) + timedelta(draw.randrange(365))).isoformat(),
                "ward": draw.choice(["north", "south", "east"]),
                "diagnosis": draw.choices(codes, [30, 26, 16, 12, 10, 6])[0],
                "stage": str(draw.choices([1, 2, 3, 4], [40, 30, 20, 10])[0]),
                "k": str(draw.choices([1, 2, 4, 8], [50, 25, 20, 5])[0]),
            }
        )
    return rows


def write_rows(
    path: Path, rows: list[dict[str, str]], delimiter: str = ",", encoding: str = "utf-8"
) -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_tables(folder: Path, times: int) -> None:
    """Write people in every format of tables, with hierarchies and costs."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    rows = people(1500 * times, seed=1)
    write_rows(folder / "people.csv", rows)
    write_rows(folder / "batch.csv", people(600 * times, seed=2))
    write_rows(folder / "people.tsv", rows, delimiter="\t")
    french = [{**row, "ward": row["ward"].replace("e", "é")} for row in rows]
    write_rows(folder / "semicolons.csv", french, delimiter=";", encoding="latin-1")
    write_gzip(folder / "people.csv.gz", (folder / "people.csv").read_bytes())
    write_rows(folder / "starred.csv", [{**row, "sex": "*"} for row in rows[:50]])
    (folder / "ragged.csv").write_text("age,sex\n20,f\n30\n40,m,x\n", "utf-8")

    kinds: dict[str, Callable[[str], Any]] = {
        "age": int,
        "height": float,
        "born": date.fromisoformat,
        "stage": int,
        "k": int,
    }
    typed = pa.table(
        {
            column: [kinds.get(column, str)(row[column]) if row[column] else None for row in rows]
            for column in rows[0]
        }
    )
    parquet.write_table(typed, folder / "people.parquet", row_group_size=400)
    feather.write_feather(typed, folder / "people.arrow")
    for kind in ("parts", "parts.parquet"):
        (folder / kind).mkdir(exist_ok=True)
    for part in range(3):
        write_rows(folder / "parts" / f"part-{part}.csv", rows[part::3])
        some = typed.take(list(range(part, len(rows), 3)))
        parquet.write_table(some, folder / "parts.parquet" / f"part-{part}.parquet")

    lines = [f"{leaf};{group};*" for group, leaves in EDUCATION.items() for leaf in leaves]
    (folder / "education.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "codes.json").write_text(json.dumps(CODES), "utf-8")
    weighed = [
        {
            "label": group,
            "weight": 3,
            "children": [{"label": leaf, "weight": len(leaf)} for leaf in leaves],
        }
        for group, leaves in MARITAL.items()
    ]
    (folder / "marital.json").write_text(json.dumps({"label": "*", "children": weighed}), "utf-8")
    (folder / "sex_costs.csv").write_text(",*\nf,1\nm,1\nx,5\n", "utf-8")


def lists(n_rows: int, n_items: int, seed: int) -> list[list[int]]:
    """Lists of items that follow tastes; a few are empty, and some are equal."""
    draw = random.Random(seed)
    tastes = [draw.sample(range(n_items), 12) for _ in range(24)]
    rows = []
    for row in range(n_rows):
        some = {item for item in tastes[row % 24] if draw.random() < 0.7}
        rows.append(sorted(some | {draw.randrange(n_items)}))
    rows[5] = rows[n_rows // 2] = []
    return rows


def write_sets(folder: Path, times: int) -> None:
    """Write the same lists in every format of sets, and two graphs."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet
    from scipy import io, sparse

    n_rows, n_items = 1200 * times, 150
    rows = lists(n_rows, n_items, seed=3)
    lines = [" ".join(f"i{item}" for item in row) for row in rows]
    baskets = "\n".join(lines) + "\n"
    (folder / "lists.dat").write_text(baskets, "utf-8")
    write_gzip(folder / "lists.dat.gz", baskets.encode())
    many = [" ".join(map(str, row)) for row in lists(2_200 * times, n_items, seed=8)]
    (folder / "many.dat").write_text("\n".join(many) + "\n", "utf-8")
    (folder / "baskets").mkdir(exist_ok=True)
    for part in range(3):
        some = lines[part * n_rows // 3 : (part + 1) * n_rows // 3]
        (folder / "baskets" / f"part-{part}.dat").write_text("\n".join(some) + "\n", "utf-8")
    names = "".join(f"i{item}\n" for item in range(n_items + 10))
    (folder / "items.txt").write_text(names, "utf-8")
    own = "".join(f"{row},{2 + row % 11}\n" for row in range(0, n_rows, 9))
    (folder / "row_k.csv").write_text("row,k\n" + own, "utf-8")

    entries = [(f"u{row}", f"i{item}") for row, items in enumerate(rows) for item in items]
    random.Random(4).shuffle(entries)
    text = "".join(f"{row},{item}\n" for row, item in entries)
    (folder / "edges.csv").write_text("who,item\n" + text, "utf-8")
    (folder / "edges.txt").write_text(text.replace(",", " "), "utf-8")
    pairs = {"row": [row for row, _ in entries], "item": [item for _, item in entries]}
    parquet.write_table(pa.table(pairs), folder / "pairs.parquet")
    held = [[f"i{item}" for item in row] for row in rows]
    parquet.write_table(pa.table({"items": held}), folder / "lists.parquet")
    starts = np.cumsum([0, *map(len, rows)])
    items = np.array([item for row in rows for item in row], dtype=np.int32)
    ones = np.ones(len(items), dtype=np.int8)
    matrix = sparse.csr_matrix((ones, items, starts), shape=(n_rows, n_items))
    sparse.save_npz(folder / "matrix.npz", matrix)
    io.mmwrite(folder / "matrix.mtx", matrix.astype(np.int64), field="integer")

    n_nodes = 600 * times
    draw = random.Random(6)
    hubs = [draw.sample(range(n_nodes), 14) for _ in range(20)]
    edges = {
        (node, other)
        for node in range(n_nodes)
        for other in [*hubs[node % 20], draw.randrange(n_nodes)]
        if node != other and draw.random() < 0.6
    }
    both = {(max(edge), min(edge)) for edge in edges} | {(min(edge), max(edge)) for edge in edges}
    for name, graph in (("directed.txt", edges), ("undirected.txt", both)):
        text = "".join(f"{node} {other}\n" for node, other in sorted(graph))
        (folder / name).write_text(text, "utf-8")


def write_transactions(folder: Path, times: int) -> None:
    """Write transactions with rules about them, sensitive items and weights."""
    draw = random.Random(7)
    n_items = 60
    popularity = [1 / (1 + item) ** 0.6 for item in range(n_items)]
    rows = []
    for _ in range(900 * times):
        size = draw.randrange(2, 9)
        rows.append(sorted(set(draw.choices(range(n_items), popularity, k=size))))
    sensitive = [7, 15, 23, 31, 39, 47]
    text = "\n".join(" ".join(f"a{item}" for item in row) for row in rows)
    (folder / "transactions.dat").write_text(text + "\n", "utf-8")
    entries = "".join(f"t{row},a{item}\n" for row, items in enumerate(rows) for item in items)
    (folder / "transactions.csv").write_text("basket,item\n" + entries, "utf-8")
    (folder / "sensitive.txt").write_text("".join(f"a{item}\n" for item in sensitive), "utf-8")
    rules: set[str] = set()
    while len(rules) < 40:
        public = [item for item in draw.choice(rows) if item not in sensitive]
        if public:
            known = sorted(draw.sample(public, min(len(public), draw.randrange(1, 3))))
            rules.add(f"{' '.join(f'a{item}' for item in known)} -> a{draw.choice(sensitive)}")
    (folder / "rules.txt").write_text("\n".join(sorted(rules)) + "\n", "utf-8")
    weights = "".join(f"a{item},{1 + item % 4}\n" for item in range(0, n_items, 3))
    (folder / "weights.csv").write_text("item,weight\n" + weights, "utf-8")


def write_gzip(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, mtime=0))


def write_sign_key(path: Path) -> None:
    """Write the same Ed25519 key each time, so that signatures have the same bytes."""
    secret = hashlib.sha256(b"a key for benchmarks alone").digest()
    encoded = bytes.fromhex("302e020100300506032b657004220420") + secret
    label = "PRIVATE KEY"
    body = base64.b64encode(encoded).decode()
    path.write_text(f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n", "utf-8")


# ── Running ───────────────────────────────────────────────────────────────────────────────────


@dataclass
class Cost:
    """What processes took; peak memory is that of the largest one, Spark's Java included."""

    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_bytes: int = 0


@dataclass(frozen=True)
class Workplace:
    """A source tree, the Python that runs it, and the folder in which its jobs run."""

    source: Path
    python: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        kernels = self.folder / "kernels"
        kernels.mkdir(parents=True, exist_ok=True)
        return {
            **os.environ,
            "PYTHONPATH": str(self.source / "src"),
            "PYTHONHASHSEED": "random",
            "NUMBA_CACHE_DIR": str(kernels),
            "TERM": "dumb",
        }

    def call(self, arguments: list[str], where: Path, cost: Cost) -> tuple[int, str, str]:
        """Run Python, add what it took to ``cost``; its status, output and messages."""
        output, messages = where / ".stdout", where / ".stderr"
        began = time.perf_counter()
        with output.open("wb") as out, messages.open("wb") as err:
            process = subprocess.Popen(
                [self.python, *arguments],
                cwd=where,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            overtime = threading.Timer(MOST_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
            overtime.start()
            try:
                _, ended, usage = os.wait4(process.pid, 0)
            except (KeyboardInterrupt, SystemExit):  # the job has a session of its own
                os.killpg(process.pid, signal.SIGKILL)
                raise
            finally:
                overtime.cancel()
        process.returncode = os.waitstatus_to_exitcode(ended)
        cost.wall_seconds += time.perf_counter() - began
        cost.cpu_seconds += usage.ru_utime + usage.ru_stime
        cost.peak_bytes = max(cost.peak_bytes, usage.ru_maxrss * 1024)
        texts = [path.read_text("utf-8", errors="replace") for path in (output, messages)]
        output.unlink()
        messages.unlink()
        return process.returncode, texts[0], texts[1]

    def run(self, job: Job) -> dict[str, Any]:
        """Run a job in an empty folder: its status, the hashes of its files, what it took."""
        where = self.folder / "jobs" / job.name
        if where.exists():
            shutil.rmtree(where)
        (where / "private").mkdir(parents=True)
        inputs = os.path.relpath(self.folder / "inputs", where)
        given = set()
        if job.calls[0].startswith("people.csv"):
            shutil.copy(self.folder / "inputs" / "people.csv", where)
            given.add("people.csv")
        cost, audit, status, messages = Cost(), "", 0, ""
        for call in job.calls:
            arguments = shlex.split(call.replace("@", f"{inputs}/"))
            if "-o" not in arguments and "@" in call:
                arguments += ["-o", f"release{Path(arguments[0]).suffix}"]
            command = ["-m", "incrowd", "run", *arguments, "--json"]
            status, output, messages = self.call(command, where, cost)
            audit += output
            if status != 0:
                break
        files = {
            str(path.relative_to(where)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(where.rglob("*"))
            if path.is_file() and str(path.relative_to(where)) not in given
        }
        if status == 0:
            files[AUDIT] = hash_of_figures(audit)
        files = {
            name: "volatile" if is_any(name, job.volatile) else digest
            for name, digest in files.items()
        }
        result = {"status": status, "files": files, **cost.__dict__}
        if status != job.status:
            result["messages"] = messages[-2000:]
        shutil.rmtree(where)
        return result


def hash_of_figures(output: str) -> str:
    """Hash the numbers of audits that depend on the data and the release alone."""
    kept = ("holds", "losses", "n_rows", "n_suppressed", "n_groups", "smallest_group", "seed")
    decoder, place, figures = json.JSONDecoder(), 0, []
    while place < len(output.rstrip()):
        audit, place = decoder.raw_decode(output, place)
        place += len(output[place:]) - len(output[place:].lstrip())
        figures.append({name: audit.get(name) for name in kept})
    return hashlib.sha256(json.dumps(figures, sort_keys=True).encode()).hexdigest()


def is_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


@contextmanager
def workplace(source: Path, python: str, work: Path | None, times: int) -> Iterator[Workplace]:
    """A folder with inputs, kept if it was named, and what runs jobs in it."""
    if not (source / "src" / "incrowd").is_dir():
        sys.exit(f"{source}: no src/incrowd in it; name the top folder of a checkout")
    with tempfile.TemporaryDirectory(prefix="incrowd-releases-") as temporary:
        folder = (work or Path(temporary)).resolve()
        # in a process of its own: a child's peak memory is never below what its parent had
        command = [python, __file__, "inputs", str(folder / "inputs"), "--times", str(times)]
        subprocess.run(command, check=True)
        yield Workplace(source.resolve(), python, folder)


def selected(patterns: list[str] | None, with_spark: bool) -> list[Job]:
    jobs = [job for job in grid() if not patterns or is_any(job.name, patterns)]
    jobs = [job for job in jobs if with_spark or not job.needs_spark]
    if not jobs:
        sys.exit("no job has such a name; list them with: releases.py list")
    return jobs


def run_again(place: Workplace, job: Job, repeats: int) -> dict[str, Any]:
    """Run a job several times: the least cost, and which files were not always the same."""
    results = [place.run(job) for _ in range(repeats)]
    first = results[0]
    for name in Cost.__dataclass_fields__:
        first[name] = min(result[name] for result in results)
    unstable = {
        name
        for result in results[1:]
        for name in first["files"].keys() | result["files"].keys()
        if first["files"].get(name) != result["files"].get(name)
    }
    if unstable:
        first["unstable"] = sorted(unstable)
    return first


def versions_of(python: str) -> Any:
    """The versions that bytes may depend on."""
    program = (
        "import json, platform\nfrom importlib.metadata import PackageNotFoundError, version\n"
        "found = {'python': platform.python_version(), 'machine': platform.machine()}\n"
        f"for name in {ENVIRONMENT!r}:\n"
        "    try:\n        found[name] = version(name)\n"
        "    except PackageNotFoundError:\n        pass\n"
        "print(json.dumps(found))"
    )
    versions = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(versions.stdout)


def commit_of(source: Path) -> str:
    command = ["git", "-C", str(source), "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def run_command(options: argparse.Namespace) -> int:
    """Run the grid on one source tree and write what came out; 1 if a status is unexpected."""
    jobs = selected(options.only, not options.no_spark)
    about = {
        "commit": commit_of(options.source),
        "environment": versions_of(options.python),
        "times": options.times,
    }
    results = kept_results(options.out, about) if options.only else {}
    recorded = {**about, "jobs": results}
    n_unexpected = 0
    with workplace(options.source, options.python, options.work, options.times) as place:
        for number, job in enumerate(jobs, 1):
            result = results[job.name] = run_again(place, job, options.repeats)
            remark = ""
            if result["status"] != job.status:
                n_unexpected += 1
                remark = f"  STATUS {result['status']}, expected {job.status}"
                remark += "\n    " + result["messages"].strip().replace("\n", "\n    ")
            if "unstable" in result:
                remark += f"  UNSTABLE {', '.join(result['unstable'])}"
            print(
                f"{number:3d}/{len(jobs)} {job.name:45s} {result['cpu_seconds']:6.2f} s CPU "
                f"{result['wall_seconds']:6.2f} s {result['peak_bytes'] / 1e6:6.0f} MB{remark}",
                flush=True,
            )
            write_json(options.out, recorded)
    if options.hashes:
        hashes = {
            name: {"status": result["status"], "files": result["files"]}
            for name, result in results.items()
        }
        write_json(options.hashes, {**recorded, "jobs": hashes})
    total = sum(result["cpu_seconds"] for result in results.values())
    n_files = sum(len(result["files"]) for result in results.values())
    print(f"{len(results)} jobs, {n_files} files, {total:.0f} s CPU; unexpected: {n_unexpected}")
    return int(n_unexpected > 0)


def kept_results(path: Path, about: dict[str, Any]) -> dict[str, Any]:
    """The jobs of an earlier run of the same commit, to which others are added."""
    if not path.exists():
        return {}
    earlier = json.loads(path.read_text("utf-8"))
    if {name: earlier[name] for name in about} != about:
        sys.exit(f"{path} is of another commit, environment or size; choose another --out")
    return {job.name: earlier["jobs"][job.name] for job in grid() if job.name in earlier["jobs"]}


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


# ── Comparing ─────────────────────────────────────────────────────────────────────────────────


def compare_command(options: argparse.Namespace) -> int:
    """Tell which jobs differ, and how time and memory do; 1 if a job differs."""
    before, after = (
        json.loads(path.read_text("utf-8")) for path in (options.before, options.after)
    )
    if before["times"] != after["times"]:
        sys.exit("the two were run on inputs of different sizes (--times)")
    if before["environment"] != after["environment"]:
        print(f"other versions: {before['environment']} and {after['environment']}")
    names = [name for name in before["jobs"] if name in after["jobs"]]
    for alone, other, which in ((before, after, "before"), (after, before, "after")):
        missing = sorted(alone["jobs"].keys() - other["jobs"].keys())
        if missing:
            rest = " …" if len(missing) > options.most else ""
            print(
                f"NOT COMPARED, only in {which} ({len(missing)}): "
                f"{', '.join(missing[: options.most])}{rest}"
            )
    n_different = 0
    for name in names:
        differences = differing(before["jobs"][name], after["jobs"][name], options.releases_only)
        if differences:
            n_different += 1
            print(f"DIFFERS {name}: {'; '.join(differences)}")
    print(f"{len(names)} jobs compared, {n_different} differ")
    if all("cpu_seconds" in result["jobs"][name] for result in (before, after) for name in names):
        print_ratios(
            {name: before["jobs"][name] for name in names},
            {name: after["jobs"][name] for name in names},
            options.most,
        )
    return int(n_different > 0)


def differing(before: dict[str, Any], after: dict[str, Any], releases_only: bool) -> list[str]:
    """What of a job is not the same: its status, files that are new, gone or changed."""
    differences = []
    if before["status"] != after["status"]:
        differences.append(f"status {before['status']} became {after['status']}")
    for name in sorted(before["files"].keys() | after["files"].keys()):
        if releases_only and is_any(name, DOCUMENTS):
            continue
        was, became = before["files"].get(name), after["files"].get(name)
        if was != became:
            word = "is new" if was is None else "is gone" if became is None else "changed"
            differences.append(f"{name} {word}")
    return differences


def print_ratios(before: dict[str, Any], after: dict[str, Any], most: int) -> None:
    """Print after/before of CPU seconds and peak memory: the largest, the mean, the total."""
    for measure, unit, scale in (("cpu_seconds", "s CPU", 1.0), ("peak_bytes", "MB", 1e-6)):
        pairs = {
            name: (before[name][measure] * scale, after[name][measure] * scale) for name in before
        }
        ratios = {name: became / was for name, (was, became) in pairs.items()}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        totals = [sum(column) for column in zip(*pairs.values(), strict=True)]
        print(
            f"\n{unit}: total {totals[0]:.1f} became {totals[1]:.1f} "
            f"(ratio {totals[1] / totals[0]:.3f}), geometric mean of ratios {mean:.3f}"
        )
        for name in sorted(ratios, key=ratios.__getitem__, reverse=True)[:most]:
            was, became = pairs[name]
            print(f"  {ratios[name]:6.3f}  {name:45s} {was:9.2f} became {became:9.2f}")


def ratio_command(options: argparse.Namespace) -> int:
    """Run two source trees by turns, so that the machine's load meets both alike."""
    jobs = selected(options.only or list(REPRESENTATIVE), with_spark=True)
    costs: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    n_different = 0
    work = options.work
    with (
        workplace(
            options.before, options.python, work and work / "before", options.times
        ) as before,
        workplace(options.after, options.python, work and work / "after", options.times) as after,
    ):
        for job in jobs:
            for place in (before, after):
                place.run(job)  # compiles loops
            taken: tuple[list[Any], list[Any]] = ([], [])
            for _ in range(options.repeats):
                taken[0].append(before.run(job))
                taken[1].append(after.run(job))
            differences = differing(taken[0][0], taken[1][0], releases_only=True)
            n_different += bool(differences)
            for kept, results in zip(costs, taken, strict=True):
                kept[job.name] = {
                    name: min(result[name] for result in results)
                    for name in Cost.__dataclass_fields__
                }
            shown = " ".join(
                f"{kept[job.name]['cpu_seconds']:6.2f} s CPU "
                f"{kept[job.name]['peak_bytes'] / 1e6:5.0f} MB"
                for kept in costs
            )
            print(f"{job.name:45s} {shown}  {'; '.join(differences)}", flush=True)
    print_ratios(*costs, most=len(jobs))
    return int(n_different > 0)


def list_command(_options: argparse.Namespace) -> int:
    """Print every job with its calls and, where it is not 0, the status that is expected."""
    for job in grid():
        status = f"  (status {job.status})" if job.status else ""
        print(f"{job.name}{status}")
        for call in job.calls:
            print(f"    incrowd run {call}")
    return 0


def inputs_command(options: argparse.Namespace) -> int:
    """Write the inputs, to try a job by hand."""
    write_inputs(options.folder, options.times)
    return 0


# ── The command line ──────────────────────────────────────────────────────────────────────────


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=function.__doc__, description=function.__doc__)
        made.set_defaults(function=function)
        return made

    def add_running(made: argparse.ArgumentParser, repeats: int) -> None:
        made.add_argument(
            "--python", default=sys.executable, help="the Python to run with; default: this one"
        )
        made.add_argument(
            "--only", action="append", metavar="PATTERN", help="only jobs such as 'sets/*'; repeats"
        )
        made.add_argument(
            "--repeats",
            type=int,
            default=repeats,
            help="how often each job is measured, the least time counts; default: %(default)s",
        )
        made.add_argument(
            "--times",
            type=int,
            default=1,
            help="multiply the rows of inputs, to measure longer searches; default: %(default)s",
        )
        made.add_argument(
            "--work",
            type=Path,
            metavar="DIR",
            help="keep inputs and compiled loops here for the next run of the same source; "
            "default: a temporary folder",
        )

    made = command("run", run_command)
    made.add_argument("--source", type=Path, required=True, metavar="DIR", help="a checkout")
    made.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE.json",
        help="what came out; with --only, other jobs that are in it already stay",
    )
    made.add_argument(
        "--hashes", type=Path, metavar="FILE.json", help="also write hashes without times here"
    )
    made.add_argument("--no-spark", action="store_true", help="leave out the jobs on Spark")
    add_running(made, repeats=2)

    made = command("compare", compare_command)
    made.add_argument("before", type=Path, metavar="BEFORE.json")
    made.add_argument("after", type=Path, metavar="AFTER.json")
    made.add_argument(
        "--releases-only",
        action="store_true",
        help="leave out documents (reports, certificates, saved jobs, the audit's figures)",
    )
    made.add_argument("--most", type=int, default=20, help="how many ratios and names are printed")

    made = command("ratio", ratio_command)
    made.add_argument("--before", type=Path, required=True, metavar="DIR", help="a checkout")
    made.add_argument("--after", type=Path, required=True, metavar="DIR", help="another checkout")
    add_running(made, repeats=3)

    command("list", list_command)

    made = command("inputs", inputs_command)
    made.add_argument("folder", type=Path, metavar="DIR")
    made.add_argument("--times", type=int, default=1)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    chosen = parse()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    sys.exit(chosen.function(chosen))
