"""A store of what has been played, on disk, so that an interrupted reproduction resumes where it was.

One NetCDF file per block, which xarray and many other tools open. A file is used again only if it was made with the
same settings, the same kernels and the same seed, and holds what it held when it was written (its checksum says so).
"""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rotting._core.files import replacing
from rotting.paper.experiment import Block

if TYPE_CHECKING:
    import xarray


def settings_of(block: Block, runs: int, seed: int, device: str = "cpu") -> str:
    """Return a digest of all that determines what a block gives."""
    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    policies = [f"{label}: {policy!r}" for label, policy in block.policies.items()]
    made_by = [__version__, kernel_digest(), np.__version__, device]
    parts = [*made_by, repr(block.problem), str(block.rounds), str(runs), str(seed), *block.trace, *policies]
    return _digest("\n".join(parts).encode())


def file_of(folder: Path, experiment: str, block: Block) -> Path:
    """Return where a block is kept."""
    return folder / experiment / (re.sub(r"[^\w.=-]+", "_", block.key) + ".nc")


def load(path: Path, settings: str) -> xarray.Dataset | None:
    """Return the block that is kept there; None if there is none, or none that can be trusted."""
    import xarray

    try:
        content = path.read_bytes()
        dataset = xarray.load_dataset(io.BytesIO(content), engine="scipy")
        checksum = dataset.attrs.pop("checksum")
    except Exception:  # what a damaged file makes its reader raise can be anything
        return None
    return dataset if _digest(content.replace(checksum.encode(), settings.encode(), 1)) == checksum else None


def save(path: Path, dataset: xarray.Dataset, settings: str) -> None:
    """Keep a block, atomically. Its checksum is that of the file with the digest of the settings in the same place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Texts only: NetCDF cannot hold large whole numbers, such as a seed may be.
    plain = {name: str(value) for name, value in dataset.attrs.items()} | {"checksum": settings}
    content = bytes(dataset.assign_attrs(plain).to_netcdf(engine="scipy"))
    with replacing(path) as temporary:
        temporary.write_bytes(content.replace(settings.encode(), _digest(content).encode(), 1))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
