"""Transcripts in the docs: commands with what they print, replayed and held against the page.

``python -m end_to_end.transcripts``, in the folder ``tests``, writes today's output into the pages.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from command_line import call

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs/walkthroughs/hospital.md"]
BLOCK = re.compile(r"^```console\n(.*?)^```\n", re.M | re.S)


def replay(text, folder):
    """Return a page's text with the output of every command as it is now; run in a folder."""

    def renew(block):
        lines = []
        for command in [line for line in block[1].splitlines() if line.startswith("$ ")]:
            lines += [command, *printed(command, folder)]
        return "```console\n" + "\n".join(lines) + "\n```\n"

    return BLOCK.sub(renew, text)


def printed(command, folder):
    """Run a command; return what somebody sees of it, progress left out."""
    name, *words = shlex.split(command.removeprefix("$ "), comments=True)
    stated = re.search(r"# exit (\d+)", command)
    status = int(stated[1]) if stated else 0
    if name != "incrowd":
        subprocess.run([name, *words], cwd=folder, check=True)
        return []
    ran = call(*words, folder=folder)
    assert ran.status == status, (command, ran.err)
    told = [line for line in ran.err.splitlines() if not line.endswith("…")]
    seen = [*told, *ran.out.splitlines()]
    return [line.replace(f"{folder}/", "").rstrip() for line in seen]


def renew_pages():
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(replay(page.read_text("utf-8"), Path(folder).resolve()), "utf-8")


if __name__ == "__main__":
    sys.exit(renew_pages())
