"""Exports that cover the same days: the same file twice, windows that overlap, days that were exported again."""

from __future__ import annotations

from rotting.errors import quoted
from rotting.logs.read.options import LogError
from rotting.logs.read.tables import Source

# Copies in other files are no chance if there are so many times the number of files of them for each within a file.
OFTEN = 3
# Sums of so many exposures are not equal by chance.
MANY_EXPOSURES = 30
FIRST_COPIES = "place IN (SELECT min(place) FROM log GROUP BY whole_row)"


def settle_overlaps(rows: Source, sums: bool, drop_duplicates: bool) -> Source:
    """Count once what stands in several files, refuse days that differ between files."""
    if rows.files:
        rows = _without_same_files(rows)
        rows = _settle_cells(rows, drop_duplicates) if sums else _without_shared(rows)
    return _settle_repeats(rows) if sums else rows


def _without_same_files(rows: Source) -> Source:
    """Leave out files with the same rows as an earlier one."""
    copies = """
        SELECT file FROM (SELECT file, row_number() OVER (PARTITION BY count(*), sum(whole_row::HUGEINT) ORDER BY file)
            AS copy FROM log GROUP BY file HAVING count(*) > 1) WHERE copy > 1 ORDER BY file
    """
    same = [rows.files[number] for (number,) in rows.find(copies)]
    if not same:
        return rows
    listed = ", ".join(same[:4]) + (", ..." if len(same) > 4 else "")
    return rows.where(f"file NOT IN ({copies})").saying(f"Files with the same rows as another were left out: {listed}.")


def _without_shared(rows: Source) -> Source:
    """Leave out rows that stand in an earlier file as well, where that is no chance: rows of one file hardly repeat."""
    [[across, within]] = rows.find(
        "SELECT sum(files - 1), sum(copies - files) FROM "
        "(SELECT count(*) AS copies, count(DISTINCT file) AS files FROM log GROUP BY whole_row)"
    )
    if across <= OFTEN * len(rows.files) * (within + 1):
        return rows
    once = "SELECT * EXCLUDE (first) FROM (SELECT *, min(file) OVER (PARTITION BY whole_row) AS first FROM log)"
    said = f"Files overlap: {across:,} rows that stand in an earlier file as well were counted once."
    return rows.select(f"{once} WHERE file = first").stored().saying(said)


def _settle_cells(rows: Source, drop_duplicates: bool) -> Source:
    """Leave out days of an arm that stand in an earlier file in the same way; refuse those that differ.

    If copies are to be dropped, the last file is right about a day: later exports know more.
    """
    shared = rows.select(
        """
        WITH parts AS (SELECT arm, time, cell, file, count(*) AS rows, sum(whole_row::HUGEINT) AS print FROM log
            WHERE arm NOT NULL GROUP BY ALL)
        SELECT arm, time, cell, min(file) AS first, max(file) AS last, count(DISTINCT (rows, print)) > 1 AS differs
        FROM parts GROUP BY arm, time, cell HAVING count(*) > 1
        """
    ).stored()
    [[number, differing]] = shared.find("SELECT count(*), count(*) FILTER (differs) FROM log")
    if not number:
        return rows
    if differing and not drop_duplicates:
        [[arm, first, last]] = shared.find(
            "SELECT arm, first, last FROM log WHERE differs ORDER BY first, last, time, arm LIMIT 1"
        )
        raise LogError(
            f"{rows.files[first]} and {rows.files[last]} have other numbers for the same days of {quoted(arm)} "
            f"({differing:,} such days and arms)",
            hint="keep one export of each day, or say {drop_duplicates} to take the last file (by name) for each; if "
            "files are parts of the whole, such as countries, add a column that says which",
        )
    kept = "last" if drop_duplicates else "first"
    once = rows.select(
        f"SELECT log.* FROM log LEFT JOIN ({shared.query}) AS shared ON log.arm = shared.arm "
        f"AND log.cell = shared.cell AND log.time IS NOT DISTINCT FROM shared.time "
        f"WHERE coalesce(file = shared.{kept}, true)"
    )
    said = f"Files overlap: {number:,} days of arms stand in several, and those of the {kept} were counted."
    return once.stored().saying(said)


def _settle_repeats(rows: Source) -> Source:
    """Leave out sums that repeat another in every column; say where others of one arm and time were added up."""
    [[repeated, copied, shown]] = rows.find(
        """
        SELECT count(*), count(*) FILTER (kinds = 1), avg(shown) FILTER (kinds = 1) FROM
        (SELECT count(*) AS rows, count(DISTINCT whole_row) AS kinds, avg(impressions) AS shown FROM log
            WHERE arm NOT NULL AND time NOT NULL AND NOT is_total GROUP BY arm, time, cell) WHERE rows > 1
        """
    )
    if not repeated:
        return rows
    if copied < repeated or (shown or 0) < MANY_EXPOSURES:
        return rows.saying(
            f"Several rows of one arm and time were added up: {repeated:,} times. Were days exported twice?"
        )
    said = f"Rows that repeat another, of the same arm and time, were counted once: {copied:,} times."
    return rows.where(FIRST_COPIES).stored().saying(said)
