"""Play on numba's CUDA simulator, and write down what came out: run by test_cuda.py in a process of its own.

NUMBA_ENABLE_CUDASIM=1 and NUMBA_DISABLE_JIT=1 must be set. Usage: simulated_gpu.py FILE
"""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import rotting
from rotting.play import Cell, gpu
from rotting.play.gpu import batches, device, playing
from rotting.play.players import players_of
from rotting.policies import POLICIES, Policy
from rotting.problems import NAMED
from rotting.simulation.simulator import Game, finished

DROP = rotting.problems.Drop(before=0.5, after=-0.5, at=10)
GAME = {"horizon": 60, "runs": 5, "seed": 3, "rounds": 7}


def problem() -> rotting.Problem:
    return rotting.Problem([0.2, DROP, 0.0, rotting.problems.Exponential(0.5, 0.1)], name="four arms")


def everybody() -> dict[str, Policy]:
    """Return every policy, some of them in a second form."""
    curves = tuple(dict.fromkeys(problem().curves))
    needs = {name: {"curves": curves} for name in ("CTO", "CTOSIM", "DCTOUCB")}
    needs["Exp3"] = {"low": -4, "high": 4}
    needs["Rexp3"] = needs["Exp3"]
    needs["LinUCRL"] = {"window": 2, "degree": 2}  # Python plans slowly
    others = {name: rotting.EffFEWA(refresh=name) for name in ("blocks", "printed")}
    others["grid"] = rotting.EffFEWA(grid=1.4)
    return {name: kind(**needs.get(name, {})) for name, kind in POLICIES.items()} | others


class OwnState(NamedTuple):
    settings: np.ndarray
    pulls: np.ndarray
    last: np.ndarray  # (K, 2): the last two rewards


def select(state, t, word):
    best = 0
    for arm in range(len(state.pulls)):
        if state.last[arm, 0] + state.last[arm, 1] > state.last[best, 0] + state.last[best, 1]:
            best = arm
    return np.int64(word % np.uint64(3)) if t % 7 == 0 else np.int64(best)


def update(state, arm, reward):
    state.pulls[arm] += 1
    state.last[arm, 1] = state.last[arm, 0]
    state.last[arm, 0] = reward


@dataclass(frozen=True)
class OwnOnGpu(Policy, state=OwnState, select=select, update=update, randomised=True):
    def initial_state(self, n_arms: int) -> OwnState:
        return OwnState(np.zeros(1), np.zeros(n_arms, np.int64), np.zeros((n_arms, 2)))


def forgetful(state, arm, reward):
    state.pulls[arm] += 1 if state.pulls[arm] < 4 else 2


def meddling(state, arm, reward):
    state.pulls[arm] += 1
    state.settings[0] += reward


def wild(state, t, word):
    return 0 if t < 9 or word == np.uint64(0) else 17


@dataclass(frozen=True)
class Forgetful(OwnOnGpu, update=forgetful):
    pass


@dataclass(frozen=True)
class Meddling(OwnOnGpu, update=meddling):
    pass


@dataclass(frozen=True)
class Wild(OwnOnGpu, select=wild, randomised=True):
    pass


class InPython:
    def __init__(self, n_arms: int):
        pass

    def select(self) -> int:
        return 0

    def update(self, arm: int, reward: float) -> None:
        pass


def said(policy: object, **chosen: object) -> str:
    """Return the error that playing a policy ends with."""
    try:
        rotting.simulate(policy, problem(), **{**GAME, **chosen}, device="cuda")
    except rotting.errors.RottingError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def small_memory() -> dict[str, list]:
    """Play with room for two runs at a time, and with a memory that is fuller than it says."""
    whole = rotting.simulate(rotting.FEWA(), problem(), **GAME, device="cuda")
    group = batches.grouped([(0, _cell(rotting.FEWA()))], device.Stream())[0]
    for_two = group.needed(2, lanes=2) + group.run_bytes // 2
    batches_begun, usual = [], playing.to_device

    def counted(cells, *rest):
        runs = sum(len(cell.runs) for cell in cells)
        if runs > room["runs"]:
            raise MemoryError
        batches_begun.append(runs)
        return usual(cells, *rest)

    playing.to_device = counted
    found, room = {}, {}
    for name, memory, runs in (("planned", int(for_two / 0.85), 99), ("met", 1 << 30, 2)):
        batches_begun.clear()
        room["runs"] = runs
        device.free_memory = lambda memory=memory: memory
        told: list[int] = []
        again = rotting.simulate(rotting.FEWA(), problem(), **GAME, device="cuda", progress=told.append)
        found[name] = [again.identical(whole.assign(seconds=again.seconds)), list(batches_begun), sum(told)]
    playing.to_device = usual
    return found


