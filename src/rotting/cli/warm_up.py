"""`rotting warm-up`."""

from __future__ import annotations

import time

import typer

from rotting.cli.options import InputError


def warm_up() -> None:
    """Compile every policy now, once per machine, for images and CI: nobody has to wait for the compiler later.

    That is: agents and bandits, and simulations of rested arms with Gaussian noise. Other dynamics and noise, late
    rewards and traces are compiled when they are first played.
    """
    from rotting._core.compiling import is_kept, kernel_folder
    from rotting._output.progress import progress_bar
    from rotting.simulation.warming import compilations

    if not is_kept():
        raise InputError(
            f"compiled code cannot be kept: {kernel_folder()} cannot be written; "
            "set NUMBA_CACHE_DIR to a folder that can"
        )
    began, every = time.monotonic(), compilations()
    with progress_bar() as progress:
        progress.stage("compiling", len(every))
        for name, compile_it in every:
            progress.describe(f"compiling {name}")
            compile_it()
            progress.advance()
    typer.echo(f"Every policy is compiled, in {kernel_folder()} ({time.monotonic() - began:.0f} s).")
