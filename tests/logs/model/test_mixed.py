"""The mixed model: what it computes by parts is what one large matrix says."""

import numpy as np
import pytest

from rotting.logs.model.mixed import FREE, TINY, WALK, Arms, Assumed, Calendar, Fit, Slope, calendars, wandering
from small_panels import before, drawn, staggered

KINDS = [
    Assumed(),
    Assumed(level=0.3, wander=0.4, length=0.1),
    Assumed(level=0.2, slope=0.5, wander=0.2, length=0.3),
    Assumed(level=1.0, slope=0.2, wander=0.7, length=WALK),
]


def tiny(seed=1, rate=0.1):
    shown = staggered(4, 7, 60)
    return drawn(rate * np.array([[1.0], [1.5], [0.7], [1.2]]) * np.exp(-before(shown) / 400), shown, seed)


def axis_of(panel):
    return panel.exposure / panel.typical_exposures * (panel.shown > 0)


def dense(panel, assumed, axis, calendar):
    """Return responses, their covariance given slices, and what is known of slices, over the cells that exist."""
    arm, piece = np.nonzero(panel.shown > 0)
    same = arm[:, None] == arm
    noise = np.diag(1 / panel.weight[arm, piece])
    time = panel.time[piece]
    if assumed.length == WALK:
        since = np.maximum(time - panel.launch[arm], 0)
        wander = np.minimum(since[:, None], since)
    else:
        wander = np.exp(-np.abs(time[:, None] - time) / assumed.length)
    x = axis[arm, piece]
    own = assumed.level**2 + assumed.wander**2 * wander + assumed.slope**2 * x[:, None] * x
    covariance = noise + same * own
    slices = (piece[:, None] == np.arange(len(panel.time))).astype(float)
    prior = TINY * np.eye(len(panel.time)) if calendar is None else calendar.precision
    return arm, piece, panel.response[arm, piece], np.linalg.inv(covariance), slices, prior, covariance


@pytest.fixture(params=KINDS, ids=["plain", "wandering", "slopes", "walk"])
def assumed(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["free", "smooth"])
def fitted(request, assumed):
    panel = tiny()
    axis = axis_of(panel)
    calendar = Calendar.of(panel.time, 0.15, 0.1) if request.param else None
    return Fit(Arms(panel, assumed, axis), calendar), axis, dense(panel, assumed, axis, calendar)


def least_squares(design, precision, prior, response):
    """Return the posterior mean and covariance of coefficients."""
    covariance = np.linalg.inv(design.T @ precision @ design + prior)
    return covariance @ design.T @ precision @ response, covariance


def test_slices_are_those_of_least_squares(fitted):
    fit, _, (_, _, response, precision, slices, prior, _) = fitted
    mean, covariance = least_squares(slices, precision, prior, response)
    assert fit.slices == pytest.approx(mean, abs=1e-6)
    assert fit.covariance == pytest.approx(covariance, rel=1e-5, abs=1e-6)


def test_the_slope_of_an_arm_by_itself_is_that_of_least_squares(fitted):
    fit, axis, (arm, piece, response, precision, slices, prior, _) = fitted
    found = fit.own(axis)
    for own in range(4):
        column = np.where(arm == own, axis[arm, piece], 0.0)
        design = np.column_stack([column, slices])
        both = np.zeros((len(prior) + 1,) * 2)
        both[1:, 1:] = prior
        mean, covariance = least_squares(design, precision, both, response)
        assert found.information[own] == pytest.approx(1 / covariance[0, 0], rel=1e-4)
        assert found.score[own] / found.information[own] == pytest.approx(mean[0], rel=1e-4)
        assert found.z()[own] == pytest.approx(mean[0] / np.sqrt(covariance[0, 0]), rel=1e-3)


def test_without_a_calendar_it_is_that_of_the_arm_alone(fitted):
    fit, axis, (arm, piece, response, precision, *_) = fitted
    found = fit.own(axis, calendar=False)
    for own in range(4):
        column = np.where(arm == own, axis[arm, piece], 0.0)
        assert found.information[own] == pytest.approx(column @ precision @ column)
        assert found.score[own] == pytest.approx(column @ precision @ response)


def test_the_common_slope_is_that_of_least_squares_and_so_are_slices_beside_it(fitted):
    fit, axis, (arm, piece, response, precision, slices, prior, _) = fitted
    design = np.column_stack([slices, axis[arm, piece]])
    both = np.zeros((len(prior) + 1,) * 2)
    both[:-1, :-1] = prior
    _, covariance = least_squares(design, precision, both, response)
    found = fit.common(axis)
    assert float(found.information) == pytest.approx(1 / covariance[-1, -1], rel=1e-4)
    both[-1, -1] = 0.8**-2
    mean, covariance = least_squares(design, precision, both, response)
    joint_mean, joint_covariance = fit.joint(axis, 0.8)
    assert joint_mean == pytest.approx(mean, abs=1e-6)
    assert joint_covariance == pytest.approx(covariance, rel=1e-5, abs=1e-6)
    assert float(found.z(0.8)) == pytest.approx(mean[-1] / np.sqrt(covariance[-1, -1]), rel=1e-4)


