"""Packages that only some workloads need: a missing one is told with how to get it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from incrowd.errors import InputError


def require_bench_extra(what: str) -> dict[str, str]:
    """Return the versions of what the extra ``bench`` brings; raise where one is missing."""
    found = {}
    for package in ("scikit-learn", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            raise InputError(
                f"{what} needs {package}, which is not installed",
                remedy="Install it with  pip install 'incrowd[bench]'",
            ) from None
    return found
