"""What everything rests on: compiling, randomness, parameters, parsing, files.

| module | what |
|---|---|
| `bandit_settings` | the settings of a bandit, one list |
| `checking` | compiled functions of users, checked |
| `compile_notice` | one line on the error stream for somebody who waits for the compiler |
| `compiling` | three decorators for compiled functions, and an on-disk cache that cannot go stale |
| `defining` | what classes that bring compiled functions have in common: policies, dynamics, noise, curves |
| `files` | files that are there as a whole or not at all |
| `frames` | tables of other libraries, without importing any of them |
| `gamma` | gamma and Beta numbers as functions of a random key |
| `imported` | modules of users, imported from texts that are kept: own policies, dynamics, curves and noise |
| `isotonic` | isotonic regression: the monotone curve that is nearest to noisy values |
| `linking` | compiling functions that exist inside of other compiled functions only |
| `noise` | how noisy rewards are: from their bounds, or from the differences between successive rewards of an arm |
| `parameters` | parameter objects: frozen dataclasses that check themselves and print as the call that makes them |
| `parsing` | read objects from text such as "FEWA(alpha=0.06)". Text is parsed, never evaluated |
| `processes` | processes beside this one, for Python code that would hold the interpreter's lock |
| `randomness` | random numbers as a pure function of where they are used |
| `summation` | sums of many numbers that do not lose digits |
| `threads` | jobs on threads: results as they finish, few in memory, nothing left running after an error or Ctrl-C |
| `validation` | numbers from users, checked: one way to refuse each kind, with one style of message |
"""
