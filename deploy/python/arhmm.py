"""Computes regimes and forecasts of a model.kind=arhmm that `switchyard export NAME --format npz|safetensors -o DIR` wrote.
It needs numpy alone, and series without missing values.

    import arhmm
    model = arhmm.load("DIR")
    filtered = model.filter(x, u)                  # [T,m] probability of each regime given what was seen until then
    mean = model.forecast(x, u, controls)          # [horizon,nx] expected observations
"""
import numpy as np

import switchyard


class Model:
    """x_t = A_j (x_{t-1}, ..., x_{t-L}) + B_j u_t + c_j + N(0, Q_j), j = s_t;  s_t ~ P[s_{t-1}, .], the first from pi."""

    def __init__(self, exported):
        w, self.nx, self.nu, self.lags = exported.weights, exported.nx, exported.nu, exported.warmup
        n, nx = exported.m, exported.nx
        self.first, self.transition = w["regimes.first"], w["regimes.transition"]
        self.a = w["systems.A"][:, :nx, : self.lags * nx]
        self.b = w.get("systems.B", np.zeros((n, nx, 0)))[:, :nx]
        self.c, self.q = w["systems.bias"][:, :nx], w["systems.Q"][:, :nx, :nx]
        self.scaled, self.unscaled = exported.scaled, exported.unscaled

    def means(self, z, u):
        """What each regime expects after the lags z, newest first."""
        return self.a @ z + self.b @ u + self.c

    def lagged(self, x, t):
        """The observations before step t, newest first."""
        return x[t - self.lags:t][::-1].ravel()

    def filter(self, x, u=None):
        """The probability of each regime given the observations up to each step; before step L it is pi."""
        x, u = self.scaled(x, u)
        belief = np.tile(self.first, (len(x), 1))
        for t in range(self.lags, len(x)):
            before = self.first if t == self.lags else belief[t - 1] @ self.transition
            r = x[t] - self.means(self.lagged(x, t), u[t])
            log = np.log(np.maximum(before, 1e-300)) - 0.5 * (
                np.einsum("ki,kij,kj->k", r, np.linalg.inv(self.q), r) + np.linalg.slogdet(self.q)[1])
            weights = np.exp(log - log.max())
            belief[t] = weights / weights.sum()
        return belief

    def forecast(self, x, u=None, controls=None, horizon=1):
        """Expected observations after the series, under controls [horizon,nu]: sums over all paths of the regimes."""
        belief = self.filter(x, u)[-1] @ self.transition if len(x) > self.lags else self.first
        x, _ = self.scaled(x, u)
        controls = self.scaled(x[:0], controls)[1] if self.nu else np.zeros((horizon, 0))
        # state[j] is the expectation of the lags, where the regime is j, and zero elsewhere
        state, path = np.outer(belief, self.lagged(x, len(x))), []
        for v in controls:
            new = np.einsum("kij,kj->ki", self.a, state) + belief[:, None] * (self.b @ v + self.c)
            path.append(new.sum(0))
            state = np.concatenate([new, state], 1)[:, : state.shape[1]]
            state, belief = self.transition.T @ state, belief @ self.transition
        return self.unscaled(np.array(path))


def load(folder, recording=None):
    """Reads the folder of an export. recording names the one whose scale a series has, if each has its own; for another
    series, take Model(switchyard.load(folder).measured(x, u))."""
    return Model(switchyard.load(folder, recording))
