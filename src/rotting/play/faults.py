"""What is said of runs that ended badly."""

from __future__ import annotations

from rotting._core.compiling import belongs_to_package
from rotting.errors import KernelError
from rotting.play.cell import Cell
from rotting.play.loop import BAD_MEAN, BAD_REWARD, BAD_TOTAL, MISCOUNTED, NO_ARM


def fault(cell: Cell, label: str, ended: int, run: int, t: int, arm: int, total: float) -> KernelError:
    """Return the error for a run that ended badly in round t, when `arm` was chosen."""
    hint = "{check}True finds the line"
    if ended == NO_ARM:
        expected = f"an arm from 0 to {cell.problem.n_arms - 1}"
        return KernelError(f"select gave {arm} in round {t}", owner=label, expected=expected, hint=hint)
    if ended == MISCOUNTED and _counts_itself(cell):
        said = f"pulled changed memory.pulls, at the latest in round {t}"
        return KernelError(said, owner=str(cell.problem.dynamics_model), expected="the loop to count pulls", hint=hint)
    if ended == MISCOUNTED:
        said = f"update did not count one pull of arm {arm} in round {t}"
        return KernelError(said, owner=label, expected="state.pulls[arm] += 1", hint=hint)
    if ended == BAD_TOTAL:
        return KernelError(
            f"the means of the pulls in run {run} add up to {total}",
            owner=f"problem {str(cell.problem)!r}",
            expected="finite means",
        )
    model, what = {
        BAD_MEAN: (cell.problem.dynamics_model, "mean"),
        BAD_REWARD: (cell.problem.noise_model, "reward"),
    }[ended]
    return KernelError(
        f"the {what} of arm {arm} in round {t} of run {run} is not finite",
        owner=f"problem {str(cell.problem)!r}, {model}",
        expected="a finite number",
        hint="{check}True finds what gave it",
    )


def _counts_itself(cell: Cell) -> bool:
    """Say whether it is the dynamics, and not the policy, that counts pulls wrongly."""
    ours = cell.player.given is None or belongs_to_package(type(cell.player.given))
    return ours and not belongs_to_package(type(cell.problem.dynamics_model))
