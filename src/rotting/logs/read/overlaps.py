"""Exports that cover the same days: the same file twice, windows that overlap, days that were exported anew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.read.columns import FILE, Columns, LogError, words_of
from rotting.logs.read.sources import Source

if TYPE_CHECKING:
    import duckdb

SAMPLE = 200  # rows that show which columns hold numbers
_NUMBER = re.compile(
    r"[-+\u2212]?[^0-9a-zA-Z]*[0-9][0-9.,'\u2019\s\u00a0\u202f]*([eE][-+]?[0-9]+)?\s*[%$€£¥]?|[-\s]*|(?i:n/?a|null|none)"
)
_NAMES = frozenset({"id", "ids", "code", "key", "uuid", "zip", "hour"})
# Copies in other files are no chance if there are so many times the number of files of them for each within a file.
OFTEN = 3
# Sums of so many exposures are not equal by chance.
MANY_EXPOSURES = 30


def dimensions(source: Source, columns: Columns) -> list[str]:
    """Return the columns that say what a row of sums is about, beside its arm and time: names, and no numbers."""
    used = {columns.arm, columns.reward, columns.time, columns.impressions, FILE}
    rest = [column for column in source.columns if column not in used]
    if not columns.aggregated or not rest:
        return []
    sample = source.rows.limit(SAMPLE).fetchall()
    found = []
    for column in rest:
        place = source.rows.columns.index(column)
        texts = ["" if row[place] is None else str(row[place]).strip() for row in sample]
        if words_of(column) & _NAMES or not all(map(_NUMBER.fullmatch, texts)):
            found.append(column)
    return found


def settle_overlaps(
    database: duckdb.DuckDBPyConnection, files: tuple[str, ...], sums: bool, drop_duplicates: bool
) -> list[str]:
    """Count once what stands in several files, refuse days that differ between files; return what must be said."""
    said = []
    if len(files) > 1:
        said += _drop_same_files(database, files)
        said += _settle_cells(database, files, drop_duplicates) if sums else _drop_shared_rows(database, len(files))
    return said + (_settle_repeats(database) if sums else [])


def _drop_same_files(database: duckdb.DuckDBPyConnection, files: tuple[str, ...]) -> list[str]:
    """Leave out files with the same rows as an earlier one."""
    prints = database.execute(
        "SELECT file, count(*), sum(whole_row::HUGEINT)::VARCHAR, bit_xor(whole_row) FROM log "
        "GROUP BY file ORDER BY file"
    ).fetchall()
    first: dict[tuple[object, ...], int] = {}
    same = [row[0] for row in prints if row[1] > 1 and first.setdefault(row[1:], row[0]) != row[0]]
    if not same:
        return []
    database.execute("DELETE FROM log WHERE list_contains($1, file)", [same])
    listed = ", ".join(files[number] for number in same[:4]) + (", ..." if len(same) > 4 else "")
    return [f"Files with the same rows as another were left out: {listed}."]


def _drop_shared_rows(database: duckdb.DuckDBPyConnection, files: int) -> list[str]:
    """Leave out rows that stand in an earlier file as well, where that is no chance: rows of one file hardly repeat."""
    [[across, within]] = database.execute(
        "SELECT sum(files - 1), sum(copies - files) FROM "
        "(SELECT count(*) AS copies, count(DISTINCT file) AS files FROM log GROUP BY whole_row)"
    ).fetchall()
    if across <= OFTEN * files * (within + 1):
        return []
    database.execute(
        "DELETE FROM log USING (SELECT whole_row AS row, min(file) AS first FROM log GROUP BY whole_row "
        "HAVING count(DISTINCT file) > 1) WHERE whole_row = row AND file > first"
    )
    return [f"Files overlap: {across:,} rows that stand in an earlier file as well were counted once."]


def _settle_cells(database: duckdb.DuckDBPyConnection, files: tuple[str, ...], drop_duplicates: bool) -> list[str]:
    """Leave out days of an arm that stand in an earlier file in the same way; refuse those that differ.

    If copies are to be dropped, the last file is right about a day: later exports know more.
    """
    database.execute(
        """
        CREATE OR REPLACE TEMP TABLE shared_cells AS
        WITH parts AS (SELECT arm, time, cell, file, count(*) AS rows, sum(whole_row::HUGEINT) AS print FROM log
            WHERE arm NOT NULL GROUP BY ALL)
        SELECT arm, time, cell, min(file) AS first, max(file) AS last, count(DISTINCT (rows, print)) > 1 AS differs
        FROM parts GROUP BY arm, time, cell HAVING count(*) > 1
        """
    )
    # All of a result is fetched: DuckDB 2 lets no relation be read beside one that is not finished.
    [[shared, differing]] = database.execute("SELECT count(*), count(*) FILTER (differs) FROM shared_cells").fetchall()
    if not shared:
        return []
    if differing and not drop_duplicates:
        [[arm, first, last]] = database.execute(
            "SELECT arm, first, last FROM shared_cells WHERE differs ORDER BY first, last, time, arm LIMIT 1"
        ).fetchall()
        raise LogError(
            f"{files[first]} and {files[last]} have other numbers for the same days of {quoted(arm)} "
            f"({differing:,} such days and arms)",
            hint="keep one export of each day, or say {drop_duplicates} to take the last file (by name) for each; if "
            "files are parts of the whole, such as countries, add a column that says which",
        )
    kept = "last" if drop_duplicates else "first"
    database.execute(
        f"DELETE FROM log USING shared_cells AS shared WHERE log.arm = shared.arm AND log.cell = shared.cell "
        f"AND log.time IS NOT DISTINCT FROM shared.time AND file != shared.{kept}"
    )
    return [f"Files overlap: {shared:,} days of arms stand in several, and those of the {kept} were counted."]


def _settle_repeats(database: duckdb.DuckDBPyConnection) -> list[str]:
    """Leave out sums that repeat another in every column; say where others of one arm and time were added up."""
    [[repeated, copied, shown]] = database.execute(
        """
        SELECT count(*), count(*) FILTER (kinds = 1), avg(shown) FILTER (kinds = 1) FROM
        (SELECT count(*) AS rows, count(DISTINCT whole_row) AS kinds, avg(impressions) AS shown FROM log
            WHERE arm NOT NULL AND time NOT NULL AND NOT is_total GROUP BY arm, time, cell) WHERE rows > 1
        """
    ).fetchall()
    if not repeated:
        return []
    if copied < repeated or (shown or 0) < MANY_EXPOSURES:
        return [f"Several rows of one arm and time were added up: {repeated:,} times. Were days exported twice?"]
    database.execute("DELETE FROM log WHERE rowid NOT IN (SELECT min(rowid) FROM log GROUP BY whole_row)")
    return [f"Rows that repeat another, of the same arm and time, were counted once: {copied:,} times."]
