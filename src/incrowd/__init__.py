"""incrowd releases data about people so that nobody's row stands alone.

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
    from incrowd.attacks.composition import composition_finding as composition_finding
    from incrowd.attacks.findings import attack_findings as attack_findings
    from incrowd.audit import Audit as Audit
    from incrowd.audit import Owner as Owner
    from incrowd.data.coding import Coding as Coding
    from incrowd.data.hierarchy import Hierarchy as Hierarchy
    from incrowd.data.hierarchy_files import read_hierarchy as read_hierarchy
    from incrowd.data.hierarchy_files import write_hierarchy as write_hierarchy
    from incrowd.data.read_generalized import read_generalized as read_generalized
    from incrowd.data.samples import census as sample_census
    from incrowd.data.schema import Schema as Schema
    from incrowd.errors import AuditError as AuditError
    from incrowd.errors import IncrowdError as IncrowdError
    from incrowd.errors import InfeasibleError as InfeasibleError
    from incrowd.errors import InputError as InputError
    from incrowd.guarantees.adaptive import AdaptiveAnonymity as AdaptiveAnonymity
    from incrowd.guarantees.differential_privacy import EdgeDp as EdgeDp
    from incrowd.guarantees.differential_privacy import NodeDp as NodeDp
    from incrowd.guarantees.evidence import Finding as Finding
    from incrowd.guarantees.k_anonymity import KAnonymity as KAnonymity
    from incrowd.guarantees.rules import KmAnonymity as KmAnonymity
    from incrowd.guarantees.rules import RuleProtection as RuleProtection
    from incrowd.guarantees.sets import Majority as Majority
    from incrowd.guarantees.sets import Smooth as Smooth
    from incrowd.guarantees.sets import Suppression as Suppression
    from incrowd.job import Job as Job
    from incrowd.job import ReleaseOptions as ReleaseOptions
    from incrowd.methods.adaptive.method import Adaptive as Adaptive
    from incrowd.methods.cluster.method import Cluster as Cluster
    from incrowd.methods.facility.method import Facility as Facility
    from incrowd.methods.full_domain.method import FullDomain as FullDomain
    from incrowd.methods.greedy.method import Greedy as Greedy
    from incrowd.methods.microaggregate.method import Microaggregate as Microaggregate
    from incrowd.methods.mondrian.method import Mondrian as Mondrian
    from incrowd.methods.randomized_response.method import RandomizedResponse as RandomizedResponse
    from incrowd.methods.rbat.method import Rbat as Rbat
    from incrowd.methods.set_cluster.method import SetCluster as SetCluster
    from incrowd.methods.set_mondrian.method import SetMondrian as SetMondrian
    from incrowd.pipeline import anonymize as anonymize
    from incrowd.pipeline import check as check
    from incrowd.pipeline import run as run
    from incrowd.release import Release as Release
    from incrowd.risk.finding import risk_finding as risk_finding
    from incrowd.set_job import RuleInput as RuleInput
    from incrowd.set_job import SetInput as SetInput
    from incrowd.set_job import SetJob as SetJob
    from incrowd.set_job import SetReleaseOptions as SetReleaseOptions

_HOME = {
    "Adaptive": "incrowd.methods.adaptive.method",
    "AdaptiveAnonymity": "incrowd.guarantees.adaptive",
    "Audit": "incrowd.audit",
    "AuditError": "incrowd.errors",
    "Cluster": "incrowd.methods.cluster.method",
    "Coding": "incrowd.data.coding",
    "EdgeDp": "incrowd.guarantees.differential_privacy",
    "Facility": "incrowd.methods.facility.method",
    "Finding": "incrowd.guarantees.evidence",
    "FullDomain": "incrowd.methods.full_domain.method",
    "Greedy": "incrowd.methods.greedy.method",
    "Hierarchy": "incrowd.data.hierarchy",
    "IncrowdError": "incrowd.errors",
    "InfeasibleError": "incrowd.errors",
    "InputError": "incrowd.errors",
    "Job": "incrowd.job",
    "KAnonymity": "incrowd.guarantees.k_anonymity",
    "KmAnonymity": "incrowd.guarantees.rules",
    "Majority": "incrowd.guarantees.sets",
    "Microaggregate": "incrowd.methods.microaggregate.method",
    "Mondrian": "incrowd.methods.mondrian.method",
    "NodeDp": "incrowd.guarantees.differential_privacy",
    "Owner": "incrowd.audit",
    "RandomizedResponse": "incrowd.methods.randomized_response.method",
    "Rbat": "incrowd.methods.rbat.method",
    "Release": "incrowd.release",
    "ReleaseOptions": "incrowd.job",
    "RuleInput": "incrowd.set_job",
    "RuleProtection": "incrowd.guarantees.rules",
    "Schema": "incrowd.data.schema",
    "SetCluster": "incrowd.methods.set_cluster.method",
    "SetInput": "incrowd.set_job",
    "SetJob": "incrowd.set_job",
    "SetMondrian": "incrowd.methods.set_mondrian.method",
    "SetReleaseOptions": "incrowd.set_job",
    "Smooth": "incrowd.guarantees.sets",
    "Suppression": "incrowd.guarantees.sets",
    "anonymize": "incrowd.pipeline",
    "attack_findings": "incrowd.attacks.findings",
    "check": "incrowd.pipeline",
    "composition_finding": "incrowd.attacks.composition",
    "read_generalized": "incrowd.data.read_generalized",
    "read_hierarchy": "incrowd.data.hierarchy_files",
    "risk_finding": "incrowd.risk.finding",
    "run": "incrowd.pipeline",
    "sample_census": "incrowd.data.samples:census",
    "write_hierarchy": "incrowd.data.hierarchy_files",
}

__all__ = [
    "Adaptive",
    "AdaptiveAnonymity",
    "Audit",
    "AuditError",
    "Cluster",
    "Coding",
    "EdgeDp",
    "Facility",
    "Finding",
    "FullDomain",
    "Greedy",
    "Hierarchy",
    "IncrowdError",
    "InfeasibleError",
    "InputError",
    "Job",
    "KAnonymity",
    "KmAnonymity",
    "Majority",
    "Microaggregate",
    "Mondrian",
    "NodeDp",
    "Owner",
    "RandomizedResponse",
    "Rbat",
    "Release",
    "ReleaseOptions",
    "RuleInput",
    "RuleProtection",
    "Schema",
    "SetCluster",
    "SetInput",
    "SetJob",
    "SetMondrian",
    "SetReleaseOptions",
    "Smooth",
    "Suppression",
    "__version__",
    "anonymize",
    "attack_findings",
    "check",
    "composition_finding",
    "read_generalized",
    "read_hierarchy",
    "risk_finding",
    "run",
    "sample_census",
    "write_hierarchy",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'incrowd' has no attribute {name!r}")
    module, _, inner = _HOME[name].partition(":")
    return getattr(import_module(module), inner or name)


def __dir__() -> list[str]:
    return __all__
