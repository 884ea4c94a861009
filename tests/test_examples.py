"""The examples run, and their results are what they say."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_creative_fatigue(capsys):
    example = runpy.run_path(str(EXAMPLES / "creative_fatigue.py"))
    example["main"].__globals__["CAMPAIGNS"] = 1
    rates = example["main"]()
    assert rates["EFF-FEWA"] > max(rates["UCB1"], rates["A/B split"])
    assert "over the A/B split" in capsys.readouterr().out


def test_there_are_three_notebooks():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_show_something(path, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert sum("text/html" in output["data"] for output in shown) >= 2
    drawn = [cell for cell in notebook.cells if ".plot_" in cell.source or cell.source.endswith(".figure()")]
    assert all("image/png" in cell.outputs[0]["data"] for cell in drawn)
    assert all(output["output_type"] != "error" for cell in notebook.cells for output in cell.get("outputs", []))
