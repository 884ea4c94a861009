"""Where runs are played, all of them: build cells, `play` them somewhere, and take what they came to.

| module | what |
|---|---|
| `cell` | `Cell`: a policy, a problem, some runs; `Played`: what they came to |
| `players` | who can play: policies, and anybody's Python class |
| `places` | `play`, and where: threads of this process or a GPU (`rotting.sweeps.cluster`: Dask) |
| `compiled` | runs of a policy by the compiled loop, many in one call, on one thread's arena |
| `loop` | the compiled loop |
| `late` | its parts for rewards that arrive late and for traces |
| `arena` | one thread's working memory |
| `in_python` | runs of a Python class, and of kernels that are checked |
| `trial` | the first rounds of a user's kernels, checked |
| `faults` | what is said of runs that ended badly |
| `run` | one run, pull by pull, for others to play |
| `gpu` | the same loop on a GPU |

What `simulate([FEWA(), UCB1()], two_arm())` passes through, in order:

1. `simulation/simulator.py` makes a `Game`: a `Cell` of each policy, told of the problem (`players`), and what is kept.
2. `places` cuts the cells into pieces of runs; threads (`_core/threads.py`) take one after the other.
3. A thread plays the pieces of a cell at its table (`compiled`): all that it writes lies in one `arena`. One call of
   `loop.play_runs`, without the interpreter's lock, plays a piece.
4. The loop finds the policy's `select` and `update` by the class of its state (`policies/_contract/kernel.py`), and the
   problem's means and noise likewise (`problems/kernel.py`).
5. The game puts the pieces into arrays, and makes a dataset of them: regret is the oracle's reward
   (`problems/oracle.py`) less what was earned.
"""

from rotting.play.cell import Cell, Played
from rotting.play.places import gpu, gpu_and_threads, place_for, play, threads

__all__ = ["Cell", "Played", "gpu", "gpu_and_threads", "place_for", "play", "threads"]
