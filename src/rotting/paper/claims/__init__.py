"""The paper's claims, in its order, then those beyond it: each file adds its own to the list."""

# isort: off
from rotting.paper.claims.judging import CLAIMS, DIFFERS, FAILS, HOLDS, Claim, Judgement, judge
from rotting.paper.claims import two_arm, ten_arm, others, theorems, levine, beyond
# isort: on

__all__ = [
    "CLAIMS",
    "DIFFERS",
    "FAILS",
    "HOLDS",
    "Claim",
    "Judgement",
    "beyond",
    "judge",
    "levine",
    "others",
    "ten_arm",
    "theorems",
    "two_arm",
]
