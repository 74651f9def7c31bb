"""Released sets beside their original: which original items stand behind each released one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.data.generalized import members_of
from incrowd.data.set_matching import NOT_THERE, same_items
from incrowd.data.set_names import item_names_of

if TYPE_CHECKING:
    from incrowd.figures.material import OwnSets, SetMaterial


def owned_sets(material: SetMaterial) -> OwnSets:
    """Return what only the owner has: without it nothing can be compared."""
    if material.own is None:
        raise ValueError("utility compares a release with its original, which only its owner has")
    return material.own


def members_behind(material: SetMaterial) -> list[list[int]]:
    """Return the original items that each released item stands for; none for one that is new."""
    own = owned_sets(material)
    if own.part_of_item is not None:
        names = [str(name) for name in item_names_of(own.original).to_pylist()]
        item_of_name = {name: item for item, name in enumerate(names)}
        return [
            [item_of_name[name] for name in members_of(str(label))]
            for label in item_names_of(material.released).to_pylist()
        ]
    behind = own.original_item
    if behind is None:
        behind = same_items(material.released, own.original)
    return [[] if item == NOT_THERE else [item] for item in behind.tolist()]
