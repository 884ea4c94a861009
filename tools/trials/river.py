"""A policy of the package chooses for river."""

from rotting.river import RiverPolicy

policy = RiverPolicy()
policy.update(policy.pull(["a", "b"]), 1.0)
assert policy.ranking == ["a"]
