"""Lists of the public names, each with a link to its entry in the reference."""

from __future__ import annotations

from rotting._public import public_names

PARTS = {
    "policies": "how to choose",
    "problems": "what is chosen from",
    "simulation": "policies on a problem, run by run",
    "sweeps": "policies x problems, resumable; tuning",
    "bandit": "the durable decision maker",
    "logs": "what a log says",
    "value": "what another policy would have earned",
    "theory": "regret and bounds",
    "errors": "one family of errors, with fields",
    "curves": "mean-reward curves, under a short name",
    "parameters": "for authors: declaring parameters",
    "randomness": "for authors: random numbers in kernels",
}


def every_name() -> str:
    """Return tables of every public name, part by part, in Markdown."""
    names = public_names()
    modules = [name for name, module in names.items() if module == f"rotting.{name}"]
    lines = ["\n## The parts\n\n| part | what it is |\n|---|---|\n"]
    lines += [f"| [rotting.{name}][rotting.{name}] | {PARTS[name]} |\n" for name in modules]
    lines.append("\n## Names in `rotting` itself\n\n| from | names |\n|---|---|\n")
    for module in dict.fromkeys(names.values()):
        own = sorted(name for name, source in names.items() if source == module and name not in modules)
        if own:
            links = ", ".join(f"[{name}][{module}.{name}]" for name in own)
            lines.append(f"| [{module}][{module}] | {links} |\n")
    return "".join(lines)


def every_policy() -> str:
    """Return a table of every policy and the first line of its docstring."""
    from rotting.policies import POLICIES

    rows = ((name, (policy.__doc__ or "").splitlines()[0]) for name, policy in POLICIES.items())
    return "\n| policy | rule |\n|---|---|\n" + "".join(
        f"| [{name}][rotting.policies.{name}] | {rule} |\n" for name, rule in rows
    )
