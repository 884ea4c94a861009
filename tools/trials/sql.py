"""A bandit decides, learns and verifies."""

from rotting import Bandit, EffFEWA

with Bandit.open("sqlite:///x.db", "x", EffFEWA(sigma=0.5), ["a", "b"]) as bandit:
    bandit.reward(bandit.decide().id, 1.0)
    assert bandit.verify().rewards == 1
    assert "EffFEWA" in str(bandit.report())
