"""The package itself as a file that workers import it from, where it is not installed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import incrowd

_NO_TIME = (1980, 1, 1, 0, 0, 0)


def package_parent() -> Path:
    """Return the folder that this package is imported from."""
    return Path(incrowd.__file__).parent.parent


def write_package(directory: Path) -> Path:
    """Write the package's modules as a zip file and return its path."""
    parent = package_parent()
    target = directory / "incrowd.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((parent / "incrowd").rglob("*.py")):
            entry = zipfile.ZipInfo(path.relative_to(parent).as_posix(), _NO_TIME)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target
