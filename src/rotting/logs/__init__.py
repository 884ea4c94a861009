"""What a log says: whether its arms wear out, how fast, and what would be gained."""

from rotting.logs.arms import ArmDiagnosis
from rotting.logs.cleaning import Burst
from rotting.logs.columns import LogError
from rotting.logs.diagnosis import Diagnosis, diagnose
from rotting.logs.estimates import Estimate
from rotting.logs.fitting import problem_from_log
from rotting.logs.gain import Gain
from rotting.logs.generating import Truth, make_log
from rotting.logs.reading import read_rows
from rotting.logs.recommending import Recommendation
from rotting.logs.sources import LogSource

__all__ = [
    "ArmDiagnosis",
    "Burst",
    "Diagnosis",
    "Estimate",
    "Gain",
    "LogError",
    "LogSource",
    "Recommendation",
    "Truth",
    "diagnose",
    "make_log",
    "problem_from_log",
    "read_rows",
]
