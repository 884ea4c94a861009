"""`rotting design`."""

from __future__ import annotations

import datetime
import json
from typing import Annotated, Any

import typer

from rotting.cli.diagnose import READING
from rotting.cli.evaluate import OTHERS
from rotting.cli.options import Seed, with_options

LogArgument = Annotated[str, typer.Argument(help="A log as `rotting diagnose` reads it, of arms that fall.")]
Power = Annotated[float, typer.Option(help="How often the experiment shall tell the right cause.")]
Since = Annotated[
    str | None,
    typer.Option(
        help="When the experiment began: read its outcome, from a log that goes to its end.", show_default=False
    ),
]


Gap = Annotated[
    float | None,
    typer.Option(
        help="Design a holdout instead, which tells that a policy earns so much more than any arm: 0.05.",
        show_default=False,
    ),
]
Within = Annotated[int, typer.Option(help="The days that a holdout may take.", min=1)]


def design(
    log: LogArgument,
    power: Power = 0.9,
    since: Since = None,
    gap: Gap = None,
    within: Within = 28,
    seed: Seed = 0,
    **reading: Any,
) -> None:
    """Design the cheapest experiment that tells whether arms fall by being shown, or with time; or read its outcome.

    With --gap, design the cheapest holdout that tells what a policy gains.
    """
    from rotting import value

    if since is not None:
        typer.echo(str(value.outcome(log, since, **reading)))
        return
    if gap is not None:
        typer.echo(str(value.holdout(log, gap=gap, within=within, power=power, seed=seed, **reading)))
        return
    found = value.design(log, power=power, seed=seed, **reading)
    typer.echo(str(found))
    tomorrow = datetime.datetime.now(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    begin = found.experiment(tomorrow + datetime.timedelta(days=1))
    typer.echo(f"From tomorrow on: rotting bandit change URL NAME --experiment '{json.dumps(begin)}'")


_READ_OPTIONS: dict[str, object] = {
    name: Annotated[str | None, typer.Option(help=said, show_default=default)]
    for name, (said, default) in READING.items()
    if name not in OTHERS
}
with_options(design, design, _READ_OPTIONS)
