"""Griffe extension: options as users see them.

Docstrings of options are completed when their classes are made (``options.documented``), so their
text and their defaults are read from the running classes, everything else from the source.
"""

from __future__ import annotations

from importlib import import_module
from inspect import Parameter, cleandoc, signature
from typing import Any

from griffe import Class, Docstring, Extension, Function, Module, Object


class OptionDocstrings(Extension):
    """Replace what the source says of a class with options by what the class says itself."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:  # noqa: ARG002
        for found in classes_of(pkg):
            if any("documented" in str(decorator.value) for decorator in found.decorators):
                complete(found)


def classes_of(part: Object) -> list[Class]:
    """Return all classes that are defined in a package."""
    classes = []
    for member in part.members.values():
        if member.is_alias:
            continue
        if isinstance(member, Class):
            classes.append(member)
        if isinstance(member, Module):
            classes += classes_of(member)
    return classes


def complete(found: Class) -> None:
    """Take the docstring and the defaults of a class from the class itself."""
    live = getattr(import_module(found.module.path), found.name)
    found.docstring = Docstring(cleandoc(live.__doc__), parent=found, lineno=found.lineno)
    stated = signature(live).parameters
    made = found.members.get("__init__")
    if not isinstance(made, Function):
        return
    for parameter in made.parameters:
        if parameter.name in stated:
            default = stated[parameter.name].default
            parameter.default = None if default is Parameter.empty else repr(default)
