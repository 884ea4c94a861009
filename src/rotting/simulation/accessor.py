"""`result.rotting`: what people ask of a result, where users of xarray look for it.

`rotting.simulate` and `rotting.open_results` bring it with them. For a result that was read from a file by other means,
import this module.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import xarray

from rotting.errors import BadValue
from rotting.simulation.figures import differences_figure, regret_figure
from rotting.simulation.identified import Identified, identification, identification_sheet
from rotting.simulation.replay import Replay, replay_of
from rotting.simulation.replay_figures import drops_figure, pulls_figure
from rotting.simulation.significance import Difference, label_among, significance
from rotting.simulation.summary import PolicySummary, finished, summarise
from rotting.simulation.tables import comparison_sheet, differences_sheet

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from rotting.problems import Problem

EXPLAINED = 400  # rounds of a run in which a policy is asked why, unless told otherwise


@xarray.register_dataset_accessor("rotting")  # type: ignore[no-untyped-call]
class ResultAccessor:
    """Summaries and pictures of a result. Pictures are matplotlib figures: notebooks show them, `savefig` keeps them.

    Examples
    --------
    >>> import rotting
    >>> policies = {"FEWA": rotting.FEWA(), "UCB1": rotting.UCB1()}
    >>> result = rotting.simulate(policies, rotting.problems.two_arm(L=2), horizon=200, runs=4)
    >>> [row.policy for row in result.rotting.summary()]
    ['FEWA', 'UCB1']
    >>> figure = result.rotting.plot_drops("FEWA", run=2)
    """

    def __init__(self, dataset: xarray.Dataset):
        self._dataset = dataset

    def summary(self) -> list[PolicySummary]:
        """Return the statistics of each policy at the last round, with 95 % intervals and differences to the best."""
        return summarise(self._dataset)

    def frame(self) -> pandas.DataFrame:
        r"""Return the summary as a table of pandas, one row per policy."""
        import pandas

        return pandas.DataFrame([dataclasses.asdict(row) for row in self.summary()])

    def table(self, form: str = "text", times: bool = False) -> str:
        r"""Return the summary as a table: mean regret and how much it is above the best, with 95 % intervals.

        Parameters
        ----------
        form
            "text", "markdown", or "latex" (for the package booktabs).
        times
            Whether to add the time per decision, where it was kept.

        Examples
        --------
        >>> import rotting
        >>> problem = rotting.problems.two_arm(L=2)
        >>> result = rotting.simulate([rotting.Uniform(), rotting.Oracle()], problem, horizon=100, runs=8)
        >>> print(result.rotting.table("markdown"))
        **two\_arm(L=2, horizon=10000): 100 rounds, 8 runs, seed 0**
        <BLANKLINE>
        | policy | mean regret | 10 % | 90 % | above best |
        | --- | ---: | ---: | ---: | ---: |
        | **Oracle()** | **0.0 ± 0.0** | **0.0** | **0.0** | **best** |
        | Uniform() | 48.1 ± 4.6 | 41.1 | 54.0 | 48.1 ± 4.6 |
        <BLANKLINE>
        ±: 95 % intervals over runs; 10 % and 90 %: quantiles of the runs; bold: the best, and what is not
        behind it by more than chance.
        Regret against the oracle (greedy: optimal).
        """
        return comparison_sheet(self._dataset, times).written(form)

    def significance(self, baseline: str | None = None) -> list[Difference]:
        """Return the paired differences between policies, with p values after Holm's correction.

        Parameters
        ----------
        baseline
            The label or the name of a policy that the others are compared with (default: all pairs).
        """
        return significance(self._dataset, baseline)

    def significance_table(self, form: str = "text", baseline: str | None = None) -> str:
        """Return which differences between policies are more than chance, as a table; parameters as above."""
        return differences_sheet(self.significance(baseline)).written(form)

    def identification(self, problem: Problem | None = None, ahead: int = 1, at: int | None = None) -> list[Identified]:
        """Return how well each policy identified the best arm, of a result with `trace="recommended"`.

        Parameters
        ----------
        problem
            What was played on, where the result's name of it does not describe it.
        ahead
            How many pulls of the recommended arm are to come.
        at
            Judge all arms as if each had been pulled so often (default: each is as worn as the policy left it).
        """
        return identification(self._dataset, problem, ahead, at)

    def identification_table(
        self, form: str = "text", problem: Problem | None = None, ahead: int = 1, at: int | None = None
    ) -> str:
        """Return the same as a table; forms as in `table`."""
        title = f"{self._dataset.attrs['problem']}: after {self._dataset.attrs['horizon']} rounds, {ahead} to come"
        return identification_sheet(title, self.identification(problem, ahead, at)).written(form)

    def plot_regret(self) -> Figure:
        """Draw regret over time: means, and the region from 10 % to 90 % of the runs."""
        return regret_figure(finished(self._dataset))

    def plot_differences(self, against: str | None = None) -> Figure:
        """Draw regret minus that of one policy, run by run, with 95 % intervals.

        Parameters
        ----------
        against
            The label of the policy to compare with (default: the best one at the last round).
        """
        if against is None:
            base = next(row.policy for row in self.summary() if row.best)
        else:
            base = label_among(list(map(str, self._dataset["policy"].values)), against, "against")
        return differences_figure(finished(self._dataset), base)

    def plot_pulls(self, policy: str | None = None, run: int = 0, problem: Problem | None = None) -> Figure:
        """Draw the pulls of each arm over the rounds of one run, which is played again.

        Parameters
        ----------
        policy
            The label of the policy (default: the first).
        run
            The number of the run.
        problem
            What was played on, where the result's name of it does not describe it.
        """
        return pulls_figure(self.replay(policy, run, problem), self._dataset.sizes["arm"])

    def plot_drops(self, policy: str | None = None, run: int = 0, problem: Problem | None = None) -> Figure:
        """Draw which window dropped which arm in one run of a policy that filters; parameters as in `plot_pulls`."""
        played = self.replay(policy, run, problem, explain=EXPLAINED)
        if not any(hasattr(verdict, "survived") for said in played.explanations.values() for verdict in said.arms):
            raise BadValue("does not filter", name="policy", value=played.policy, expected="FEWA or EffFEWA")
        return drops_figure(played, self._dataset.sizes["arm"])

    def replay(
        self, policy: str | None = None, run: int = 0, problem: Problem | None = None, explain: int = 0
    ) -> Replay:
        """Return one run, round by round: arms, rewards, and explanations of so many rounds."""
        return replay_of(self._dataset, policy, run, problem, explain)

    def __repr__(self) -> str:
        return self.table(times=True)

    def _repr_html_(self) -> str:
        return comparison_sheet(self._dataset).html()
