"""How windows are answered quickly.

| module, in reading order | what |
|---|---|
| `history`, `double_double` | all rewards of every arm as prefix sums, with outlines of blocks; exact sums |
| `filtering` | FEWA's filter at one window |
| `quiet` | how far filters surely drop nobody: the tiers of exact FEWA, and what each is worth |
| `rows`, `bands`, `pairs` | the tiers, each with its claim and its proof |
| `bonus`, `index_proofs` | the same for the indices of RAW-UCB and RAW-UCB++ |
| `windows` | sums that are refreshed now and then: EFF-FEWA and EFF-RAW-UCB |
| `bernoulli` | confidence bounds of rewards in [0, 1] |
"""
