"""Structures inside rows become columns."""

import json

import pytest

from rotting.logs import LogError
from rotting.logs.read.reading import read_log

ROWS = [(f"2024-01-{day:02d}", ad, 1000 + day, 40) for day in range(1, 29) for ad in ("x", "y")]
TRUTH = {"x": (28_406, 1120), "y": (28_406, 1120)}
FLAT = [dict(zip(("day", "ad", "impressions", "clicks"), row, strict=True)) for row in ROWS]
DEEP = [
    {"segments": {"date": day}, "adGroupAd": {"ad": {"id": ad}}, "metrics": {"impressions": str(n), "clicks": str(c)}}
    for day, ad, n, c in ROWS
]


@pytest.mark.parametrize(
    "content", [FLAT, {"data": FLAT, "paging": {"next": "x"}}, DEEP], ids=["flat", "an answer", "structures"]
)
def test_rows_inside_json(content, tmp_path):
    (tmp_path / "log.json").write_text(json.dumps(content))
    log = read_log(tmp_path / "log.json")
    assert {arm.name: (arm.exposures, arm.cells.total.sum()) for arm in log.arms} == TRUTH


def test_lists_inside_rows_are_no_column(tmp_path):
    rows = [{**row, "clicks": [{"type": "link", "value": row["clicks"]}]} for row in FLAT]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    with pytest.raises(LogError):
        read_log(tmp_path / "log.json")


def test_numbers_and_texts_of_one_value_are_one_arm(tmp_path):
    rows = [
        {**row, "ad": {"x": 1, "y": 2}[row["ad"]] if number < 30 else {"x": "1", "y": "2"}[row["ad"]]}
        for number, row in enumerate(FLAT)
    ]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    log = read_log(tmp_path / "log.json")
    assert {arm.name: arm.exposures for arm in log.arms} == {"1": 28_406, "2": 28_406}
