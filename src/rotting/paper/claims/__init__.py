"""The paper's claims, in its order: each file adds its own to the list."""

# isort: off
from rotting.paper.claims.judging import CLAIMS, DIFFERS, FAILS, HOLDS, Judgement, judge
from rotting.paper.claims import two_arm, ten_arm, others
# isort: on

__all__ = ["CLAIMS", "DIFFERS", "FAILS", "HOLDS", "Judgement", "judge", "others", "ten_arm", "two_arm"]
