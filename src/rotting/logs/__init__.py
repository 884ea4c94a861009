"""What a log says: whether its arms wear out, how fast, and what would be gained."""

from rotting.logs.diagnosis import Diagnosis, diagnose
from rotting.logs.generating import Truth, make_log
from rotting.logs.model.cleaning import Burst
from rotting.logs.read.columns import LogError
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_rows
from rotting.logs.read.sources import LogSource
from rotting.logs.worth.arms import ArmDiagnosis
from rotting.logs.worth.estimates import Estimate
from rotting.logs.worth.fitting import problem_from_log
from rotting.logs.worth.gain import Gain
from rotting.logs.worth.recommending import Recommendation

__all__ = [
    "ArmDiagnosis",
    "Burst",
    "Diagnosis",
    "Estimate",
    "Gain",
    "LogError",
    "LogSource",
    "ReadOptions",
    "Recommendation",
    "Truth",
    "diagnose",
    "make_log",
    "problem_from_log",
    "read_rows",
]
