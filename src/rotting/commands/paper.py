"""`rotting paper`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rotting.terminal import (
    InputError,
    Runs,
    Seed,
    Threads,
    checked_output,
    enough_memory,
    print_summaries,
    title_of,
    write_csv,
    write_figure,
)


def paper(
    out: Annotated[Path, typer.Option(help="The folder to write to; made if need be.")] = Path("results/paper"),
    runs: Runs = 500,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Run the paper's 10-arm experiment: a figure (ten_arm.png) and a table (ten_arm.csv)."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {str(out)!r} cannot be made a folder: {error.strerror}") from None
    picture, table = (checked_output("--out", out / name) for name in ("ten_arm.png", "ten_arm.csv"))
    from rotting.paper import ten_arm
    from rotting.simulation.summary import summarise

    with enough_memory(runs):
        dataset = ten_arm.play(runs=runs, seed=seed, threads=threads)
    print_summaries(title_of(dataset.attrs, runs), summarise(dataset), runs)
    write_csv(table, ten_arm.table(dataset))
    write_figure(picture, ten_arm.figure(dataset))
