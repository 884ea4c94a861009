"""Tables of levels that change at given rounds: facts from the literature, with their sources."""

from __future__ import annotations

from typing import NamedTuple


class Levels(NamedTuple):
    """Piecewise-constant means: `means[j][i]` of arm i from round `at[j] + 1` on."""

    means: tuple[tuple[float, ...], ...]
    at: tuple[int, ...] | None  # the first is 0; None: spread evenly over the horizon


# Besson, Kaufmann, Maillard, Seznec (2022), "Efficient change-point detection for tackling piecewise-stationary
# bandits". Numbers from the authors' repository EmilieKaufmann/PiecewiseStationaryBandits: 1 and 2 from Benchmarks.jl,
# 3 (WorseBecomeGood) and 4 (OneOptChange) from its folder benchmarks, in single precision; T = 20 000.
PIECEWISE = {
    1: Levels(((0.9, 0.5, 0.3), (0.9, 0.2, 0.3), (0.1, 0.2, 0.3), (0.1, 0.7, 0.3), (0.1, 0.7, 0.5)), None),
    2: Levels(((0.9, 0.5, 0.4), (0.7, 0.4, 0.5), (0.5, 0.3, 0.6), (0.3, 0.2, 0.7), (0.1, 0.1, 0.8)), None),
    3: Levels(
        (
            (0.2768666, 0.1817176, 0.5666716, 0.0130085, 0.5937618),
            (0.5070142, 0.1817176, 0.5666716, 0.2813189, 0.7107188),
            (0.5070142, 0.1817176, 0.5666716, 0.1630926, 0.3575079),
            (0.1680613, 0.1817176, 0.4112256, 0.1630926, 0.3575079),
            (0.1680613, 0.1817176, 0.4112256, 0.1630926, 0.0259867),
            (0.4363949, 0.4062331, 0.4733971, 0.5587052, 0.0259867),
        ),
        (0, 6946, 9399, 10886, 13632, 16253),
    ),
    4: Levels(
        (
            (0.2434441, 0.515031, 0.1961621, 0.9488587, 0.5689436),
            (0.3663862, 0.515031, 0.1961621, 0.8811387, 0.8364643),
            (0.3029696, 0.1634569, 0.2919625, 0.6539879, 0.8364643),
            (0.2513402, 0.5336871, 0.2919625, 0.6539879, 0.8364643),
            (0.2513402, 0.5336871, 0.2919625, 0.5801323, 0.8364643),
            (0.2513402, 0.5336871, 0.2919625, 0.5801323, 0.9978981),
        ),
        (0, 7387, 8402, 11865, 15715, 18182),
    ),
}

# Click rates of articles on Yahoo's front page, in thousandths: six articles as in Cao, Wen, Kveton, Xie (2019), five
# as in Wei, Srivastava (2018). Numbers from SMPyBandits (L. Besson, MIT licence), configuration_nonstationary.py,
# problems 5 and 6.
_SIX = (
    "71 41 32 30 20 11, 55 53 32 30 8 11, 40 63 32 30 8 11, 40 42 43 30 8 11, 30 32 55 30 8 11, 30 32 20 30 8 21, "
    "20 22 20 45 8 21, 20 22 20 57 8 11, 20 22 34 57 22 11"
)
_FIVE = (
    "70 44 43 29 39, 63 44 44 29 40, 63 45 44 28 40, 63 45 46 28 34, 55 45 46 28 34, 55 49 45 24 35, 52 49 41 24 35, "
    "52 48 41 20 37, 52 48 37 20 37, 45 50 37 20 35, 45 50 33 18 35, 45.5 47 33 18 35, 45.5 47 33 18 34, "
    "37 42 30 20 34, 29 32 30 20 34, 31 26 32 20 33, 33 26 25 20 33, 33 35 23 20 30, 45 38 15 20 23, 45 38 20 14 23, "
    "45 38 21 14 23, 49 42 29 14 16, 49 42 29 16 16, 49 42 30 14 16, 46 40 35 20 19, 46 40 35 20 29, 46 40 35 23 29, "
    "46 37 34 23 33, 50 37 34 24 33, 50 40 34 24 33, 50 40 32 24 35, 49 40 29 23.5 35, 49 40.5 29 23.5 37, "
    "47 38 29.5 25 37, 47 38 34 25 37, 47 41 34 25 38, 51 41 35 25 38, 51 40 35 25 38, 51 38 33 25 39, 47 38 33 26 39, "
    "47 35 32 26 39, 45 33 32 24 38, 45 30 31 24 38, 45 27 31 24 38, 43 27 26 21 37.5, 43 30 26 21 37.5, "
    "43 30 26 21 37.5, 43 34 25 21 37.5, 45 34 15 20 37.5, 45 33 16 20 36, 43 33 20 18 36, 43 35 20 18 32, "
    "43 35 27 18 32, 40 35 27 18 32, 33 36 29 19 33, 28 36 29 19 33, 28 38 29 17 33, 32 38 34 17 30, 31 38 34 15 30, "
    "31 40 34 15 30, 38 40 34 14 29, 38 38 34 12 26, 42 38 34 18 26, 42 37 34 18 19, 42 37 34 18 18.5, 43 37 34 23 17, "
    "44 38 36 23 24, 44 38 36 23 29, 44 38 36 25 29, 44 37 34 25 34, 44 35 34 28 34, 44 35 34 28 37, 49 35 34 28 37, "
    "48 32 37 28 37, 48 32 37 27 37, 47 29 37 27 38, 47 27 39 27 38, 47 23 39 30 39, 49 22 35 30 39, 49 31 35 30 39, "
    "49 31 35 27 39, 49 32 33 27 39"
)


def _parsed(text: str) -> Levels:
    rows = (row.split() for row in text.split(","))
    return Levels(tuple(tuple(round(float(entry) / 1000, 6) for entry in row) for row in rows), None)


YAHOO = {6: _parsed(_SIX), 5: _parsed(_FIVE)}

# Templates of notifications, ours: of the sizes that Yancey, Settles (2020) report.
PUSH_LIFTS = (0.02, 0.018, 0.016, 0.012, 0.005, 0.0, -0.005, -0.01, -0.018, -0.02)
"""By how much each template of `push` brings more users back than another."""

PUSH_SHARES = (
    (0.8, 0.9, 0.6, 0.8, 0.0, 0.7, 0.9, 0.6, 0.8, 0.0),
    (0.4, 0.5, 0.9, 0.7, 0.8, 0.8, 0.5, 0.9, 0.6, 0.8),
)
"""How often each template of `push` suits users who are not active, and those who are."""
