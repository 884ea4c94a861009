"""Reference implementations of the window policies: literal and slow.

Written from the paper's pseudo-code and from the notes that resolve what it leaves open, not from the package: plain
lists, `math`, no arrays, no compiler. Each policy is a small class with `select()` and `update(arm, reward)`; the tests
drive it next to the compiled agent and ask for the same arm in every round.

What the paper leaves open, the references and the package decide alike:

* t counts all rewards so far, plus one. An arm without a pull comes first, the lowest-numbered of them.
* The sum of a window is the exact sum of its rewards, rounded once (`math.fsum`).
* FEWA and EFF-FEWA compare sums, not means: window h drops arm i if and only if
  max_j W_j(h) - W_i(h) > theta sqrt(h), theta = sigma sqrt(8 max(0, alpha ln(t) - ln(delta0))). On the threshold, an
  arm stays. Among the arms that are left, the least-pulled one is pulled, the lowest-numbered on ties.
* RAW-UCB's index at window h is W(h) / h + width / sqrt(h), width = sigma sqrt(2 alpha ln(t)).
* EFF policies: window h_j is created when an arm has h_j pulls, and refreshed every w_j pulls counted from then.
* SWA: M = max(1, ceil(factor T^(2/3) ln(sqrt(2) T)^(1/3))), factor = alpha (4 sigma / K)^(2/3). While an arm has fewer
  than M pulls, the least-pulled arm is pulled. wSWA's first horizon is 1, and it doubles when it is used up.
* Every tie goes to the lowest-numbered arm.
"""
