"""Where runs are played, all of them: build cells, `play` them somewhere, and take what they came to.

| module | what |
|---|---|
| `cell` | `Cell`: a policy, a problem, some runs; `Played`: what they came to |
| `players` | who can play: policies, and anybody's Python class |
| `places` | `play` and `play_whole`, and where: threads of this process or a GPU (`rotting.sweeps.cluster`: Dask) |
| `compiled` | runs of a policy by the compiled loop, many in one call, on one thread's arena |
| `loop` | the compiled loop |
| `late` | its parts for rewards that arrive late and for traces |
| `arena` | one thread's working memory |
| `in_python` | runs of a Python class, and of kernels that are checked |
| `trial` | the first rounds of a user's kernels, checked |
| `faults` | what is said of runs that ended badly |
| `run` | one run, pull by pull, for others to play |
| `gpu` | the same loop on a GPU |
"""

from rotting.play.cell import Cell, Played
from rotting.play.places import gpu, place_for, play, play_whole, threads

__all__ = ["Cell", "Played", "gpu", "place_for", "play", "play_whole", "threads"]
