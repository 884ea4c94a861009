"""A store of what has been played, on disk, so that an interrupted reproduction resumes where it was.

One NetCDF file per block, which xarray and many other tools open. A file is used again only if it was made with the
same settings, the same kernels and the same seed, and holds what it held when it was written (its checksum says so).
"""

from __future__ import annotations

import hashlib
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
    made_by = [__version__, kernel_digest(), np.__version__, *([] if device == "cpu" else [device])]
    parts = [*made_by, repr(block.problem), str(block.rounds), str(runs), str(seed), *policies]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def file_of(folder: Path, experiment: str, block: Block) -> Path:
    """Return where a block is kept."""
    return folder / experiment / (re.sub(r"[^\w.=-]+", "_", block.key) + ".nc")


def load(path: Path, settings: str) -> xarray.Dataset | None:
    """Return the block that is kept there; None if there is none, or none that can be trusted."""
    import xarray

    try:
        dataset = xarray.load_dataset(path, engine="scipy")
        trusted = dataset.attrs.pop("settings") == settings and dataset.attrs.pop("checksum") == checksum(dataset)
    except Exception:  # what a damaged file makes its reader raise can be anything
        return None
    return dataset if trusted else None


def save(path: Path, dataset: xarray.Dataset, settings: str) -> None:
    """Keep a block, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Texts only: NetCDF cannot hold large whole numbers, such as a seed may be.
    plain = dataset.assign_attrs({name: str(value) for name, value in dataset.attrs.items()})
    content = plain.assign_attrs(settings=settings, checksum=checksum(plain)).to_netcdf(engine="scipy")
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def checksum(dataset: xarray.Dataset) -> str:
    """Return a digest of what is in a dataset, whatever the width of its whole numbers on disk."""
    digest = hashlib.sha256("\n".join(f"{name}={dataset.attrs[name]}" for name in sorted(dataset.attrs)).encode())
    for name in sorted(map(str, dataset.variables)):
        values = dataset[name].values
        digest.update(f"{name} {dataset[name].dims} {values.shape}".encode())
        if values.dtype.kind in "iu":
            digest.update(values.astype("<i8").tobytes())
        elif values.dtype.kind == "f":
            digest.update(values.astype("<f8").tobytes())
        else:
            digest.update("\n".join(map(str, values.ravel())).encode())
    return digest.hexdigest()
