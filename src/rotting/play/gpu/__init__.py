"""Runs on an NVIDIA GPU: the CPU's loop and the policies' own kernels, one thread per run.

Nothing here knows a policy or a problem. What a run needs is a nested NamedTuple of arrays; on the device each of its
arrays gets one more axis, the run, and the CUDA kernel takes the run's part of it and calls the loop that the CPU runs
(`rotting.play.loop.play_rounds`).

| module | what |
|---|---|
| `device` | whether there is a GPU, and what is missing if not; its memory |
| `parts` | one run's part of a batch, in compiled code |
| `kernel` | the CUDA kernel |
| `compiling` | how it is compiled and kept on disk |
| `batches` | which runs are played together, and how many fit the memory |
| `playing` | plays cells: launches, progress, Ctrl-C, too little memory |
"""
