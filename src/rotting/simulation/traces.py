"""Traces: what happened in every round of every run, on request."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rotting._core.files import replacing, temporary_name
from rotting.errors import BadValue, FileError, MissingExtra
from rotting.play.late import TRACES

if TYPE_CHECKING:
    import xarray

SUFFIXES = (".zarr", ".nc")
# What a variable of a NetCDF file may take: its format, the classic one, counts bytes with 32 bits.
_LARGEST_IN_NETCDF = 2**32 - 4


def checked_trace(trace: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of traces, each once.

    >>> checked_trace("actions"), checked_trace(["rewards", "actions"])
    (('actions',), ('rewards', 'actions'))
    """
    names = (trace,) if isinstance(trace, str) else tuple(trace)
    for name in names:
        if name not in TRACES:
            raise BadValue(name="trace", value=name, expected=f"names among {', '.join(map(repr, TRACES))}")
    return tuple(dict.fromkeys(names))


def write_traces(path: str | Path, dataset: xarray.Dataset) -> None:
    """Write results with their traces: a folder if the name ends in .zarr (needs `rotting[traces]`), a file if in .nc.

    What is there is replaced when all is written; a folder that is no Zarr store is left alone.

    Parameters
    ----------
    path
        Where to.
    dataset
        What `rotting.simulate` returned.
    """
    path = Path(path)
    check_destination(path)
    # Attributes as texts: neither format holds whole numbers as large as a seed may be.
    plain = dataset.assign_attrs({name: str(value) for name, value in dataset.attrs.items()})
    try:
        if path.suffix == ".nc":
            _write_netcdf(path, plain)
        else:
            _write_zarr(path, plain)
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error


def check_destination(path: Path, name: str = "path") -> None:
    """Refuse a destination that traces could not be written to; `name` is what the caller calls it."""
    if path.suffix not in SUFFIXES:
        raise BadValue(name=name, value=str(path), expected=f"a name that ends in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise BadValue(f"is in a folder that does not exist, {str(path.parent)!r}", name=name, value=str(path))
    if path.suffix == ".nc" and path.is_dir():
        raise BadValue("is a folder", name=name, value=str(path), expected="the name of a file")
    if path.suffix == ".zarr":
        try:
            import zarr  # noqa: F401
        except ImportError:
            raise MissingExtra(
                "a .zarr folder needs Zarr", hint='pip install "rotting[traces]", or a name that ends in .nc'
            ) from None
        if path.exists() and not any((path / file).is_file() for file in ("zarr.json", ".zgroup")):
            raise BadValue("exists and is not a Zarr store", name=name, value=str(path), hint="choose another name")


def _write_netcdf(path: Path, dataset: xarray.Dataset) -> None:
    for name, variable in dataset.variables.items():
        if variable.nbytes > _LARGEST_IN_NETCDF:
            raise BadValue(
                f"{name} takes {variable.nbytes:,} bytes, more than NetCDF holds", hint="use a name that ends in .zarr"
            )
    with replacing(path) as temporary:
        dataset.to_netcdf(temporary, engine="scipy")


def _write_zarr(path: Path, dataset: xarray.Dataset) -> None:
    temporary = temporary_name(path)
    try:
        # A chunk is a run: one thread wrote it, and one will mostly be read at a time.
        of_runs = {name: part.shape for name, part in dataset.data_vars.items() if part.dims[1:2] == ("run",)}
        encoding = {name: {"chunks": (1, 1, *shape[2:])} for name, shape in of_runs.items()}
        # Format 2: format 3 has no way yet to write texts that other libraries read.
        dataset.to_zarr(temporary, mode="w", encoding=encoding, zarr_format=2)
        if path.exists():
            old = temporary_name(path)
            os.replace(path, old)
            os.replace(temporary, path)
            shutil.rmtree(old)
        else:
            os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
