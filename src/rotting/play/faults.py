"""What is said of runs that ended badly."""

from __future__ import annotations

from rotting._core.compiling import belongs_to_package
from rotting.errors import KernelError
from rotting.play.cell import Cell
from rotting.play.loop import BAD_ADVICE, BAD_MEAN, BAD_REWARD, BAD_TOTAL, MISCOUNTED, NO_ARM, NOT_ELIGIBLE


def fault(cell: Cell, label: str, ended: int, run: int, t: int, arm: int, total: float) -> KernelError:
    """Return the error for a run that ended badly in round t, when `arm` was chosen."""
    dynamics, problem = cell.problem.dynamics_model, f"problem {str(cell.problem)!r}"
    bad = f"of arm {arm} in round {t} of run {run} is not finite"
    if ended == MISCOUNTED and _counts_itself(cell):
        said = f"pulled changed memory.pulls, at the latest in round {t}", str(dynamics), "the loop to count pulls"
    else:
        said = {
            NO_ARM: (f"select gave {arm} in round {t}", label, f"an arm from 0 to {cell.problem.n_arms - 1}"),
            BAD_ADVICE: (f"recommend gave {arm} after round {t}", label, f"an arm from 0 to {cell.problem.n_arms - 1}"),
            NOT_ELIGIBLE: (
                f"select gave {arm} in round {t}, which may not be pulled then",
                label,
                "an arm that is eligible (rotting.play.among says who is told)",
            ),
            MISCOUNTED: (f"update did not count one pull of arm {arm} in round {t}", label, "state.pulls[arm] += 1"),
            BAD_TOTAL: (f"the means of the pulls in run {run} add up to {total}", problem, "finite means"),
            BAD_MEAN: (f"the mean {bad}", f"{problem}, {dynamics}", "a finite number"),
            BAD_REWARD: (f"the reward {bad}", f"{problem}, {cell.problem.noise_model}", "a finite number"),
        }[ended]
    text, owner, expected = said
    hint = None if ended in (BAD_TOTAL, NOT_ELIGIBLE) else "{check}True finds the line"
    return KernelError(text, owner=owner, expected=expected, hint=hint)


def _counts_itself(cell: Cell) -> bool:
    """Say whether it is the dynamics, and not the policy, that counts pulls wrongly."""
    ours = cell.player.given is None or belongs_to_package(type(cell.player.given))
    return ours and not belongs_to_package(type(cell.problem.dynamics_model))
