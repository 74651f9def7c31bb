"""How tests run a method of tables."""

from incrowd.engines.local.engine import LocalEngine
from incrowd.methods.shared.conditions import Conditions
from incrowd.progress import silent


def release(method, rows, conditions, seed=0, threads=1):
    """Run a method in this process; conditions may be one k."""
    asked = Conditions(conditions) if isinstance(conditions, int) else conditions
    return method.run(rows, asked, LocalEngine(threads), seed, silent)
