"""Experiments of other papers, and what known values and claims of theirs come to.

| module | what |
|---|---|
| `boredom` | users who tire of what they saw lately (Warlop and others, 2018) |
| `candy_cane` | the best known contest with rotting arms |
| `identification` | which arm will be best |
| `levine` | the experiments of Levine and others (2017) |
| `many_arms` | infinitely many arms |
| `push`, `push_log` | notifications (Yancey and Settles, 2020); logs of them, made and read |
| `recovering` | arms that recover (Pike-Burke and Grunewalder, 2019) |
| `restless` | restless arms |
"""
