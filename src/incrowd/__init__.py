"""incrowd anonymizes personal data and verifies the file it publishes.

>>> import incrowd as ic
>>> frame = ic.sample_census(500)
>>> job = ic.Job(
...     schema=ic.Schema(quasi=["age", "sex", "zip"], sensitive=["diagnosis"]),
...     guarantee=ic.KAnonymity(5),
... )
>>> release = ic.anonymize(frame, job)
>>> release.audit.holds, release.audit.smallest_group >= 5
(True, True)
>>> ic.check(release.data, ic.KAnonymity(5), job.schema).holds
True

Everything public is here; it is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from incrowd.version import __version__

if TYPE_CHECKING:
    from incrowd import covers
    from incrowd.api import (
        anonymize,
        check,
        compare,
        init,
        midpoints,
        run,
        verify_certificate,
    )
    from incrowd.audit import Audit, Losses
    from incrowd.comparing.comparison import Comparison
    from incrowd.encoding.coding import Coding
    from incrowd.engines.choice import EngineChoice
    from incrowd.errors import AuditError, IncrowdError, InfeasibleError, InputError
    from incrowd.flow.release import Release
    from incrowd.guarantees.adaptive.promise import AdaptiveAnonymity
    from incrowd.guarantees.evidence import Finding
    from incrowd.guarantees.sets.differential_privacy import EdgeDp, NodeDp
    from incrowd.guarantees.sets.promises import Majority, Smooth, Suppression
    from incrowd.guarantees.table import Guarantee
    from incrowd.guarantees.tables.k_anonymity import KAnonymity
    from incrowd.guarantees.transactions.promises import KmAnonymity, RuleProtection
    from incrowd.hierarchies.files import read_hierarchy, write_hierarchy
    from incrowd.hierarchies.tree import Hierarchy
    from incrowd.job.documents import ReleaseOptions
    from incrowd.job.inputs import InputOptions, RuleInput, SetInput
    from incrowd.job.job import Job
    from incrowd.measures.options import (
        AttackOptions,
        CompositionOptions,
        RiskOptions,
        UtilityOptions,
    )
    from incrowd.methods.adaptive.method import Adaptive
    from incrowd.methods.base import Method
    from incrowd.methods.cluster.method import Cluster
    from incrowd.methods.facility.method import Facility
    from incrowd.methods.full_domain.method import FullDomain
    from incrowd.methods.greedy.method import Greedy
    from incrowd.methods.microaggregate.method import Microaggregate
    from incrowd.methods.mondrian.method import Mondrian
    from incrowd.methods.randomized_response.method import RandomizedResponse
    from incrowd.methods.rbat.method import Rbat
    from incrowd.progress import Progress
    from incrowd.proposing.job import JobProposal
    from incrowd.report.plot import Plot
    from incrowd.samples.census import census as sample_census
    from incrowd.tables.schema import Schema
    from incrowd.transactions.generalized import read_generalized

_HOME = {
    "Adaptive": "incrowd.methods.adaptive.method",
    "AdaptiveAnonymity": "incrowd.guarantees.adaptive.promise",
    "AttackOptions": "incrowd.measures.options",
    "Audit": "incrowd.audit",
    "AuditError": "incrowd.errors",
    "Cluster": "incrowd.methods.cluster.method",
    "Coding": "incrowd.encoding.coding",
    "Comparison": "incrowd.comparing.comparison",
    "CompositionOptions": "incrowd.measures.options",
    "EdgeDp": "incrowd.guarantees.sets.differential_privacy",
    "EngineChoice": "incrowd.engines.choice",
    "Facility": "incrowd.methods.facility.method",
    "Finding": "incrowd.guarantees.evidence",
    "FullDomain": "incrowd.methods.full_domain.method",
    "Greedy": "incrowd.methods.greedy.method",
    "Guarantee": "incrowd.guarantees.table",
    "Hierarchy": "incrowd.hierarchies.tree",
    "IncrowdError": "incrowd.errors",
    "InfeasibleError": "incrowd.errors",
    "InputError": "incrowd.errors",
    "InputOptions": "incrowd.job.inputs",
    "Job": "incrowd.job.job",
    "JobProposal": "incrowd.proposing.job",
    "KAnonymity": "incrowd.guarantees.tables.k_anonymity",
    "KmAnonymity": "incrowd.guarantees.transactions.promises",
    "Losses": "incrowd.audit",
    "Majority": "incrowd.guarantees.sets.promises",
    "Method": "incrowd.methods.base",
    "Microaggregate": "incrowd.methods.microaggregate.method",
    "Mondrian": "incrowd.methods.mondrian.method",
    "NodeDp": "incrowd.guarantees.sets.differential_privacy",
    "Plot": "incrowd.report.plot",
    "Progress": "incrowd.progress",
    "RandomizedResponse": "incrowd.methods.randomized_response.method",
    "Rbat": "incrowd.methods.rbat.method",
    "Release": "incrowd.flow.release",
    "ReleaseOptions": "incrowd.job.documents",
    "RiskOptions": "incrowd.measures.options",
    "RuleInput": "incrowd.job.inputs",
    "RuleProtection": "incrowd.guarantees.transactions.promises",
    "Schema": "incrowd.tables.schema",
    "SetInput": "incrowd.job.inputs",
    "Smooth": "incrowd.guarantees.sets.promises",
    "Suppression": "incrowd.guarantees.sets.promises",
    "UtilityOptions": "incrowd.measures.options",
    "anonymize": "incrowd.api",
    "check": "incrowd.api",
    "compare": "incrowd.api",
    "init": "incrowd.api",
    "midpoints": "incrowd.api",
    "read_generalized": "incrowd.transactions.generalized",
    "read_hierarchy": "incrowd.hierarchies.files",
    "run": "incrowd.api",
    "sample_census": "incrowd.samples.census:census",
    "verify_certificate": "incrowd.api",
    "write_hierarchy": "incrowd.hierarchies.files",
}

__all__ = [
    "Adaptive",
    "AdaptiveAnonymity",
    "AttackOptions",
    "Audit",
    "AuditError",
    "Cluster",
    "Coding",
    "Comparison",
    "CompositionOptions",
    "EdgeDp",
    "EngineChoice",
    "Facility",
    "Finding",
    "FullDomain",
    "Greedy",
    "Guarantee",
    "Hierarchy",
    "IncrowdError",
    "InfeasibleError",
    "InputError",
    "InputOptions",
    "Job",
    "JobProposal",
    "KAnonymity",
    "KmAnonymity",
    "Losses",
    "Majority",
    "Method",
    "Microaggregate",
    "Mondrian",
    "NodeDp",
    "Plot",
    "Progress",
    "RandomizedResponse",
    "Rbat",
    "Release",
    "ReleaseOptions",
    "RiskOptions",
    "RuleInput",
    "RuleProtection",
    "Schema",
    "SetInput",
    "Smooth",
    "Suppression",
    "UtilityOptions",
    "__version__",
    "anonymize",
    "check",
    "compare",
    "covers",
    "init",
    "midpoints",
    "read_generalized",
    "read_hierarchy",
    "run",
    "sample_census",
    "verify_certificate",
    "write_hierarchy",
]


def __getattr__(name: str) -> Any:
    if name == "covers":
        return import_module("incrowd.covers")
    if name not in _HOME:
        raise AttributeError(f"module 'incrowd' has no attribute {name!r}")
    module, _, inner = _HOME[name].partition(":")
    return getattr(import_module(module), inner or name)


def __dir__() -> list[str]:
    return __all__
