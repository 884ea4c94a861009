"""What another policy would have earned, by a log that has the probability of what it shows.

| module | what |
|---|---|
| `along` | policies played on what a log holds, compiled: along its rows, on tapes, on a thinned part |
| `beside` | what a diagnosis tells of policies where its log has probabilities |
| `candidates` | what is to be evaluated: policies that play along, and fixed shares |
| `comparing` | several policies compared: gains with intervals that hold for all of them together |
| `database` | a bandit's own log: its decisions with their probabilities, and its rewards as they came |
| `doubting` | what speaks against an answer: wrong probabilities, support that ends, arms that recover |
| `evaluation` | everything together: `evaluate` |
| `evaluation_page` | the page: two targets, apart, and how much of each policy the log can see |
| `logged` | a log with probabilities as arrays: what was shown, how likely it was, what was known when |
| `replaying` | what running a policy would have earned: it plays on the log's own rewards |
| `telling` | sentences and tables, every number with its target |
| `weighing` | the value of the next decision: weighted rewards, and their intervals |
"""

from rotting.value.evaluation import Evaluation, Valued, evaluate
from rotting.value.replaying import Run
from rotting.value.weighing import Support

__all__ = ["Evaluation", "Run", "Support", "Valued", "evaluate"]
