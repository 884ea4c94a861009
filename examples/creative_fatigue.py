"""A campaign whose creatives wear out: a Bandit with EFF-FEWA against a plain A/B split and against UCB1.

Six creatives have click rates that fall once enough people have seen them, each at its own pace. Impressions come in
batches, clicks one batch later. All policies face the same clicks: whether the n-th impression of a creative is clicked
does not depend on the policy.

Run it with `python examples/creative_fatigue.py`; it takes some seconds.
"""

from __future__ import annotations

import tempfile

import numpy as np
from scipy.special import expit

from rotting import UCB1, Bandit, EffFEWA, Policy, Uniform

IMPRESSIONS, BATCH, CAMPAIGNS = 10_000, 100, 2
# Click rate when new, click rate when worn out, and after how many impressions half of the difference is lost.
CREATIVES = {
    "sunrise": (0.60, 0.10, 900),
    "mountain": (0.50, 0.15, 1200),
    "family": (0.45, 0.20, 1500),
    "coupon": (0.70, 0.05, 400),
    "quote": (0.40, 0.25, 2000),
    "plain": (0.30, 0.30, 1),
}


def click_rates(name: str) -> np.ndarray:
    """Return the click rate of a creative at each of its impressions: a logistic decline."""
    start, end, midpoint = CREATIVES[name]
    return end + (start - end) * expit((midpoint - np.arange(IMPRESSIONS)) / (0.1 * midpoint))


def campaign(policy: Policy, folder: str, number: int) -> float:
    """Return the clicks per impression that a policy gets."""
    random = np.random.default_rng(number)
    clicks = {name: random.random(IMPRESSIONS) < click_rates(name) for name in CREATIVES}
    shown = dict.fromkeys(CREATIVES, 0)
    clicked, pending = 0.0, []
    with Bandit.open(f"sqlite:///{folder}/campaign.db", f"{policy} {number}", policy, CREATIVES) as bandit:
        for _ in range(0, IMPRESSIONS, BATCH):
            choices = bandit.decide(BATCH)
            bandit.reward_many(pending)  # the clicks of the previous batch
            pending = []
            for choice in choices:
                pending.append((choice.id, float(clicks[choice.arm][shown[choice.arm]])))
                shown[choice.arm] += 1
            clicked += sum(click for _, click in pending)
        bandit.reward_many(pending)
    return clicked / IMPRESSIONS


def main() -> dict[str, float]:
    """Play every policy, print a table, and return clicks per impression."""
    policies = {"A/B split": Uniform(), "UCB1": UCB1(sigma=0.5), "EFF-FEWA": EffFEWA(sigma=0.5)}
    rates = {}
    with tempfile.TemporaryDirectory() as folder:
        for label, policy in policies.items():
            rates[label] = float(np.mean([campaign(policy, folder, number) for number in range(CAMPAIGNS)]))
    best = float(np.mean(np.sort(np.concatenate([click_rates(name) for name in CREATIVES]))[-IMPRESSIONS:]))
    for label, rate in {**rates, "all rates known": best}.items():
        print(f"{label:18} {rate:.4f} clicks per impression, {rate / rates['A/B split'] - 1:+.1%} over the A/B split")
    return rates


if __name__ == "__main__":
    main()
