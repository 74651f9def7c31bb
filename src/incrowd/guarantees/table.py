"""The guarantees by name: where a new one is listed."""

from __future__ import annotations

from incrowd.guarantees.adaptive import AdaptiveAnonymity
from incrowd.guarantees.k_anonymity import KAnonymity

Guarantee = KAnonymity | AdaptiveAnonymity

GUARANTEES: dict[str, type[KAnonymity] | type[AdaptiveAnonymity]] = {
    KAnonymity.name: KAnonymity,
    AdaptiveAnonymity.name: AdaptiveAnonymity,
}
