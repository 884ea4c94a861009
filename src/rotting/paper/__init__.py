"""The experiments of the paper, and some of the field around it: play them, draw them, judge claims, and report."""

# The experiments in the order in which they are played and reported: what `--only` calls each, and the module that
# holds it as EXPERIMENT. A new figure is a module and a line here. No module is imported yet: `rotting paper --help`
# needs the names only, and at once.
MODULES = {
    "fig1": "two_arm",
    "fig2": "ten_arm",
    "table1": "running_time",
    "appendix": "stationary",
    "policies": "every_policy",
    "theory": "theory",
}
# Experiments of other papers, which `--all` adds. Claims about them are judged whenever they are played.
BEYOND = {
    "levine": "levine",
    "boredom": "boredom",
    "recovering": "recovering",
    "restless": "restless",
    "many-arms": "many_arms",
    "candy-cane": "candy_cane",
}
CLAIMS_NAME = "claims"
NAMES = (*MODULES, CLAIMS_NAME)
ALL_NAMES = (*MODULES, *BEYOND, CLAIMS_NAME)
