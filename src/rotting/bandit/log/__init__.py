"""The log of one bandit: the state in step with it, snapshots, compaction, proofs, and what is read of it."""
