"""Run a plan: compute the blocks that its folder does not hold yet, and keep each as soon as it is finished."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rotting._core import imported
from rotting.errors import DamagedFile
from rotting.play import Cell, play
from rotting.play.cell import Place
from rotting.play.players import Player, players_of
from rotting.policies import PolicyLike
from rotting.problems import ProblemLike
from rotting.simulation.fit import check_fit, warn_if_unsuited
from rotting.sweeps.blocks import Content, cut, encode
from rotting.sweeps.cluster import opened
from rotting.sweeps.errors import SweepError
from rotting.sweeps.folder import Folder, difference
from rotting.sweeps.kept import Kept
from rotting.sweeps.plan import Piece, Plan, refuse_other_than_more
from rotting.sweeps.progress import Tally, tallied
from rotting.sweeps.results import open_results

if TYPE_CHECKING:
    import xarray
    from distributed import Client

# Regret of another version may be added up in another order.
_ROUNDING = 1e-9


def sweep(
    policies: PolicyLike | Iterable[PolicyLike],
    problems: ProblemLike | Iterable[ProblemLike],
    runs: int = 100,
    seed: int = 0,
    *,
    out: str | Path,
    horizon: int | None = None,
    rounds: int | Iterable[int] | None = None,
    cluster: str | Client | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    overwrite: bool = False,
    device: str = "cpu",
    imports: Iterable[str | Path] = (),
    extend: bool = False,
) -> xarray.Dataset:
    """Play every policy on every problem, keeping results on disk: interrupted, it goes on where it was.

    Every run is the one that `rotting.simulate` plays under the same number, whatever the threads, workers and
    interruptions.

    Parameters
    ----------
    policies, problems
        Several of each, or one: policies of the package and problems, or texts such as "FEWA(alpha=0.06)".
    runs, seed, rounds
        As in `rotting.simulate`.
    out
        The folder to keep results in. If it holds a part of this sweep, only the rest is computed.
    horizon
        Rounds per run (default: each problem's own).
    cluster
        None to compute on threads of this process, the address of a Dask scheduler, a `distributed.Client`, or "local".
    threads
        How many threads, or processes of a local cluster (default: one per processor).
    progress
        True for a progress bar, False for none (default: a bar on a terminal, a line per minute elsewhere).
    overwrite
        Whether the results of another plan in the folder may be deleted.
    device
        As in `rotting.simulate`. With a cluster, every worker needs a GPU for "cuda". A folder holds results of one
        kind of device.
    imports
        Files or modules with policies, dynamics, curves and noise of your own; files beside them that they import
        belong to them. They are executed again, sent to workers, and kept in the folder; results of another version of
        them are another plan's.
    extend
        Whether results of an earlier plan in the folder are taken over, if this one has all of its policies and
        problems, as many runs or more, and the same seed, rounds and device. Only what is new is played, and the folder
        ends up as if it had been made at once.

    Returns
    -------
    xarray.Dataset
        What `rotting.open_results` gives.

    Examples
    --------
    >>> import tempfile
    >>> from rotting import FEWA, UCB1, problems
    >>> folder = tempfile.mkdtemp()
    >>> result = sweep([FEWA(), UCB1()], [problems.two_arm(L=1.0, horizon=500), "ten_arm()"], runs=3, out=folder)
    >>> dict(result.sizes)
    {'problem': 2, 'policy': 2, 'run': 3, 'round': 256, 'arm': 10}
    """
    for module in imports:
        imported.load(module)
    plan = Plan.of(policies, problems, runs, seed, rounds, horizon, device)
    run_plan(plan, out, cluster, threads, progress, overwrite, extend)
    return open_results(out)


def run_plan(
    plan: Plan,
    out: str | Path,
    cluster: str | Client | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    overwrite: bool = False,
    extend: bool = False,
) -> Tally:
    """Compute what is missing in a folder; return what is finished. Parameters as in `sweep`."""
    for problem, policy in itertools.product(plan.problems, plan.policies):
        check_fit(policy, problem)
    warn_if_unsuited(plan.policies, plan.problems)
    with (
        opened(plan, cluster, threads) as on,
        tallied(plan, progress) as tally,
        Folder.held(out, plan) as folder,
    ):
        if (found := folder.other_plan()) is not None:
            if extend:
                _set_aside(folder, on, tally)
            elif overwrite:
                folder.clear()
            else:
                raise SweepError(
                    f"holds the results of another plan ({difference(found, plan)})",
                    name="out",
                    value=str(out),
                    hint="if the plan is that one and more, {extend} keeps them; or choose another folder, or "
                    "delete those results with {overwrite}",
                )
        folder.begin()
        _fill(folder, on, tally)
    return tally


def _fill(folder: Folder, on: Place, tally: Tally) -> None:
    """Put together the blocks that a folder does not hold: of what is kept somewhere, and of what is played now."""
    plan = folder.plan
    damaged: set[Path] = set()

    def note(file: Path, damage: DamagedFile) -> None:
        if file not in damaged:
            tally.note(f"{file} is damaged ({damage}); what it held is computed again.")
        damaged.add(file)

    kept = Kept(plan, [*folder.earlier(), folder], note)
    there, missing = set(folder.blocks()), {}
    for block in cut(plan):
        content = kept.read(block)
        gaps = content.runs(finished=False)
        for known in content.runs(finished=True):
            tally.add(known)
        if gaps or block not in there or folder.file(block) in damaged:
            missing[block] = gaps
    tally.begin()
    # Closed at once if anything goes wrong, such as a full disk: no worker goes on computing.
    with contextlib.closing(played_blocks(plan, missing, on, kept.read)) as finished:
        for content in finished:
            folder.write(content.numbers, encode(content))
            for gap in missing[content.numbers]:
                tally.add(gap)
    folder.forget_earlier()


def _set_aside(folder: Folder, on: Place, tally: Tally) -> None:
    """Set aside what a folder holds of a smaller plan, if this version plays it as it was played."""
    plan, old = folder.plan, Folder.at(folder.path)
    refused = functools.partial(
        SweepError, name="out", hint="choose another folder, or delete those results with {overwrite}"
    )
    if (reason := refuse_other_than_more(old.plan, plan)) is not None:
        raise refused(f"cannot be extended: the plan {reason}", value=str(folder.path))
    kept = Kept(plan, [*folder.earlier(), old], lambda file, damage: None)
    samples = {run: [run] for run in kept.of_other_versions()}
    for played in played_blocks(plan, samples, on, functools.partial(Content, plan)):
        known = kept.read(played.numbers)
        close = np.allclose(played.regrets, known.regrets, rtol=_ROUNDING, atol=_ROUNDING)
        if not close or not np.array_equal(played.pulls, known.pulls):
            (piece,) = plan.pieces(played.numbers)
            raise refused(
                f"cannot be extended: this version plays run {piece.runs.start} of "
                f"{plan.policy_labels[piece.policy]} on {plan.problem_labels[piece.problem]} otherwise than the "
                "version that its results are from"
            )
    if samples:
        tally.note(
            f"What exists was played by another version: one run of each of its {len(samples)} cells was played again, "
            "and is the same."
        )
    folder.set_aside()


def played_blocks(
    plan: Plan,
    missing: Mapping[range, Sequence[range]],
    on: Place,
    content: Callable[[range], Content],
) -> Generator[Content, None, None]:
    """Yield the results of blocks, each as soon as all of it is there.

    Every run is the one that `rotting.simulate` plays under the same number.

    Parameters
    ----------
    plan, missing
        The sweep, and of each of its blocks what has to be played.
    on
        Where to play.
    content
        Returns the results of a block as far as they are known.
    """
    parts = [(block, piece) for block, gaps in missing.items() for gap in gaps for piece in plan.pieces(gap)]
    left, begun = {block: sum(map(len, gaps)) for block, gaps in missing.items()}, {}
    for block in missing:
        if not left[block]:
            yield content(block)
    with contextlib.closing(play(_cells(plan, [piece for _, piece in parts]), on)) as finished:
        for played in finished:
            block, part = parts[played.cell]
            if block not in begun:
                begun[block] = content(block)
            start = part.numbers.start + played.runs.start - part.runs.start
            regret, pulls = begun[block].of(range(start, start + len(played.runs)))
            # Where all runs have the same arms, the first says it for all.
            draws = plan.problems[part.problem].dynamics_model.draws
            oracle = [_oracle_reward(plan, part.problem, run) for run in (played.runs if draws else [0])]
            regret[:], pulls[:] = np.stack(oracle) - played.earned, played.pulls
            left[block] -= len(played.runs)
            if left[block] == 0:
                yield begun.pop(block)


def _cells(plan: Plan, pieces: Sequence[Piece]) -> list[Cell]:
    @functools.cache
    def player(policy: int, problem: int) -> Player:
        (found,) = players_of(plan.policies[policy], plan.problems[problem], plan.problems[problem].horizon)
        return found

    played = plan.problems
    return [
        Cell(player(policy, one), played[one], played[one].horizon, plan.recorded[one], runs, plan.seed)
        for one, policy, runs, _ in pieces
    ]


@functools.lru_cache(maxsize=1024)
def _oracle_reward(plan: Plan, problem: int, run: int) -> np.ndarray:
    """Return what the oracle has collected at each recorded round of a run."""
    rounds = plan.recorded[problem]
    return plan.problems[problem].oracle(int(rounds[-1]), rounds, seed=plan.seed, run=run).reward
