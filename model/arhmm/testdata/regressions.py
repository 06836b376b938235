"""Print Markov-switching regressions with their log likelihoods by statsmodels, as JSON.

own        series that this program makes, fitted by statsmodels (regressions.json was written by it, version 0.13.5)
published  the series that statsmodels ships with its tests, with the likelihoods published for them
"""
import json
import random
import sys
import warnings
from unittest import mock

import numpy as np

try:
    import pytest  # noqa: F401, which the tests of statsmodels import
except ImportError:
    sys.modules["pytest"] = mock.MagicMock()
from statsmodels.tsa.regime_switching.markov_regression import MarkovRegression


def parameters(model, params, order):
    """P, W and Q of a model of one series: coefficients of the lag, of the controls, and the constant."""
    k = model.k_regimes
    named = dict(zip(model.param_names, params))
    slopes = range(1, model.k_exog + 1) if model.k_exog > 0 else []
    shared = "sigma2" in named
    return {
        "transition": [row.tolist() for row in model.regime_transition_matrix(params)[:, :, 0].T],
        "w": [[named[f"x{i}[{j}]"] for i in slopes] + [named.get(f"const[{j}]", 0)] for j in range(k)],
        "q": [named["sigma2" if shared else f"sigma2[{j}]"] for j in range(k)],
    }


def case(name, model, params, likelihood, fitted, order):
    """A case: with a lag, the series has the first lag before its first value."""
    x, slopes = np.asarray(model.endog).ravel(), np.zeros((len(model.endog), 0))
    if model.k_exog > 0:
        slopes = np.asarray(model.exog)[:, -model.k_exog:]
    if order:
        x, controls = np.r_[slopes[0, 0], x], np.r_[[[0] * (slopes.shape[1] - 1)], slopes[:, 1:]]
        assert (slopes[:, 0] == x[:-1]).all()
    else:
        controls = slopes
    constant = any(n.startswith("const") for n in model.param_names)
    return {
        "name": name, "k": model.k_regimes, "order": order, "common": not model.switching_variance,
        "constant": constant, "x": x.tolist(), "u": controls.tolist(),
        "log_likelihood": likelihood, "fitted": fitted, **parameters(model, params, order),
    }


def own():
    draw, x, u, regime = random.Random(1), [0.0], [0.0], 0
    for _ in range(180):
        if draw.random() < 0.06:
            regime = 1 - regime
        u.append(round(draw.gauss(0, 1), 2))
        mean = (0.8 * x[-1] + 0.5 * u[-1], 1.5 - 0.4 * x[-1] - 0.8 * u[-1])[regime]
        x.append(round(mean + draw.gauss(0, (0.3, 0.5)[regime]), 2))
    x, u = np.array(x), np.array(u)
    both = np.c_[x[:-1], u[1:]]
    for name, k, order, variance, exog in [
        ("two means", 2, 0, False, None),
        ("two means with a control", 2, 0, False, u),
        ("two lags", 2, 1, False, x[:-1]),
        ("two lags with a control and variances", 2, 1, True, both),
        ("three lags with a control", 3, 1, False, both),
    ]:
        model = MarkovRegression(x[order:], k_regimes=k, exog=exog, switching_variance=variance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.random.seed(1)
            found = [model.fit(disp=False, search_reps=20, em_iter=20, maxiter=500) for _ in range(3)]
        best = max(found, key=lambda r: r.llf)
        params = np.array([float(f"{v:.4g}") for v in best.params])
        yield case(name, model, params, model.loglike(params), best.llf, order)


def published():
    import statsmodels.tsa.regime_switching.tests.test_markov_regression as tests

    for name, order in [
        ("TestFedFundsConst", 0), ("TestFedFundsConstShort", 0), ("TestFedFundsConstL1", 1),
        ("TestFedFundsConstL1Exog", 1), ("TestFedFundsConstL1Exog3", 1),
        ("TestAreturnsConstL1Variance", 1), ("TestMumpspcNoconstL1Variance", 1),
    ]:
        t = getattr(tests, name)
        t.setup_class()
        yield case(name, t.model, t.true["params"], t.true["llf"], t.true["llf_fit"], order)


json.dump(list({"own": own, "published": published}[sys.argv[1]]()), sys.stdout)
print()