def together() -> list[bool]:
    """Say of several games that are played at once whether each came out as it does alone."""
    games = [
        [{"one": rotting.EffFEWA(alpha=0.3), "two": rotting.UCB1()}, replace(problem(), horizon=40), 3, 4],
        [[rotting.EffFEWA()], rotting.problems.two_arm(L=1.0, horizon=30), 2, None],
        [[rotting.EffFEWA(), rotting.FEWA()], rotting.problems.two_arm(L=3.0, horizon=50), 2, 1],
    ]
    named = [make() for make in NAMED.values()]
    named = [each for each in named if not each.is_limited]  # where policies are asked in Python for an eligible arm
    games += [[[rotting.UCB1(), rotting.EffFEWA()], replace(each, horizon=25), 2, 2] for each in named]
    asked = [
        {"policies": policies, "problem": on, "runs": runs, "seed": place, "rounds": rounds}
        for place, (policies, on, runs, rounds) in enumerate(games)
    ]
    played = {Game(**each): each for each in asked}
    return [
        _same(rotting.simulate(**played[game]), game.dataset("cuda"))
        for game in finished(list(played), gpu(), lambda game, rounds: None)
    ]


def _same(one, other) -> bool:
    return all(one[name].equals(other[name]) for name in ("regret", "pulls", "oracle_reward"))


def swept(folder: Path) -> dict[str, object]:
    """Sweep with the simulator, and with the CPU into the same folder."""
    problems = [rotting.problems.two_arm(L=1.0, horizon=50), rotting.problems.two_arm(L=4.0, horizon=50)]
    asked = {"policies": [rotting.EffFEWA(), rotting.UCB1()], "problems": problems, "runs": 3}
    on_gpu = rotting.sweep(**asked, out=folder / "gpu", device="cuda", progress=False)
    again = rotting.sweep(**asked, out=folder / "gpu", device="cuda", progress=False)
    on_cpu = rotting.sweep(**asked, out=folder / "cpu", progress=False)
    refused = "no"
    try:
        rotting.sweep(**asked, out=folder / "gpu", progress=False)
    except rotting.errors.RottingError as error:
        refused = str(error)
    tuned = [rotting.tune(rotting.EffFEWA(), problems, runs=4, device=device) for device in ("cpu", "cuda")]
    return {
        "same": bool(on_gpu.regret.equals(on_cpu.regret) and on_gpu.pulls.equals(on_cpu.pulls)),
        "again": bool(again.regret.equals(on_gpu.regret)),
        "refused": refused,
        "tuned": tuned[0] == tuned[1],
    }


def _cell(policy: Policy) -> Cell:
    (player,) = players_of(policy, problem(), 60)
    return Cell(player, problem(), 60, np.array([60]), range(1), 0)


def main(file: Path) -> None:
    result = rotting.simulate({**everybody(), "OwnOnGpu": OwnOnGpu()}, problem(), **GAME, device="cuda")
    outcome = {
        "labels": list(map(str, result["policy"].values)),
        "device": result.attrs["device"],
        "python": said(InPython),
        "checked": said(rotting.UCB1(), check=True),
        "forgetful": said(Forgetful()),
        "meddling": said(Meddling()),
        "wild": said([rotting.UCB1(), Wild()]),
        "together": together(),
        "swept": swept(file.parent),
        "memory": small_memory(),
    }
    np.savez(file, pulls=result.pulls.values, regret=result.regret.values, outcome=json.dumps(outcome))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
