"""One way to check: a request, in; an audit of what was loaded, out."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from incrowd.audit import Audit
from incrowd.checking.material import Material
from incrowd.checking.request import Request
from incrowd.forks import refuse_lost_threads
from incrowd.guarantees.evidence import TABLES
from incrowd.progress import log
from incrowd.summaries import verdict
from incrowd.tables.frames import is_spark_frame
from incrowd.tables.locations import is_folder


class CheckedRelease(Protocol):
    """A release that was checked."""

    @property
    def audit(self) -> Audit:
        """What was found."""

    def material(self) -> Material:
        """Return what figures and reports are computed from."""


def check_release(request: Request) -> CheckedRelease:
    """Load a release with what its owner brings, and audit it; nothing is written.

    Raises InputError where it cannot be checked. A folder of part files and a Spark frame are
    audited where their rows lie.
    """
    refuse_lost_threads()
    checked = _check(request)
    audit = checked.audit
    log.info("checked: %s %s, %s", audit.guarantee["name"], verdict(audit.holds), audit.crowds)
    return checked


def _check(request: Request) -> CheckedRelease:
    if request.guarantee.shape != TABLES:
        if request.engine.name == "spark" and request.guarantee.name == "rules":
            from incrowd.checking.transactions import check_on_engine, why_in_process

            reason = why_in_process(request)
            if not reason:
                return check_on_engine(request)
            log.warning("this process reads all transactions, since %s", reason)
        from incrowd.checking.sets import check_sets

        return check_sets(request)
    is_path = isinstance(request.released, (str, Path))
    if is_spark_frame(request.released) or (is_path and is_folder(request.released)):
        from incrowd.checking.out_of_core import check_out_of_core

        return check_out_of_core(request)
    from incrowd.checking.tables import check_table

    return check_table(request)
