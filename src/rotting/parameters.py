"""For authors of policies and curves: how to declare a parameter."""

from rotting._core.parameters import Parameters, parameter

__all__ = ["Parameters", "parameter"]
