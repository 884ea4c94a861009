"""From any table to counts: sources, shapes, columns, values, sanity.

| module | what |
|---|---|
| `checking` | what a log says about itself before it is counted |
| `clocks` | times as logs write them |
| `columns` | which column is which: as given, or guessed from the names, as far as the values fit |
| `counting` | the rows of a log as counts and sums: the internal form of everything after reading |
| `covariates` | columns beside those that are used: what may change what an arm earns, and what contradicts the log |
| `moments` | which column says when an arm was shown: one of them, or several that are put together |
| `names` | the names that columns have, in the languages of ad platforms |
| `nested` | tables whose values hold tables themselves, as JSON and warehouses write them, made flat |
| `numbers` | numbers as people and ad platforms write them: $3.20, 1.234,56, 1,234, 3.5 %, yes |
| `options` | how a log is to be read: one value for Python, the command and bandits |
| `overlaps` | exports that cover the same days |
| `reading` | from a log to counts |
| `reshaping` | event logs, turned into one row per exposure or sums with their number of exposures |
| `rules` | what must not be so in a log: queries that find it, and what is said then |
| `sources` | where logs come from: files, folders, tables in databases, frames. Each becomes a table of DuckDB |
| `staging` | the rows of a log as one table: arm, unit, reward, time and, where rows are sums, impressions |
| `tables` | logs as values, tables of DuckDB: what changes one gives another, and nothing is found by its name |
| `textfiles` | tables as texts, whatever their encoding, wrapping and first lines |
"""
