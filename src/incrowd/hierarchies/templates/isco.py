"""ISCO-08: an occupation's minor, sub-major and major group, by the digits of its code."""

from __future__ import annotations

import re

MAJOR_GROUPS = {
    "0": "Armed forces occupations",
    "1": "Managers",
    "2": "Professionals",
    "3": "Technicians and associate professionals",
    "4": "Clerical support workers",
    "5": "Service and sales workers",
    "6": "Skilled agricultural forestry and fishery workers",
    "7": "Craft and related trades workers",
    "8": "Plant and machine operators and assemblers",
    "9": "Elementary occupations",
}
N_SUB_MAJOR_GROUPS = {
    "0": 3,
    "1": 4,
    "2": 6,
    "3": 5,
    "4": 4,
    "5": 4,
    "6": 3,
    "7": 5,
    "8": 3,
    "9": 6,
}
"""The sub-major groups of a major group are numbered from 1."""

SUB_MAJOR_GROUPS = frozenset(
    f"{major}{number}" for major, n in N_SUB_MAJOR_GROUPS.items() for number in range(1, n + 1)
)
_ARMED_FORCES = {"110": "0110", "210": "0210", "310": "0310"}  # without their leading zero

_CODE = re.compile(r"([0-9]{1,4})(?:\.[0-9]+)*")  # '2512.1' is a code of ESCO, below ISCO's


def place_occupation(value: str) -> tuple[str, ...] | None:
    """Return the groups of a code of one to four digits; None where ISCO-08 has no such code."""
    found = _CODE.fullmatch(value.strip())
    if found is None:
        return None
    code = _ARMED_FORCES.get(found[1], found[1])
    if len(code) > 1 and code[:2] not in SUB_MAJOR_GROUPS:
        return None
    major = f"{code[0]} {MAJOR_GROUPS[code[0]]}"
    minor = f"{code[:3]}*" if len(code) >= 3 else value
    sub_major = f"{code[:2]}**" if len(code) >= 2 else minor
    return minor, sub_major, major
