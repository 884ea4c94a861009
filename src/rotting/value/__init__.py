"""What another policy would have earned, by a log that has the probability of what it shows.

| module | what |
|---|---|
| `along` | policies played on what a log holds, compiled: along its rows, on tapes, on a thinned part |
| `beside` | what a diagnosis tells of policies where its log has probabilities |
| `candidates` | what is to be evaluated: policies that play along, and fixed shares |
| `comparing` | several policies compared: gains with intervals that hold for all of them together |
| `database` | a bandit's own log: its decisions with their probabilities, and its rewards as they came |
| `designing` | the cheapest experiment that tells whether arms fall by being shown or with time: `design`, `outcome` |
| `doubting` | what speaks against an answer: wrong probabilities, support that ends, arms that recover |
| `evaluation` | everything together: `evaluate` |
| `evaluation_page` | the page: two targets, apart, and how much of each policy the log can see |
| `holding_out` | how large a holdout must be, for how long, to tell a policy from showing any arm: `holdout` |
| `logged` | a log with probabilities as arrays: what was shown, how likely it was, what was known when |
| `replaying` | what running a policy would have earned: it plays on the log's own rewards |
| `separating` | exposure or time: what counts tell of the cause of a fall |
| `telling` | sentences and tables, every number with its target |
| `weighing` | the value of the next decision: weighted rewards, and their intervals |
"""

from rotting.value.designing import Design, Price, design, outcome
from rotting.value.evaluation import Evaluation, Valued, evaluate
from rotting.value.holding_out import HoldoutDesign, holdout
from rotting.value.replaying import Run
from rotting.value.separating import Separation
from rotting.value.weighing import Support

__all__ = [
    "Design",
    "Evaluation",
    "HoldoutDesign",
    "Price",
    "Run",
    "Separation",
    "Support",
    "Valued",
    "design",
    "evaluate",
    "holdout",
    "outcome",
]
