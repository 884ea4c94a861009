"""What a log says: is it rotting, how fast, and what would be gained?"""

from rotting.logs.generating import Truth, make_log

__all__ = ["Truth", "make_log"]
