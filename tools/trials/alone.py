"""The package alone: it works, and what needs an extra says which."""

import rotting
from rotting.errors import MissingExtra

result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(horizon=50), runs=2, trace="actions")
assert result.sizes["run"] == 2
assert "UCB1" in result.rotting.table("latex")


def of_gymnasium() -> None:
    """Import what needs gymnasium."""
    import rotting.gym  # noqa: F401


def of_river() -> None:
    """Import what needs river."""
    import rotting.river  # noqa: F401


MISSING = {
    "rotting[sql]": lambda: rotting.Bandit.open("postgresql://x/x", "x", rotting.EffFEWA(), ["a", "b"]),
    "rotting[logs]": lambda: rotting.diagnose(rotting.logs.make_log(arms=2, exposures=50)),
    "rotting[gym]": of_gymnasium,
    "rotting[river]": of_river,
    "rotting[traces]": lambda: rotting.simulation.write_traces("x.zarr", result),
    "rotting[cuda]": lambda: rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(), runs=1, device="cuda"),
    "rotting[dask]": lambda: rotting.sweep("UCB1", "two_arm", 1, out="swept", horizon=9, cluster="tcp://127.0.0.1:1"),
}
for extra, attempt in MISSING.items():
    said = ""
    try:
        attempt()
    except MissingExtra as error:
        said = str(error)
    assert extra in said, f"without {extra}: {said!r}"
