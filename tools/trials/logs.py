"""A log is diagnosed, from a frame and from a file of Excel."""

import rotting

log = rotting.logs.make_log(arms=2, exposures=100)
log.to_excel("log.xlsx", index=False)
assert rotting.diagnose(log).verdict == rotting.diagnose("log.xlsx").verdict
