"""The experiments of the paper, and some of the field around it: play them, draw them, judge claims, and report.

| module | what |
|---|---|
| `beyond/` | experiments of other papers |
| `claims` | what a claim is, and how it is judged from runs |
| `every_policy` | all policies on one problem |
| `experiment` | what an experiment is, and what experiments share |
| `report` | the report as one page |
| `reproduce` | the whole of the paper: play what is missing, draw, judge, and write the report |
| `running_time` | how long decisions take |
| `stationary` | arms that never change |
| `store` | results of experiments that were played before |
| `ten_arm` | the paper's ten arms |
| `theory` | bounds beside regret, and what the paper proves |
| `two_arm` | the paper's two arms |
"""

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
    "levine": "beyond.levine",
    "boredom": "beyond.boredom",
    "recovering": "beyond.recovering",
    "push": "beyond.push",
    "restless": "beyond.restless",
    "many-arms": "beyond.many_arms",
    "candy-cane": "beyond.candy_cane",
    "identification": "beyond.identification",
}
CLAIMS_NAME = "claims"
NAMES = (*MODULES, CLAIMS_NAME)
ALL_NAMES = (*MODULES, *BEYOND, CLAIMS_NAME)
