"""Execute the notebooks of the docs and keep their outputs: ``python -m docs_build.execute``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"


def executed(path: Path) -> Any:
    """Return a notebook with the outputs of a fresh kernel, and nothing that differs by the run."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, coalesce_streams=True).execute()
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "execute_result":
                    output.output_type = "display_data"
    return notebook


def main() -> None:
    """Execute all notebooks in place."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(path), path)


if __name__ == "__main__":
    main()
