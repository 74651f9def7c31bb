"""One point of a grid, measured in a process of its own: ``python -m
incrowd.comparing.measure``. The loops are compiled, or loaded, on a few rows first. Then the
job runs as ``incrowd run`` does, into a private folder; its audit's seconds are the point's
time. What a release is good for is computed after that.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from incrowd.checking.material import Material, OwnSets, SetMaterial
from incrowd.checking.request import Request
from incrowd.checking.sets import load_sets, material_of
from incrowd.checking.tables import load_table
from incrowd.errors import AuditError, IncrowdError, InfeasibleError, InputError
from incrowd.guarantees.evidence import TABLES, TRANSACTIONS
from incrowd.methods.base import TableMethod
from incrowd.sets.names import item_names_of
from incrowd.sets.sets import Sets
from incrowd.transactions.generalized import parse_label
from incrowd.transactions.rule_files import find_sensitive_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from incrowd.checking.material import Material, TableMaterial
    from incrowd.flow.release import Release
    from incrowd.job.job import Job
    from incrowd.measures.utility.queries import Workload


def release_material(job: Job, released: Path, key: Path) -> Material:
    """Return a release beside its original; the job is the one that repeats the release."""
    request = Request.of_job(job, released, original=job.data, key=key)
    if job.shape == TABLES:
        return load_table(request).material()
    with load_sets(request, with_rules=False) as evidence:
        material = material_of(evidence)
        if job.shape != TRANSACTIONS:
            return material
        own = material.own
        assert own is not None
        return SetMaterial(material.released, _with_parts(job, own, material.released))


def _with_parts(job: Job, own: OwnSets, released: Sets) -> OwnSets:
    """Return the owner's transactions with the part of every item, and which are sensitive."""
    names = item_names_of(own.original)
    is_sensitive = np.zeros(own.original.n_items, dtype=np.bool_)
    if job.rules.sensitive_items:
        needs_both = job.guarantee.name == "rules"
        stated = job.rules.sensitive_items
        is_sensitive, _ = find_sensitive_items(stated, names, job.seed, needs_both=needs_both)
    part_of_item = _part_of_item(own.original, released)
    return replace(own, part_of_item=part_of_item, is_sensitive=is_sensitive)


def _part_of_item(original: Sets, released: Sets) -> NDArray[np.int32]:
    """Return which released item each original one is in, −1 where it is in none."""
    names = [str(name) for name in item_names_of(original).to_pylist()]
    part_of_name = {
        member: part
        for part, label in enumerate(item_names_of(released).to_pylist())
        for member in parse_label(str(label))
    }
    return np.array([part_of_name.get(name, -1) for name in names], dtype=np.int32)


# One point of a grid, measured in a process of its own: ``python -m incrowd.comparing.measure``.

RELEASED, INFEASIBLE, REFUSED, UNFIT = "released", "infeasible", "refused", "unfit"
FAILED = "failed"
INTERNAL = "internal"

FEW = 200
"""Loops are compiled on this many rows, or on four times k of them."""

BRIEF = 20
"""The effort of a search that only compiles."""


@dataclass(frozen=True)
class UtilityRequest:
    """What is computed of every release besides its losses."""

    n_queries: int = 1_000
    n_predicates: int = 2
    selectivity: float = 0.1
    predict: str | None = None
    seed: int = 0

    def workload(self) -> Workload:
        """Return the queries that are asked."""
        from incrowd.measures.utility.queries import Workload

        return Workload(self.n_queries, self.n_predicates, self.selectivity, seed=self.seed)


def measure_point(job: Job, folder: Path, asked: UtilityRequest) -> dict[str, Any]:
    """Run a job into a private folder; return its figures, or why there is no release."""
    try:
        return _measure_release(job, folder, asked)
    except InfeasibleError as error:
        return {"status": INFEASIBLE, "reason": f"{error.what}. {error.remedy}".strip()}
    except AuditError as error:
        return {"status": REFUSED, "reason": error.what}
    except InputError as error:
        return {"status": UNFIT, "reason": error.what, "remedy": error.remedy}


def _measure_release(job: Job, folder: Path, asked: UtilityRequest) -> dict[str, Any]:
    from incrowd.flow.run import run

    placed = _place_outputs(job, folder / "release")
    is_here = placed.release.key is not None
    if is_here:
        _compile(placed, folder / "few")
    used = _cpu_seconds()
    release = run(placed)
    used = _cpu_seconds() - used
    audit = release.audit
    figures: dict[str, Any] = {
        "status": RELEASED,
        "reason": "",
        "holds": audit.holds,
        "losses": audit.losses,
        "seconds": audit.seconds,
        "cpu_seconds": round(used, 4),
        "stages": audit.stages,
        "peak_memory_bytes": audit.peak_memory_bytes,
        "n_rows": audit.n_rows,
        "n_suppressed": audit.n_suppressed,
        "n_groups": audit.n_groups,
        "smallest_group": audit.smallest_group,
        "method": audit.method,
        "utility": {},
    }
    if is_here:
        figures["utility"] = _utility(_repeat_job(release, placed), folder, asked)
    return figures


