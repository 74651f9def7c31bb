"""Which jobs can leave their rows where they lie."""

from __future__ import annotations

from incrowd.data.specs import MEAN
from incrowd.guarantees.k_anonymity import KAnonymity
from incrowd.job import Job


def why_not_spread(job: Job) -> str:
    """Return why a job's rows must lie in this process; nothing where they may be spread.

    Where groups are tested by their size alone, the distinct rows and their numbers are enough.
    """
    guarantee, release = job.guarantee, job.release
    means = any(spec.kind == MEAN for spec in job.hierarchies.values())
    reasons = {
        f"the guarantee {guarantee.name} compares rows": not isinstance(guarantee, KAnonymity),
        "l and t look at the values of every group": guarantee.l is not None
        or guarantee.t is not None,
        "people have a k of their own": bool(guarantee.k_column or guarantee.k_rules),
        "groups count people": job.schema.person is not None,
        "stars are wildcards": guarantee.stars != "as-value",
        "a key numbers the rows": release.key is not None,
        "a report shows all rows together": release.report is not None,
        "a policy is saved with its release": release.save_policy is not None,
        "rows keep their order": release.keep_order,
        "rows may be suppressed": release.suppression_limit > 0,
        "values are coded or binned": bool(job.coding or job.bins) or means,
        f"method {job.method.name} looks at every row as it is set": not getattr(
            job.method, "spreads", False
        ),
    }
    return next((reason for reason, is_so in reasons.items() if is_so), "")
