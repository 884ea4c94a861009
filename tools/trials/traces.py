"""Traces are written as Zarr and read again."""

import xarray

import rotting

result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(horizon=50), runs=2, trace="actions")
rotting.simulation.write_traces("x.zarr", result)
with xarray.open_zarr("x.zarr") as read:
    assert (read["actions"] == result["actions"]).all()
