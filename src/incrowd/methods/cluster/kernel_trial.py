"""Lists of near rows made for their own sake, so that their time can be taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.compiling import compiled
from incrowd.methods.cluster.kernel_near import Near, list_near
from incrowd.methods.cluster.kernel_state import Space


@compiled
def list_rows(space: Space, near: Near, rows: NDArray[np.int64], random: NDArray[np.int64]) -> None:
    """Make the lists of these distinct rows, where they are not made yet."""
    for distinct in rows:
        list_near(space, near, distinct, random)
