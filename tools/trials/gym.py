"""Environments are known, and policies play them."""

import gymnasium

import rotting.gym

played = rotting.gym.play("FEWA()", gymnasium.make("rotting/TenArm-v0", horizon=20), seed=1)
assert len(played.arms) == 20
