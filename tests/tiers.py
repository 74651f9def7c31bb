"""How thorough a run of the tests is: the fast tier of ``./dev test``, or everything.

The fast tier leaves out tests marked ``slow`` and runs with ``--hypothesis-profile=fast``.
"""

from hypothesis import settings

# of a property that does not say how many
EXAMPLES = {"fast": 10, "full": 60}


def examples(number, **more):
    """Settings of a property that deserves ``number`` examples; the fast tier takes its share."""
    share = settings.default.max_examples / EXAMPLES["full"]
    return settings(max_examples=max(3, round(number * share)), **more)
