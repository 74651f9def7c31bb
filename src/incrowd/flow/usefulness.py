"""Warnings about a release that keeps its promise and is of little use, before it is published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from incrowd.flow.adapter import Checked
from incrowd.guarantees.evidence import SETS, TABLES
from incrowd.guarantees.table import TableGuarantee
from incrowd.job.job import Job
from incrowd.measures.outcomes import ColumnOutcome, format_share

MOST_NAMED = 3
"""Columns that are named as those that cost most."""

LEAST_NAMED = 0.1
"""Columns that lose less than this share are not named."""


def warnings_of_use(job: Job, checked: Checked) -> tuple[str, ...]:
    """Return what is wrong with the use of a release: too much is lost, or all of a column.

    The share that is too much is the job's ``warn_loss``. A warning names the columns that cost
    most and what to do.
    """
    limit, losses = job.release.warn_loss, checked.losses
    if job.shape == TABLES:
        outcomes = [] if checked.overview is None else list(checked.overview.outcomes)
        return _warnings_of_table(job, losses.get("loss", 0.0), outcomes)
    if job.shape == SETS:
        lost, of_what = losses.get("suppressed", 0.0), "entries are suppressed"
    else:
        lost, of_what = 1.0 - losses.get("share_ungeneralized", 1.0), "public items are generalized"
    if lost <= limit:
        return ()
    remedy = "State a smaller k or leave out items that few have"
    return (f"{format_share(lost)} of the {of_what}: the release is of little use. {remedy}",)


def _warnings_of_table(job: Job, loss: float, outcomes: Sequence[ColumnOutcome]) -> tuple[str, ...]:
    quasi = [outcome for outcome in outcomes if outcome.column in job.schema.quasi]
    costly = sorted(quasi, key=lambda outcome: (-outcome.loss, outcome.column))
    costly = [outcome for outcome in costly[:MOST_NAMED] if outcome.loss >= LEAST_NAMED]
    gone = [outcome.column for outcome in quasi if outcome.share_suppressed == 1.0]
    warnings = []
    if loss > job.release.warn_loss:
        named = ", ".join(f"{each.column} ({format_share(each.loss)} lost)" for each in costly)
        most = f" Most is lost in {named}." if costly else ""
        warnings.append(
            f"{format_share(loss)} of the information is lost: the release is of little use.{most} "
            f"{_advice(job, costly)}"
        )
    if gone:
        what = f"column {gone[0]!r} is" if len(gone) == 1 else f"columns {', '.join(gone)} are"
        flag = f"--identifying {','.join(gone)}"
        warnings.append(f"{what} suppressed in every row: leave out what nobody sees ({flag})")
    return tuple(warnings)


def _advice(job: Job, costly: Sequence[ColumnOutcome]) -> str:
    """Return what to do: fewer columns, rows left out, hierarchies with groups, a smaller k."""
    k = cast(TableGuarantee, job.guarantee).k
    ways = []
    if len(job.schema.quasi) > len(costly) > 0:
        columns = ",".join(outcome.column for outcome in costly)
        ways.append(f"leave out columns that nobody needs (--identifying {columns})")
    if not job.release.suppression_limit and not job.release.keep_order:
        ways.append("let a few rows be left out (--suppression-limit 0.05)")
    without = [outcome.column for outcome in costly if not outcome.has_groups]
    if without:
        ways.append(f"state a hierarchy with groups for {', '.join(without)}")
    if k > 2:
        ways.append(f"state a smaller k than {k}")
    return f"What helps: {'; '.join(ways)}" if ways else ""
