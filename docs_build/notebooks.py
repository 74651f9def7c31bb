"""MkDocs hook: every notebook of the docs is also a page.

``notebooks/tour.ipynb`` is shown as ``notebooks/tour.html`` with the outputs that it holds, and can
be downloaded as it is. The tests execute the notebooks and hold their outputs against these.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

Cell = dict[str, Any]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook."""
    for file in [one for one in files if one.src_uri.endswith(".ipynb")]:
        name = PurePosixPath(file.src_uri)
        page = page_of(json.loads(file.content_string), name.name)
        files.append(File.generated(config, str(name.with_suffix(".md")), content=page))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links from other pages to the page of a notebook, not to its download."""
    if page.file.generated_by:
        return markdown
    return re.sub(r"\]\(([^)]+)\.ipynb\)", r"](\1.md)", markdown)


def page_of(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown, its name linked under the title for download."""
    title, *cells = notebook["cells"]
    link = f"[Download this notebook]({name}){{ .md-button download }}"
    return "\n\n".join([text_of(title["source"]), link, *map(markdown_of, cells)]) + "\n"


def markdown_of(cell: Cell) -> str:
    """Return a cell: its text, or its code and what it showed."""
    source = text_of(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    blocks = [f"```python\n{source}\n```"]
    blocks += [shown for output in cell["outputs"] if (shown := output_of(output))]
    return "\n\n".join(blocks)


def output_of(output: Cell) -> str:
    """Return what a cell showed: a drawing or a table as HTML, anything else as text."""
    if output["output_type"] == "stream":
        return fenced(output["text"])
    data = output.get("data", {})
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            return f'<div class="notebook-output">{single_block(data[kind])}</div>'
    return fenced(data["text/plain"]) if "text/plain" in data else ""


def single_block(html: str | list[str]) -> str:
    """Return HTML as the site shows it: without a style of its own, and without blank lines.

    Markdown would end the block at a blank line; tables get the look of the site's own.
    """
    plain = re.sub(r"<style.*?</style>", "", text_of(html), flags=re.S)
    plain = re.sub(r'<table border="1" class="dataframe">', "<table>", plain)
    return "\n".join(line for line in plain.splitlines() if line.strip())


def fenced(text: str | list[str]) -> str:
    return f"```text\n{text_of(text).rstrip()}\n```"


def text_of(source: str | list[str]) -> str:
    """Return a notebook's text, which is one string or a list of lines."""
    return source if isinstance(source, str) else "".join(source)