def _cpu_seconds() -> float:
    """Return the processor time that this process and its children have taken."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _place_outputs(job: Job, folder: Path) -> Job:
    """Return the job with its release, and a key where rows lie here, in the private folder."""
    from incrowd.flow.outputs import default_output, resolve_target
    from incrowd.flow.placement import runs_out_of_core
    from incrowd.tables.locations import is_folder

    assert job.data is not None
    folder.mkdir(mode=0o700, exist_ok=True)
    name = Path(str(default_output(job.data)).rstrip("/")).name
    output = folder / ("release" + name.partition(".release")[2])
    if is_folder(job.data):
        return replace(job, output=f"{folder}/release/" if job.shape == TABLES else output)
    placed = replace(job, output=output)
    if runs_out_of_core(placed, resolve_target(placed, False)):
        return placed
    keys = folder.parent / "key"
    keys.mkdir(mode=0o700, exist_ok=True)
    return _with_key(placed, str(keys / "key.csv"))


def _compile(job: Job, folder: Path) -> None:
    """Run the job on its first few rows, so that all its loops are there; what fails is told
    later, by the whole data."""
    from incrowd.flow.run import run
    from incrowd.job.inputs import read_input
    from incrowd.sets.files import read_set_file, write_sets
    from incrowd.sets.sets import IN_MEMORY
    from incrowd.tables.files.write import write_table

    folder.mkdir(mode=0o700)
    source = Path(str(job.data))
    few = folder / ("few" + "".join(Path(str(job.output)).suffixes))
    n_rows = max(FEW, 4 * cast(Any, job.guarantee).k)
    try:
        if job.shape != TABLES:
            import numpy as np

            read = read_set_file(source, job.sets.reading(job.input), IN_MEMORY)
            write_sets(read.sets.take(np.arange(min(n_rows, read.sets.n_rows))), few, read.format)
        else:
            table = read_input(source, job.input)
            write_table(table.frame.slice(0, n_rows), few, table.format)
        output = folder / ("release" + "".join(Path(str(job.output)).suffixes))
        brief = replace(job, data=few, output=output, method=_brief(job.method))
        run(_with_key(brief, None))
    except IncrowdError:
        return


def _brief(method: Any) -> Any:
    """Return a method with the same loops and hardly any effort."""
    changes = {
        item.name: BRIEF
        for item in fields(method)
        if item.name in ("effort", "polish", "improve")
        and getattr(method, item.name) not in (None, "none")
    }
    return replace(method, **changes)


def _utility(job: Job, folder: Path, asked: UtilityRequest) -> dict[str, Any]:
    from incrowd.measures.utility.queries import queries_finding
    from incrowd.measures.utility.statistics import statistics_finding

    material = repeated_material(job)
    queries = queries_finding(material, asked.workload()).figures
    statistics = statistics_finding(material).figures
    found: dict[str, Any] = {"queries": queries}
    if job.shape != TABLES:
        found["statistics"] = {
            name: statistics[name] for name in ("mean_item_error", "mean_pair_error")
        }
    else:
        found["statistics"] = {
            "mean_distance": statistics["mean_distance"],
            "mean_change": statistics["pairs"]["mean_change"],
        }
        if asked.predict is not None:
            of_table: Any = material
            found["learning"] = _learning(job, of_table, folder, asked)
    return found


def repeated_material(job: Job) -> Material:
    """Return a job's release, as it lies in the private folder, beside its original."""

    return release_material(job, Path(str(job.output)), Path(str(job.release.key)))


def _learning(
    job: Job, material: TableMaterial, folder: Path, asked: UtilityRequest
) -> dict[str, Any]:
    """Hold rows back, anonymize the others alone, and learn from that release.

    Where columns are released as bits, rows are held back from learning alone.
    """
    from incrowd.encoding.derived import derive_columns
    from incrowd.flow.run import run
    from incrowd.job.inputs import read_input
    from incrowd.job.preparation import plan_job_reading
    from incrowd.measures.utility.learning import HELD_SHARE, choose_test_rows, learning_finding
    from incrowd.tables.files.write import write_table

    target = str(asked.predict)
    if cast(TableMethod, job.method).releases_bits:
        return learning_finding(material, target, seed=asked.seed).figures
    table = read_input(Path(str(job.data)), job.input)
    is_held = choose_test_rows(table, job.schema.person, HELD_SHARE, asked.seed)
    part = folder / "part"
    part.mkdir(mode=0o700)
    rest = part / ("rest" + "".join(Path(str(job.output)).suffixes))
    write_table(table.frame.filter(~is_held), rest, table.format)
    placed = _place_outputs(_with_key(replace(job, data=rest), None), part / "release")
    repeated = _repeat_job(run(placed), placed)
    ready, _, _ = derive_columns(plan_job_reading(repeated).read(table), repeated.hierarchy_specs)
    held_back = replace(ready, frame=ready.frame.filter(is_held))
    of_rest: Any = repeated_material(repeated)
    return learning_finding(of_rest, target, seed=asked.seed, held_back=held_back).figures


def _repeat_job(release: Release[None], placed: Job) -> Job:
    """Return the job that repeats a release, with its release and key where they lie."""
    settled = replace(release.job or placed, output=placed.output)
    return _with_key(settled, placed.release.key)


def _with_key(job: Job, key: str | None) -> Job:
    changes: dict[str, Any] = {"release": replace(job.release, key=key)}
    return replace(job, **changes)


def encode_request(job: Job, folder: Path, asked: UtilityRequest) -> str:
    """Return what the process of a point is told."""
    stated = {"job": job.to_mapping(), "folder": str(folder), "asked": asdict(asked)}
    return json.dumps(stated)


def _main() -> None:
    from incrowd.job.job import Job

    request = json.load(sys.stdin)
    job = Job.from_mapping(request["job"])
    try:
        answer = measure_point(job, Path(request["folder"]), UtilityRequest(**request["asked"]))
    except KeyboardInterrupt:
        return
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        line = "" if trace is None else f" at line {trace.tb_lineno} of "
        line += "" if trace is None else Path(trace.tb_frame.f_code.co_filename).name
        answer = {"status": INTERNAL, "reason": f"{type(error).__name__}{line}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    _main()
