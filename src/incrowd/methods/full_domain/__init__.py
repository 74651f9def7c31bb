"""Full-domain recoding: one level of its hierarchy for each column, the same in every row."""

from incrowd.methods.full_domain.method import FullDomain

__all__ = ["FullDomain"]
