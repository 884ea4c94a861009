"""Tables of pandas, Polars and Arrow as rows: the odd ones, too."""

from decimal import Decimal

import pandas
import polars
import pyarrow
import pytest

from rotting._core.frames import rows_of
from rotting.errors import BadValue

ROWS = [{"arm": "red", "reward": 0.5}, {"arm": "green", "reward": 1.0}]


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table.from_pylist])
def test_rows_go_through(make):
    assert rows_of(make(ROWS)) == ROWS


def test_exact_decimals_are_numbers():
    exact = pyarrow.table({"arm": ["red"], "reward": pyarrow.array([Decimal("0.25")], pyarrow.decimal128(5, 2))})
    assert rows_of(exact) == rows_of(polars.from_arrow(exact)) == [{"arm": "red", "reward": 0.25}]


@pytest.mark.parametrize(
    "twins",
    [
        pandas.DataFrame([["red", 0.0, 1.0]], columns=["arm", "reward", "reward"]),
        pyarrow.Table.from_arrays([["red"], [0.0], [1.0]], names=["arm", "reward", "reward"]),
    ],
    ids=["pandas", "arrow"],
)
def test_two_columns_of_one_name_are_refused(twins):
    """The last one was taken."""
    with pytest.raises(BadValue, match="'reward' 2 columns"):
        rows_of(twins)