def restricted(parts):
    """Return the logarithm of the restricted likelihood, but for constants, from the whole covariance."""
    _, _, response, precision, slices, prior, covariance = parts
    information = slices.T @ precision @ slices + prior
    mean = np.linalg.solve(information, slices.T @ precision @ response)
    loss = response @ precision @ response - mean @ slices.T @ precision @ response
    return -0.5 * (np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(information)[1] + loss)


@pytest.mark.parametrize("smooth", [False, True])
def test_the_likelihood_is_that_of_the_whole_matrix(smooth):
    """Up to one constant for all assumptions: what noise alone makes of the determinant."""
    panel = tiny()
    axis = axis_of(panel)
    calendar = Calendar.of(panel.time, 0.15, 0.1) if smooth else None
    differences = [
        Fit(Arms(panel, kind, axis), calendar).log_likelihood - restricted(dense(panel, kind, axis, calendar))
        for kind in KINDS
    ]
    assert np.ptp(differences) < 1e-6


def test_calendars_know_nothing_of_level_and_trend_but_how_they_bend():
    time = np.linspace(0, 1, 9)
    for calendar in calendars(time):
        for line in (np.ones(9), time):
            assert calendar.precision @ line == pytest.approx(np.zeros(9), abs=1e-4 * np.abs(calendar.precision).max())
        bend = time**2
        assert bend @ calendar.precision @ bend > 0
    rough, smooth = (Calendar.of(time, each, 0.0) for each in (0.5, 0.01))
    assert bend @ rough.precision @ bend < bend @ smooth.precision @ bend


def test_calendars_of_other_spreads_are_compared_at_their_own_density():
    """Draws from a calendar are likelier under it than under the others, on average: so `log_determinant` is right."""
    time, generator = np.linspace(0, 1, 12), np.random.default_rng(1)
    trend = np.stack([np.ones(12), time], axis=1)
    left = np.eye(12) - trend @ np.linalg.pinv(trend)
    spreads = ((0.01, 0.02), (0.3, 0.02), (0.01, 0.3))
    found = [Calendar.of(time, *each) for each in spreads]
    for place, (smooth, rough) in enumerate(spreads):
        covariance = smooth**2 * np.exp(-np.abs(time[:, None] - time) / 0.15) + rough**2 * np.eye(12)
        draws = generator.multivariate_normal(np.zeros(12), covariance, 200) @ left
        density = [
            np.mean(0.5 * each.log_determinant - 0.5 * np.einsum("ds,st,dt->d", draws, each.precision, draws))
            for each in found
        ]
        assert int(np.argmax(density)) == place


def test_evidence_is_the_ratio_of_likelihoods():
    """Of a slope from N(0, s^2) against none: the densities of its estimate, N(0, s^2 + v) and N(0, v)."""
    slope = Slope(np.array([3.0]), np.array([4.0]))
    estimate, variance = 0.75, 0.25

    def density(spread):
        return -0.5 * np.log(spread) - 0.5 * estimate**2 / spread

    for prior in (0.1, 1.0, 10.0):
        assert slope.log_evidence(prior) == pytest.approx(density(prior**2 + variance) - density(variance))
        mean = estimate * prior**2 / (prior**2 + variance)
        error = np.sqrt(prior**2 * variance / (prior**2 + variance))
        assert slope.z(prior) == pytest.approx(mean / error)


def test_wandering_that_never_comes_back_begins_at_launch():
    panel = tiny()
    times = np.broadcast_to(panel.time, panel.weight.shape)
    walk = wandering(panel, Assumed(wander=0.5, length=WALK), times, times)
    last = 3
    assert walk[last, 0].tolist() == [0.0] * len(panel.time)
    assert walk[last, -1, -1] == pytest.approx(0.25 * (panel.time[-1] - panel.launch[last]))
    settled = wandering(panel, Assumed(wander=0.5, length=0.1), times, times)
    assert np.einsum("ass->as", settled) == pytest.approx(np.full((4, len(panel.time)), 0.25))


def test_cells_that_do_not_exist_say_nothing():
    panel = tiny()
    fit = Fit(Arms(panel, KINDS[2], axis_of(panel)))
    other = panel.response + 5.0 * (panel.shown == 0)
    assert fit.arms.weighed(other) == pytest.approx(fit.arms.response)


def test_what_is_not_known_at_all_hardly_matters():
    """Twice as free a level changes nothing."""
    panel = tiny()
    one, other = (Fit(Arms(panel, Assumed(level=each))).own(axis_of(panel)).z() for each in (FREE, 2 * FREE))
    assert one == pytest.approx(other, abs=0.01)
