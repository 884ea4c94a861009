"""What a sweep has found so far, as a labelled dataset; large ones are read lazily."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rotting._core import imported
from rotting.errors import DamagedFile, MissingExtra
from rotting.problems.oracle import oracle_name
from rotting.sweeps.errors import NEEDS_DASK, SweepError
from rotting.sweeps.folder import Folder
from rotting.sweeps.kept import Kept
from rotting.sweeps.plan import Plan

if TYPE_CHECKING:
    import dask.array
    import xarray

# Smaller results are read at once; of larger ones, Dask reads what is asked for in pieces of about CHUNK_BYTES.
LARGE_BYTES = 256 << 20
CHUNK_BYTES = 16 << 20


def open_results(
    folder: str | Path, problem: str | int | None = None, imports: Iterable[str | Path] = ()
) -> xarray.Dataset:
    """Return the results of a sweep, finished or not.

    Parameters
    ----------
    folder
        What `rotting.sweep` was given as `out`.
    problem
        One problem, by its label or index: its results come as `rotting.simulate` gives them, without times.
    imports
        Files or modules with the user's own classes, if the sweep has any; the folder `imports` has them as they were.

    Returns
    -------
    xarray.Dataset
        `regret[problem, policy, run, round]`, `pulls[problem, policy, run, arm]`, `rounds[problem, round]` (the numbers
        of the recorded rounds), `horizon[problem]`, `arms[problem]` and `oracle[problem]`, what regret is measured
        against. Problems may differ in rounds and arms: behind
        a problem's last round, `rounds` is 0 and regret NaN; behind its last arm, pulls are 0. Runs that are not
        finished have NaN and 0, too. Large results are Dask arrays: `.compute()` reads them.

    Examples
    --------
    >>> import tempfile
    >>> import rotting
    >>> folder = tempfile.mkdtemp()
    >>> _ = rotting.sweep(rotting.UCB1(), [rotting.problems.ten_arm()], runs=4, horizon=100, out=folder)
    >>> open_results(folder).regret.isel(round=-1).mean("run").values.round(1)
    array([[85.4]])
    """
    for module in imports:
        imported.load(module)
    opened = Folder.at(folder)
    dataset = _dataset(opened)
    return dataset if problem is None else of_problem(dataset, _place(opened.plan, problem))


def of_problem(dataset: xarray.Dataset, index: int) -> xarray.Dataset:
    """Return the results on one problem as `rotting.simulate` gives them, without times."""
    one = dataset.isel(problem=index)
    rounds = one["rounds"].values
    count, arms = int(np.count_nonzero(rounds)), int(one["arms"])
    label = str(one["problem"].values)
    attributes = {
        **dataset.attrs,
        "problem": label,
        "oracle": str(one["oracle"].values),
        "horizon": int(one["horizon"]),
    }
    one = one.isel(round=slice(count), arm=slice(arms)).drop_vars(["problem", "oracle", "rounds", "arms", "horizon"])
    return one.assign_coords(round=rounds[:count]).assign_attrs(attributes)


def chosen(dataset: xarray.Dataset, problems: Sequence[str] = (), policies: Sequence[str] = ()) -> xarray.Dataset:
    """Return the results of some problems and some policies.

    Parameters
    ----------
    dataset
        What `open_results` returned.
    problems, policies
        Labels, names such as "FEWA" (with any parameters), or patterns such as "two_arm(L=1*" (default: all).
    """
    kept = {}
    for dim, patterns in (("problem", problems), ("policy", policies)):
        labels = dataset[dim].values.tolist()
        fitting = [[place for place, label in enumerate(labels) if _fits(label, each)] for each in patterns]
        for pattern, found in zip(patterns, fitting, strict=True):
            if not found:
                raise SweepError("fits none of them", name=dim, value=pattern, expected=", ".join(labels))
        kept[dim] = sorted(set().union(*fitting)) if patterns else list(range(len(labels)))
    written = dataset.attrs["policies"].splitlines()
    return dataset.isel(kept).assign_attrs(policies="\n".join(written[place] for place in kept["policy"]))


def _fits(label: str, pattern: str) -> bool:
    return label == pattern or label.partition("(")[0] == pattern or fnmatch.fnmatchcase(label, pattern)


def _place(plan: Plan, problem: str | int) -> int:
    labels = plan.problem_labels
    places = {name: place for place, label in enumerate(labels) for name in (place, label)}
    if problem in places and not isinstance(problem, bool):
        return places[problem]
    raise SweepError("is not in this sweep", name="problem", value=problem, expected=f"one of {', '.join(labels)}")


def _dataset(folder: Folder) -> xarray.Dataset:
    import xarray

    import rotting.simulation.accessor  # noqa: F401 (results have `.rotting`)

    plan = folder.plan
    most_rounds, most_arms = plan.sizes.max(axis=0).tolist()
    rounds = np.zeros((len(plan.problems), most_rounds), np.int64)
    for index, recorded in enumerate(plan.recorded):
        rounds[index, : len(recorded)] = recorded
    regret, pulls = _arrays(Kept(plan, [folder], _refuse_damage), most_rounds, most_arms)
    dims = ("problem", "policy", "run")
    return xarray.Dataset(
        {
            "regret": ((*dims, "round"), regret, {"long_name": "expected regret against the oracle"}),
            "pulls": ((*dims, "arm"), pulls, {"long_name": "pulls of each arm"}),
            "rounds": (("problem", "round"), rounds, {"long_name": "recorded rounds"}),
            "horizon": ("problem", [problem.horizon for problem in plan.problems]),
            "arms": ("problem", [problem.n_arms for problem in plan.problems]),
        },
        coords={
            "problem": plan.problem_labels,
            "oracle": ("problem", [oracle_name(each, each.horizon) for each in plan.problems]),
            "policy": plan.policy_labels,
            "run": np.arange(plan.runs),
            "arm": np.arange(most_arms),
        },
        attrs={
            "policies": "\n".join(map(repr, plan.policies)),
            "seed": plan.seed,
            "rotting": plan.version,
            "kernels": plan.kernels,
            "plan": plan.digest,
        },
    )


def _refuse_damage(file: Path, damage: DamagedFile) -> None:
    hint = "give the sweep's command again, which computes it again"
    raise SweepError(f"{str(file)!r} is damaged ({damage})", hint=hint)


def _arrays(kept: Kept, rounds: int, arms: int) -> Sequence[np.ndarray | dask.array.Array]:
    """Return regret and pulls, [problem, policy, run, ...]: in memory if small, as Dask arrays if one is large."""
    plan, widths = kept.plan, (rounds, arms)
    if 8.0 * plan.total_runs * max(widths) <= LARGE_BYTES:
        every = [_part(kept, widths, problem, *map(range, plan.shape[1:])) for problem in range(len(plan.problems))]
        return [np.stack(parts) for parts in zip(*every, strict=True)]
    try:
        import dask.array
    except ImportError:
        raise MissingExtra("reading results this large needs Dask", hint=NEEDS_DASK) from None

    def chunked(place: int) -> dask.array.Array:
        # Chunks that are ranges in the numbering of runs, so that each block is read for one chunk or two.
        width = widths[place]
        runs = min(max(CHUNK_BYTES // (8 * width), 1), plan.runs)
        policies = min(max(CHUNK_BYTES // (8 * width * plan.runs), 1), len(plan.policies)) if runs == plan.runs else 1
        chunks = dask.array.core.normalize_chunks((1, policies, runs, width), (*plan.shape, width))

        def chunk(block_info: dict[None, dict[str, list[tuple[int, int]]]]) -> np.ndarray:
            (problem, _), *where = block_info[None]["array-location"][:3]
            return _part(kept, widths, problem, *(range(*ends) for ends in where))[place][None]

        array: dask.array.Array = dask.array.map_blocks(chunk, chunks=chunks, dtype=(np.float64, np.int64)[place])
        return array

    return [chunked(0), chunked(1)]


def _part(kept: Kept, widths: tuple[int, int], problem: int, policies: range, runs: range) -> list[np.ndarray]:
    """Return regret and pulls, [policy, run, ...], of all runs of some policies, or of some runs of one."""
    first = kept.plan.number(problem, policies.start, runs.start)
    numbers = range(first, first + len(policies) * len(runs))
    found = zip(kept.read(numbers).of(numbers), widths, (np.nan, 0), strict=True)
    return [
        np.pad(some, ((0, 0), (0, width - some.shape[1])), constant_values=nothing).reshape(
            len(policies), len(runs), width
        )
        for some, width, nothing in found
    ]
