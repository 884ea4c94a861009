"""For authors of policies: random numbers inside kernels, as functions of the `word` that `select` is given."""

from rotting._core.randomness import normal, uniform, word

__all__ = ["normal", "uniform", "word"]
