"""Made-up data to try incrowd on: a census with its hierarchies, a hospital's admissions."""

from incrowd.samples.census import Codes, Draws, census, census_hierarchies, write_sample
from incrowd.samples.hospital import admissions, write_hospital, write_workbook

__all__ = [
    "Codes",
    "Draws",
    "admissions",
    "census",
    "census_hierarchies",
    "write_hospital",
    "write_sample",
    "write_workbook",
]
