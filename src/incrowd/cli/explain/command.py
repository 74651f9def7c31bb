"""``incrowd explain``: print topics, or list them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.completion import complete_topic
from incrowd.cli.flags import AsJson, Debug
from incrowd.cli.terminal import results

if TYPE_CHECKING:
    from incrowd.cli.explain.topics import Topic


def explain_command(
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC]",
            help="A guarantee, method, flag, finding, loss, file format or paper.",
            autocompletion=complete_topic,
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Explain a guarantee, method, flag, finding, loss, file format or paper in plain words.

    Without a topic all topics are listed. The papers' own names lead to what they are called
    here: gkaa, mce, k-majority, mr-rbat.

    [bold]Examples[/bold]

        incrowd explain k-anonymity

        incrowd explain --suppression-limit

        incrowd explain stand-in
    """
    from incrowd.cli.explain.topics import all_topics, find_topics

    if not topic:
        topics = list(all_topics())
        if as_json:
            listed = [{"kind": one.kind, "name": one.name} for one in topics]
            print(json.dumps(listed, indent=2, ensure_ascii=False))
        else:
            _list_topics(topics)
        return 0
    found = find_topics(" ".join(topic))
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2, ensure_ascii=False))
    else:
        for place, one in enumerate(found):
            _show_topic(one, is_first=place == 0)
    return 0


def _list_topics(topics: list[Topic]) -> None:
    from rich.text import Text

    from incrowd.cli.explain.topics import KINDS, paper_names

    console = results()
    for kind in KINDS:
        names = [topic.name for topic in topics if topic.kind == kind]
        heading = "hierarchies" if kind == "hierarchy" else f"{kind}s"
        heading = "losses" if kind == "loss" else heading
        console.print(Text(heading, style="bold"))
        console.print(Text(", ".join(names)), soft_wrap=False, width=console.width)
    console.print(Text("names in papers", style="bold"))
    console.print(Text(", ".join(paper_names())), soft_wrap=False, width=console.width)
    console.print("incrowd explain TOPIC tells more of each.")


def _show_topic(topic: Topic, *, is_first: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console = results()
    if not is_first:
        console.print()
    console.print(Text.assemble((topic.name, "bold"), (f"  ({topic.kind})", "dim")))
    for paragraph in topic.paragraphs:
        if paragraph:
            console.print(Padding(Text(paragraph), (0, 0, 0, 2)), soft_wrap=False)
    if topic.example:
        console.print(Text("  Example:", style="bold"))
        console.print(Text(f"    {topic.example}", style="cyan"), soft_wrap=True)
    if topic.see:
        console.print(Text(f"  See also: {', '.join(topic.see)}", style="dim"), soft_wrap=True)
