"""Computes regimes and forecasts of a model.kind=arhmm that `switchyard export NAME --format npz|safetensors -o DIR` wrote.
It needs numpy alone. NaN in x is missing.

    import arhmm
    model = arhmm.load("DIR")
    filtered = model.filter(x, u)                  # [T,m] probability of each regime given what was seen until then
    mean = model.forecast(x, u, controls)          # [horizon,nx] expected observations
"""
import numpy as np

import switchyard


class Model:
    """x_t = A_j (x_{t-1}, ..., x_{t-L}) + B_j (u_t, ..., u_{t-C}) + c_j + N(0, Q_j), j = s_t;  s_t ~ P[s_{t-1}, .], the
    first from pi. C is 0 unless the model has past controls.

    Where a value is missing, a node is the regimes of the latest steps, with a Gaussian of the last L observations: it is
    exact as long as nodes remember the whole gap. Beyond, nodes that differ only in older regimes become one Gaussian.
    """

    most = 512  # nodes

    def __init__(self, exported):
        w, self.nx, self.nu, self.lags = exported.weights, exported.nx, exported.nu, exported.warmup
        self.m, nx = exported.m, exported.nx
        self.first, self.transition = w["regimes.first"], w["regimes.transition"]
        self.size = max(self.lags, 1) * nx  # of the last observations; without lags the latest is held, and has no effect
        self.a = w["systems.A"][:, :nx, : self.size]
        # Of the state of the systems, past controls are what is behind the lags.
        past = w["systems.A"][:, :nx, self.size:]
        self.b = np.concatenate([w.get("systems.B", np.zeros((self.m, nx, 0)))[:, :nx], past], 2)
        self.c, self.q = w["systems.bias"][:, :nx], w["systems.Q"][:, :nx, :nx]
        self.start = w["start.mean"], w["start.variance"]
        self.exported, self.depth = exported, 1
        while self.m > 1 and self.m ** (self.depth + 1) <= self.most:
            self.depth += 1

    def step(self, k, z, p, x, u):
        """Observes x in regime k after lags with mean z, newest first, and covariance p: log density, mean and covariance."""
        past = self.a[k] @ p
        mean = np.concatenate([self.a[k] @ z + self.b[k] @ u + self.c[k], z])
        cov = np.block([[past @ self.a[k].T + self.q[k], past], [past.T, p]])
        seen, size = np.flatnonzero(~np.isnan(x)), self.size
        s, r = cov[np.ix_(seen, seen)], x[seen] - mean[seen]
        gain = np.linalg.solve(s, cov[seen]).T
        mean, cov = mean + gain @ r, cov - gain @ cov[seen]
        mean[seen], cov[seen], cov[:, seen] = x[seen], 0, 0
        return -0.5 * (r @ np.linalg.solve(s, r) + np.linalg.slogdet(2 * np.pi * s)[1]), mean[:size], cov[:size, :size]

    def widened(self, u):
        """Controls [T,nu] and, beside them, those of the steps before that count too: [T,(C+1) nu]."""
        earlier = range(self.b.shape[2] // self.nu if self.nu else 1)
        return np.concatenate([u[np.maximum(np.arange(len(u)) - c, 0)] for c in earlier], 1)

    def nodes(self, x, u):
        """After each step from L-1 on: the regimes that each node remembers, its probability, and the Gaussian of the lags."""
        if len(x) < self.lags:
            raise ValueError(f"the model needs {self.lags} observations, there are {len(x)}")
        z = x[: self.lags][::-1].ravel() if self.lags else np.full(self.size, np.nan)
        mean, variance = (np.tile(v, self.size // self.nx) for v in self.start)
        steps = [{(): (1.0, np.where(np.isnan(z), mean, z), np.diag(np.where(np.isnan(z), variance, 0)))}]
        for t in range(self.lags, len(x)):
            edges = []
            for regimes, (weight, z, p) in steps[-1].items():
                chances = self.transition[regimes[-1]] if regimes else self.first
                for k in np.flatnonzero(chances * weight):
                    log, m, cov = self.step(k, z, p, x[t], u[t])
                    to = (regimes + (k,))[-self.depth:] if cov.any() else (k,)
                    edges.append((to, np.log(weight * chances[k]) + log, m, cov))
            most, merged = max(log for _, log, _, _ in edges), {}
            for to, log, m, cov in edges:
                merged.setdefault(to, []).append((np.exp(log - most), m, cov))
            total = sum(w for list in merged.values() for w, _, _ in list)
            steps.append({to: one(list, total) for to, list in merged.items()})
        return steps

    def filter(self, x, u=None):
        """The probability of each regime given the observations up to each step; before step L it is pi."""
        x, u = self.exported.scaled(x, u)
        belief = np.tile(self.first, (len(x), 1))
        for t, nodes in enumerate(self.nodes(x, self.widened(u))[1:], self.lags):
            belief[t] = 0
            for regimes, (weight, _, _) in nodes.items():
                belief[t, regimes[-1]] += weight
        return belief

    def forecast(self, x, u=None, controls=None, horizon=1):
        """Expected observations after the series, under controls [horizon,nu]: sums over all paths of the regimes."""
        y, v = self.exported.scaled(x, u)
        plan = self.exported.scaled_controls(np.zeros((horizon, self.nu)) if controls is None else controls)
        v = self.widened(np.concatenate([v, plan]))
        steps = self.nodes(y, v)
        # state[j] is the expectation of the lags, where the next regime is j, and zero elsewhere
        state, belief = np.zeros((self.m, self.size)), np.zeros(self.m)
        for regimes, (weight, z, _) in steps[-1].items():
            chances = weight * (self.transition[regimes[-1]] if regimes else self.first)
            state, belief = state + np.outer(chances, z), belief + chances
        path = []
        for now in v[len(y):]:
            new = np.einsum("kij,kj->ki", self.a, state) + belief[:, None] * (self.b @ now + self.c)
            path.append(new.sum(0))
            state = np.concatenate([new, state], 1)[:, : state.shape[1]]
            state, belief = self.transition.T @ state, belief @ self.transition
        return self.exported.unscaled(np.array(path), self.filled(x, steps))

    def filled(self, x, steps):
        """The series, with what was expected where a value is missing and differences are to be added to it."""
        x = np.asarray(x, float).reshape(-1, self.nx)
        if not self.exported.lag:
            return x
        first = max(self.lags, 1)  # node 0 is that before step L, and without lags no step is before it
        shown = [sum(weight * z for weight, z, _ in nodes.values())[: self.nx] for nodes in steps[first - self.lags:]]
        mean, sd = self.exported.units("observations")
        return self.exported.filled(x, np.array(shown) * sd + mean, first - 1)


def one(nodes, total):
    """Probability, mean and covariance of nodes that become one."""
    weight = sum(w for w, _, _ in nodes)
    mean = sum(w * m for w, m, _ in nodes) / max(weight, 1e-300)
    cov = sum(w * (p + np.outer(m - mean, m - mean)) for w, m, p in nodes) / max(weight, 1e-300)
    return weight / total, mean, cov


def load(folder, recording=None):
    """Reads the folder of an export. recording names the one whose scale a series has, if each has its own; for another
    series, take Model(switchyard.load(folder).measured(x, u))."""
    return Model(switchyard.load(folder, recording))
