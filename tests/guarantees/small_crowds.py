"""Few people with few values, masked at random or in groups, and their evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from incrowd.guarantees.adaptive.people import People
from incrowd.guarantees.evidence import Evidence


@st.composite
def small_people(draw, max_people=6, max_columns=3):
    """Return (originals, released): lists of tuples, None where a cell is masked."""
    n_columns = draw(st.integers(1, max_columns))
    cells = st.tuples(*[st.integers(0, 2)] * n_columns)
    masks = st.tuples(*[st.booleans()] * n_columns)
    people = draw(st.lists(st.tuples(cells, masks), min_size=1, max_size=max_people))
    originals = [own for own, _ in people]
    released = [
        tuple(None if hidden else cell for cell, hidden in zip(own, mask, strict=True))
        for own, mask in people
    ]
    return originals, released


def people_from(originals, released, k=1):
    """Number the cells of the oracle's rows."""
    wishes = [k] * len(originals) if isinstance(k, int) else k
    shown = [[-1 if cell is None else cell for cell in row] for row in released]
    return People(
        np.array(originals, dtype=np.int32),
        np.array(shown, dtype=np.int32),
        np.array(wishes, dtype=np.int64),
    )


def names_of(originals):
    return [f"c{place}" for place in range(len(originals[0]))]


def evidence_from(originals, released, k=None, sensitive=None, **more):
    """Write rows as text, ``*`` where masked, with the owner's column of wishes and the originals.

    A cell ``()`` is missing.
    """

    def text(cell):
        return "*" if cell is None else None if cell == () else str(cell)

    names = names_of(originals)

    def columns(rows):
        return {
            name: pa.array([text(row[place]) for row in rows], pa.string())
            for place, name in enumerate(names)
        }

    frame = columns(released)
    if k is not None:
        frame["wish"] = pa.array([str(wish) for wish in k])
    if sensitive is not None:
        frame["ill"] = pa.array(sensitive)
    evidence = Evidence.from_table(
        pa.table(frame),
        names,
        ["ill"] if sensitive is not None else [],
        k_column="wish" if k is not None else None,
        **more,
    )
    return replace(evidence, original=pa.table(columns(originals)))


def hosted(n_guests, n_hosts):
    """Return a release gamed by starred hosts at one popular profile, and everybody's wish.

    Each guest differs from the popular profile in a column of their own and masks only that one;
    the hosts mask everything. Guests and hosts are mutually compatible, so that a wish of
    ``n_hosts + 1`` is met exactly, while a guest's row can only be the guest's or a host's.
    """
    popular = (0,) * n_guests
    originals, released = [], []
    for guest in range(n_guests):
        own = list(popular)
        own[guest] = 1
        originals.append(tuple(own))
        own[guest] = None
        released.append(tuple(own))
    originals += [popular] * n_hosts
    released += [(None,) * n_guests] * n_hosts
    return originals, released, [n_hosts + 1] * n_guests + [1] * n_hosts


def ring(n_people):
    """Return a release in which each could be their own row or the last one's: two matchings."""
    places = range(n_people)
    originals = [tuple(int(column == person) for column in places) for person in places]
    released = [
        tuple(None if column in (person, (person + 1) % n_people) else 0 for column in places)
        for person in places
    ]
    return originals, released
