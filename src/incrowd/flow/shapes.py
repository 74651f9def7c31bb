"""Which adapter and which store serve a job: by the shape of its data and where its rows live."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, cast

from incrowd.engines.base import Engine, OutOfCoreEngine
from incrowd.flow.adapter import Adapter
from incrowd.flow.outputs import Target
from incrowd.flow.placement import why_not_out_of_core
from incrowd.guarantees.shapes import SETS, TABLES, TRANSACTIONS
from incrowd.job.job import Job
from incrowd.tables.frames import is_spark_frame
from incrowd.workspace import Workspace


def adapter_for_file(
    job: Job,
    target: Target,
    engine: Engine,
    workspace: Workspace,
    resources: ExitStack,
    *,
    force: bool,
) -> Adapter:
    """Return the steps for a job on files; what they keep open is closed with ``resources``."""
    if job.shape == TABLES and engine.is_out_of_core and not why_not_out_of_core(job):
        from incrowd.flow.out_of_core import OutOfCoreAdapter, OutOfCoreFile, OutOfCoreFolder

        rows = cast(OutOfCoreEngine, engine)
        if target.is_folder:
            folder = OutOfCoreFolder(job, target, rows, resources, force=force)
            return OutOfCoreAdapter(job, rows, folder)
        return OutOfCoreAdapter(job, rows, OutOfCoreFile(job, target, rows, workspace, resources))
    return _FOR_FILES[job.shape](job, target, engine, workspace)


def adapter_for_frame(job: Job, data: Any, engine: Engine) -> Adapter:
    """Return the steps for a job on a frame or a matrix in Python."""
    if job.shape == TABLES and is_spark_frame(data) and not why_not_out_of_core(job):
        from incrowd.flow.out_of_core import OutOfCoreAdapter, OutOfCoreFrame

        rows = cast(OutOfCoreEngine, engine)
        return OutOfCoreAdapter(job, rows, OutOfCoreFrame(data, rows))
    return _FOR_FRAMES[job.shape](job, data, engine)


def _table_file(job: Job, target: Target, engine: Engine, workspace: Workspace) -> Adapter:
    from incrowd.flow.tables import TableAdapter, TableFile

    return TableAdapter(job, engine, TableFile(job, target, engine, workspace))


def _set_file(job: Job, target: Target, engine: Engine, workspace: Workspace) -> Adapter:
    from incrowd.flow.sets import SetAdapter, SetFile

    return SetAdapter(job, engine, SetFile(job, target, workspace))


def _transaction_file(job: Job, target: Target, engine: Engine, workspace: Workspace) -> Adapter:
    from incrowd.flow.transactions import TransactionAdapter, TransactionFile

    return TransactionAdapter(job, engine, TransactionFile(job, target, workspace))


def _table_frame(job: Job, data: Any, engine: Engine) -> Adapter:
    from incrowd.flow.tables import TableAdapter, TableFrame

    return TableAdapter(job, engine, TableFrame(job, data, engine))


def _set_frame(job: Job, data: Any, engine: Engine) -> Adapter:
    from incrowd.flow.sets import SetAdapter, SetFrame

    return SetAdapter(job, engine, SetFrame(job, data))


def _transaction_frame(job: Job, data: Any, engine: Engine) -> Adapter:
    from incrowd.flow.transactions import TransactionAdapter, TransactionFrame

    return TransactionAdapter(job, engine, TransactionFrame(job, data))


_FOR_FILES = {TABLES: _table_file, SETS: _set_file, TRANSACTIONS: _transaction_file}
_FOR_FRAMES = {TABLES: _table_frame, SETS: _set_frame, TRANSACTIONS: _transaction_frame}
