"""Filters and forecasts with a model.kind=rslds or trslds that `switchyard export NAME --format npz|safetensors -o DIR`
wrote. It needs numpy alone. NaN in x is missing.

    import trslds
    model = trslds.load("DIR")
    mean, sd, weights = model.filter(x, u)              # of the latent state [T,nz]; of the regimes [T,m]
    mean = model.forecast(x, u, controls)               # [horizon,nx] expected observations
    paths = model.sample(x, u, controls, paths=100)     # [paths,horizon,nx] observations, with all uncertainty
"""
import numpy as np

import switchyard


class System:
    """x_t = A_k x_{t-1} + B_k u_t + b_k + N(0, Q_k), where k is drawn from the tree of x_{t-1};  y_t = C x_t + d + N(0, S)."""

    def __init__(self, w, prefix, i, nu):
        dynamics, emission = w[prefix + "dynamics"][i].astype(float), w[prefix + "emission"][i].astype(float)
        self.d = dynamics.shape[1]
        self.a, self.b, self.bias = dynamics[:, :, : self.d], dynamics[:, :, self.d:-1], dynamics[:, :, -1]
        self.q, self.c, self.offset = w[prefix + "noise"][i].astype(float), emission[:, :-1], emission[:, -1]
        self.s = w[prefix + "measuring"][i].astype(float)
        self.planes = w[prefix + "planes"][i].astype(float) if prefix + "planes" in w else np.zeros((0, self.d + 1))
        self.first, self.middle = (w.get(k, np.zeros(0)).astype(int) for k in ("tree.first", "tree.middle"))
        self.start = w["start.variance"].astype(float)

    def probabilities(self, x):
        """Of the regimes, where the state is x: the sigmoids of the hyperplanes along the way to each leaf."""
        log = np.zeros(len(self.a))
        for plane, first, middle in zip(self.planes, self.first, self.middle):
            height = plane[:-1] @ x + plane[-1]
            right = log[first] - np.logaddexp(0, height)
            log[first], log[middle] = right + height, right
        return log

    def advance(self, k, x, u):
        return self.a[k] @ x + self.b[k] @ u[: self.b.shape[2]] + self.bias[k]

    def observe(self, mean, covariance, y):
        """The Gaussian after the seen values of y, and their log density."""
        density = 0.0
        for c, offset, s, v in zip(self.c, self.offset, self.s, y):
            if np.isnan(v):
                continue
            gain = covariance @ c
            variance, residual = c @ gain + s, v - c @ mean - offset
            density -= 0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance)
            mean, covariance = mean + gain * residual / variance, covariance - np.outer(gain, gain) / variance
        return mean, covariance, density

    def filter(self, y, u):
        """Mean, covariance and regimes at each step: a Kalman step per regime, then one Gaussian for all."""
        mean, covariance, _ = self.observe(np.zeros(self.d), np.diag(self.start), y[0])
        steps = [(mean, covariance, np.zeros(len(self.a)))]
        for t in range(1, len(y)):
            log, each = self.probabilities(mean), []
            for k, a in enumerate(self.a):
                m, p, density = self.observe(self.advance(k, mean, u[t]), a @ covariance @ a.T + self.q[k], y[t])
                log[k] += density
                each.append((m, p))
            weights = np.exp(log - log.max())
            weights /= weights.sum()
            mean = sum(w * m for w, (m, _) in zip(weights, each))
            covariance = sum(w * (p + np.outer(m - mean, m - mean)) for w, (m, p) in zip(weights, each))
            steps.append((mean, covariance, weights))
        return steps


class Model:
    def __init__(self, exported):
        w, self.nx, self.nu = exported.weights, exported.nx, exported.nu
        self.exported, self.scaled = exported, exported.scaled
        self.chains = w["chains.weights"].astype(float)
        self.means = [System(w, "mean.", i, self.nu) for i in range(len(self.chains))]
        self.of, draws = w["draws.chain"].astype(int), range(len(w["draws.chain"]))
        self.draws = [System(w, "draws.", i, self.nu) for i in draws]
        self.mode = w["rollout.sample"][0] == 0

    def filter(self, x, u=None):
        """By the chain that counts most, as `switchyard filter`."""
        steps = self.means[0].filter(*self.scaled(x, u))
        sd = [np.sqrt(np.maximum(np.diag(p), 0)) for _, p, _ in steps]
        return np.array([m for m, _, _ in steps]), np.array(sd), np.array([w for _, _, w in steps])

    def forecast(self, x, u=None, controls=None, horizon=1, paths=1000, seed=0):
        """Expected observations: the path of the most likely regimes, averaged over chains, or that of many paths."""
        if not self.mode:
            return self.sample(x, u, controls, horizon, paths, seed).mean(0)
        y, u = self.scaled(x, u)
        plan = self.plan(controls, horizon)
        mean = np.zeros((len(plan), self.nx))
        for weight, system in zip(self.chains, self.means):
            z = system.filter(y, u)[-1][0]
            for h, v in enumerate(plan):
                z = system.advance(np.argmax(system.probabilities(z)), z, v)
                mean[h] += weight * (system.c @ z + system.offset)
        return self.exported.unscaled(mean, self.filled(x, u))

    def sample(self, x, u=None, controls=None, horizon=1, paths=100, seed=0):
        """Paths of the kept draws of all chains in turn, each chain with its share, with noise of states and observations."""
        rng, (y, u), plan = np.random.default_rng(seed), self.scaled(x, u), self.plan(controls, horizon)
        out = np.zeros((paths, len(plan), self.nx))
        ends = {}
        edges = np.round(np.cumsum(self.chains) * paths)
        for i in range(paths):
            own = np.flatnonzero(self.of == np.searchsorted(edges, i, side="right").clip(max=len(self.chains) - 1))
            draw = own[i % len(own)]
            system = self.draws[draw]
            if draw not in ends:
                ends[draw] = system.filter(y, u)[-1][:2]
            z = drawn(rng, *ends[draw])
            for h, v in enumerate(plan):
                k = np.argmax(system.probabilities(z) + rng.gumbel(size=len(system.a)))
                z = drawn(rng, system.advance(k, z, v), system.q[k])
                out[i, h] = system.c @ z + system.offset + np.sqrt(system.s) * rng.standard_normal(self.nx)
        return self.exported.unscaled(out.swapaxes(0, 1), self.filled(x, u)[:, None]).swapaxes(0, 1)

    def plan(self, controls, horizon):
        """Controls of the coming steps in the units of the model; none are zeros of the data."""
        return self.exported.scaled_controls(np.zeros((horizon, self.nu)) if controls is None else controls)

    def filled(self, x, u):
        """The series, with what was expected where a value is missing and differences are to be added to it."""
        x = np.asarray(x, float).reshape(-1, self.nx)
        if not self.exported.lag:
            return x
        system, (mean, sd) = self.means[0], self.exported.units("observations")
        shown = [system.c @ m + system.offset for m, _, _ in system.filter(*self.scaled(x, u))]
        return self.exported.filled(x, np.array(shown) * sd + mean)


def drawn(rng, mean, covariance):
    """From a Gaussian, whose covariance may be zero to rounding."""
    values, vectors = np.linalg.eigh(covariance)
    return mean + vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(len(mean)))


def load(folder, recording=None):
    """Reads the folder of an export. recording names the one whose scale a series has, if each has its own; for another
    series, take Model(switchyard.load(folder).measured(x, u))."""
    return Model(switchyard.load(folder, recording))
