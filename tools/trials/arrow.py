"""A bandit takes a table of Arrow, and exports one."""

import pyarrow
import pyarrow.parquet

from rotting import Bandit, EffFEWA

rows = pyarrow.table({"arm": ["a", "b"], "reward": [1.0, 0.0]})
with Bandit.open("sqlite:///x.db", "x", EffFEWA(sigma=0.5), warm_start=rows) as bandit:
    bandit.export("log.parquet")
assert "imported" in pyarrow.parquet.read_table("log.parquet")["kind"].to_pylist()
