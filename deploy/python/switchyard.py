"""Runs models that `switchyard export NAME --format npz|safetensors -o DIR` wrote. It needs numpy alone.

    import numpy as np, switchyard
    model = switchyard.load("DIR")
    state = model.begin(x[:model.warmup], u[:model.warmup])      # x [T,nx], u [T,nu] in the units of the data
    for t in range(1, len(x)):
        state = model.filter(state, x[t], u[t])                  # NaN in x[t]: missing
    mean = model.predict(state, controls)                        # [horizon,nx], without noise
    paths = model.sample(state, controls, paths=100, seed=1)     # [paths,horizon,nx] with noise, observations too
    print(state["mean"], state["weights"], model.emission(state["z_next"]))

If each recording has a scale of its own (env.normalise=recording), load("DIR", "id") takes that of a recording of training,
and load("DIR").measured(x, u) that of another series, by how it begins. Logarithms and differences that training took
(env.transform) are taken of x and undone in paths; encoder and emission have transformed values.

`python3 switchyard.py DIR` prints what the model takes and gives.
"""
import json
import os
import struct
import sys

import numpy as np

OPERATIONS = {
    "Gemm": lambda x, w, b: x @ w + b,
    "MatMul": lambda x, w: x @ w,
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
    "Relu": lambda x: np.maximum(x, 0), "Sign": np.sign, "Tanh": np.tanh, "Sqrt": np.sqrt, "Log": np.log, "Identity": lambda x: x,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.logaddexp(x, 0),
    "Softmax": lambda x: (lambda e: e / e.sum(-1, keepdims=True))(np.exp(x - x.max(-1, keepdims=True))),
    "Hardmax": lambda x: np.eye(x.shape[-1])[x.argmax(-1)],
    "Concat": lambda *x: np.concatenate(x, -1),
}


def read_safetensors(path):
    """Reads the float32 tensors of a safetensors file."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    return {name: np.frombuffer(body[slice(*t["data_offsets"])], "<f4").reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}


class Model:
    """A model whose steps are graphs. Rows of a batch go through a graph together."""

    def __init__(self, description, weights):
        if description["format"] != "switchyard model 1":
            raise ValueError(f"model.json has the format {description['format']!r}, this program reads 'switchyard model 1'")
        self.description, self.weights = description, weights
        self.graphs = {g["name"]: g for g in description["graphs"]}
        self.nx, self.nu, self.nz, self.m = (description[k] for k in ("nx", "nu", "nz", "m"))
        self.warmup, self.horizon = description["warmup"], description["horizon"]
        self.own = None  # scales of the series, where each recording has its own
        names = description["scale"]["observations"].get("transforms") or []
        self.transforms = [(name.startswith("log"), int(name.partition("diff")[2] or 1) if "diff" in name else 0)
                           for name in names]  # of each channel: logarithms, and over how many steps differences
        self.lag = max([lag for _, lag in self.transforms], default=0)

    def of(self, recording):
        """The model with the scales of a recording of training."""
        scale = self.description["scale"]
        known = scale.get("recordings")
        if not known or recording not in known:
            raise ValueError(f"each recording has a scale of its own: name one of {sorted(known)}, or take measured(x, u)"
                             if known else "all recordings have the same scale: name none")
        return self._with(known[recording], scale.get("recording_controls", {}).get(recording, scale["controls"]))

    def measured(self, x, u=None):
        """The model with the scales of a series that training did not see, by its first observations and controls."""
        scale = self.description["scale"]
        if not scale.get("recordings"):
            return self
        x = self.transformed(np.asarray(x, float).reshape(-1, self.nx))
        for c in range(self.nx):
            if len(np.unique(x[~np.isnan(x[:, c]), c])) < 2:
                raise ValueError(f"the {len(x)} observations have no two different values of channel {c}: give more of the "
                                 f"series, or name a recording of training: load(folder, one of {sorted(scale['recordings'])})")
        controls = scale["controls"]
        if self.nu and u is not None and "recording_controls" in scale:
            u = np.asarray(u, float).reshape(-1, self.nu)[1:]  # the first acted before the series
            mean, sd = np.array(controls["mean"], float), np.array(controls["sd"], float)
            for c in range(self.nu if len(u) else 0):
                if len(np.unique(u[:, c])) > 1 and not np.isin(u[:, c], (0, 1)).all():  # else its level is what it says
                    mean[c], sd[c] = moments(u[:, c])
            controls = {"mean": mean.tolist(), "sd": sd.tolist()}
        mean, sd = zip(*(moments(x[~np.isnan(x[:, c]), c]) for c in range(self.nx)))
        return self._with({"mean": list(mean), "sd": list(sd)}, controls)

    def _with(self, observations, controls):
        model = Model(self.description, self.weights)
        model.own = {"observations": observations, "controls": controls}
        return model

    def run(self, name, **inputs):
        """Computes a graph: arrays [rows, width] by name, or [width] for a single row. What it does not take is left out."""
        if name not in self.graphs:
            raise ValueError(f"the model (family {self.description['family']}) has no graph {name}; it has {sorted(self.graphs)}")
        graph = self.graphs[name]
        for v in graph["inputs"]:  # scales of the series
            signal, _, part = v["name"].partition("_")
            if part in ("mean", "sd") and v["name"] not in inputs:
                mean, sd = self.units("observations" if signal == "x" else "controls")
                inputs[v["name"]] = np.broadcast_to(mean if part == "mean" else sd, v["width"])
        single = all(np.ndim(inputs[v["name"]]) < 2 for v in graph["inputs"])
        values = dict(self.weights)
        for v in graph["inputs"]:
            x = np.atleast_2d(np.asarray(inputs[v["name"]], np.float64))
            if x.shape[-1] != v["width"]:
                raise ValueError(f"{name}: {v['name']} has {x.shape[-1]} columns, want {v['width']}: {v['doc']}")
            values[v["name"]] = x
        for node in graph["nodes"]:
            values[node["output"]] = OPERATIONS[node["op"]](*(values[i] for i in node["inputs"]))
        outputs = {v["name"]: values[v["name"]] for v in graph["outputs"]}
        return {k: x[0] for k, x in outputs.items()} if single else outputs

    def units(self, of):
        """Mean and deviation of "observations" or "controls" of the series."""
        if self.own is None and self.description["scale"].get("recordings"):
            raise ValueError("each recording has a scale of its own: load(folder, recording) names one of "
                             f"{sorted(self.description['scale']['recordings'])}, and load(folder).measured(x, u) takes "
                             "that of another series")
        scale = (self.own or self.description["scale"])[of]
        return np.array(scale["mean"] or 0, float), np.array(scale["sd"] or 1, float)

    def scaled(self, x, u):
        """A series and its controls [T,.] in the units of the model, for a model without graphs."""
        mean, sd = self.units("observations")
        x = (self.transformed(np.asarray(x, float).reshape(-1, self.nx)) - mean) / sd
        return x, self.scaled_controls(np.zeros((len(x), self.nu)) if u is None else u)

    def scaled_controls(self, u):
        """Controls [T,nu] in the units of the model."""
        mean, sd = self.units("controls")
        u = np.asarray(u, float).reshape(len(u), self.nu)
        return (u - mean) / sd if self.nu else u

    def unscaled(self, path, before):
        """A path [horizon,...,nx] of the model in the units of the data; it follows the series before [T,nx], without gaps."""
        mean, sd = self.units("observations")
        return self.undone(path * sd + mean, before)

    def transformed(self, x):
        """A series [T,...,nx] with the logarithms and differences that training took."""
        x = np.array(x, float)
        for c, (log, lag) in enumerate(self.transforms):
            if log and (x[..., c] <= 0).any():
                raise ValueError(f"channel {c}: {x[..., c].min()} has no logarithm, and the model was trained on logarithms")
            v = np.log(x[..., c]) if log else x[..., c].copy()
            x[..., c] = v
            if lag:
                x[lag:, ..., c] -= v[:-lag]
                x[:lag, ..., c] = np.nan
        return x

    def undone(self, path, before):
        """A path [horizon,...,nx] of transformed values in the units of the data, after the observations before [T,...,nx]."""
        path = np.array(path, float)
        for c, (log, lag) in enumerate(self.transforms):
            v = path[..., c]
            for h in range(len(v) if lag else 0):
                if h >= lag:
                    v[h] += v[h - lag]
                elif h >= lag - len(before):
                    v[h] += np.log(before[h - lag][..., c]) if log else before[h - lag][..., c]
                else:
                    v[h] = np.nan
            if log:
                v[...] = np.exp(v)
        return path

    def filled(self, x, expected, done=0):
        """The series x [T,...,nx], whose missing values from step done on are what was expected, transformed, at each step."""
        x = np.array(x, float)
        for t in range(done, len(x)):
            if np.isnan(x[t]).any():
                x[t] = np.where(np.isnan(x[t]), self.undone(expected[t - done][None], x[:t])[0], x[t])
        return x

    def begin(self, x, u=None):
        """The first latent state of a sequence from its first observations [<= warmup, nx] and controls."""
        x = np.asarray(x, np.float64).reshape(-1, self.nx)[: self.warmup]
        u = np.zeros((len(x), self.nu)) if u is None else np.asarray(u, np.float64).reshape(-1, self.nu)[: len(x)]
        seen, x = x[:1], self.transformed(x)
        x = np.where(np.isnan(x), self.units("observations")[0], x)  # missing: 0 in the model's units
        if self.nu and len(u):  # the first control acted before the sequence
            u = np.concatenate([np.broadcast_to(self.units("controls")[0], (1, self.nu)), u[1:]])
        rows = [min(i, len(x) - 1) for i in range(self.warmup)]
        z = self.run("initial", first=np.concatenate([x[rows], u[rows]], 1).ravel())["z"]
        state = {"z_next": z, "mean": z, "variance": np.zeros_like(z), "s_next": None, "weights": np.zeros(self.m)}
        return self._carried(state, {"seen": seen[:0], "filled": seen[:0]}, seen[0])

    def _step(self, name, state, rng=None, **inputs):
        if state.get("s_next") is None and "first_" + name in self.graphs:
            name = "first_" + name
        inputs.update(z=state["z_next"], s=state.get("s_next"))
        rows = np.shape(state["z_next"])[:-1]
        for v in self.graphs[name]["inputs"]:
            if v["name"].startswith("noise"):
                inputs[v["name"]] = np.zeros(rows + (v["width"],)) if rng is None else draw(rng, v["doc"], rows + (v["width"],))
            elif v["name"] == "drawn":
                inputs["drawn"] = np.full(rows + (1,), float(rng is not None))
        out = self.run(name, **inputs)
        out.setdefault("s_next", out["weights"])
        return out

    def _carried(self, state, before, x):
        """The state with the last observations, which differences are taken of and added to; those missing are filled."""
        if not self.transforms:
            return state
        for name in ("seen", "filled"):
            state[name] = np.concatenate([before[name], x[None]])
        state["filled"] = self.filled(state["filled"], self.emission(state["mean"])["x"][None], len(state["filled"]) - 1)
        for name in ("seen", "filled"):
            state[name] = state[name][max(0, len(state[name]) - self.lag):]
        return state

    def filter(self, state, x, u=None):
        """The state after the next observation; u acted since the last one."""
        given = x = np.asarray(x, np.float64)
        if self.transforms:
            x = self.transformed(np.concatenate([state["seen"], x[None]]))[-1]
        seen = ~np.isnan(x)
        if not any(v["name"] == "seen" and v["width"] == self.nx for v in self.graphs["filter_step"]["inputs"]):
            seen = seen.all(-1, keepdims=True)  # of a model with several bodies each value counts
        u = np.zeros(x.shape[:-1] + (self.nu,)) if u is None else u
        return self._carried(self._step("filter_step", state, x=np.where(np.isnan(x), 0, x), u=u, seen=seen.astype(float)),
                             state, given)

    def advance(self, state, u=None, rng=None):
        """The next state without an observation; with noise if rng is a numpy Generator."""
        return self._carried(self._advance(state, u, rng), state, np.full(np.shape(state["z_next"])[:-1] + (self.nx,), np.nan))

    def _advance(self, state, u=None, rng=None):
        u = np.zeros(np.shape(state["z_next"])[:-1] + (self.nu,)) if u is None else u
        return self._step("transition", state, rng, u=u)

    def emission(self, z):
        """Mean (x) and standard deviation (sd) of an observation."""
        return self.run("emission", z=z)

    def encoder(self, x):
        """What an observation alone says of the latent state: mean and variance."""
        return self.run("encoder", x=x)

    def predict(self, state, controls=None, horizon=None):
        """The means of coming observations [horizon, nx] under controls [horizon, nu], without noise."""
        horizon = horizon or (len(controls) if controls is not None else self.horizon)
        path, before = [], self._before(state)
        for h in range(horizon):
            state = self._advance(state, None if controls is None else controls[h])
            path.append(self.emission(state["z_next"])["x"])
        return self.undone(path, before)

    def sample(self, state, controls=None, horizon=None, paths=100, seed=None):
        """Drawn coming observations [paths, horizon, nx]."""
        rng = np.random.default_rng(seed)
        horizon = horizon or (len(controls) if controls is not None else self.horizon)
        before, out = self._before(state), []
        wide = {k: None if state[k] is None else np.tile(state[k], (paths, 1)) for k in ("s_next", "mean", "variance")}
        wide["z_next"] = wide["mean"] + np.sqrt(wide["variance"]) * rng.standard_normal(wide["mean"].shape)
        for h in range(horizon):
            wide = self._advance(wide, None if controls is None else np.tile(controls[h], (paths, 1)), rng)
            seen = self.emission(wide["z_next"])
            out.append(seen["x"] + seen["sd"] * rng.standard_normal(seen["x"].shape) if "sd" in seen else rng.random(seen["x"].shape) < seen["x"])
        return self.undone(out, np.expand_dims(before, -2)).swapaxes(0, 1)

    def _before(self, state):
        """The observations that a path from the state follows."""
        before = state.get("filled", np.zeros((0, self.nx)))
        for c, (_, lag) in enumerate(self.transforms):
            if len(before) < lag or np.isnan(before[len(before) - lag:][..., c]).any():
                raise ValueError(f"channel {c} is a difference over {lag} steps: filter as many observations before a path")
        return before


def draw(rng, doc, shape):
    """Noise of the kind that the input's description names."""
    if doc.startswith("Gumbel"):
        return rng.gumbel(size=shape)
    return rng.logistic(size=shape) if doc.startswith("logistic") else rng.standard_normal(shape)


def moments(x):
    """Mean and deviation of values; a constant has the deviation 1. Values far from zero count from their smallest."""
    width, size = np.ptp(x), np.abs(x).max()
    origin = x.min() if 1e-13 * size < width < size / 1024 else 0.0
    mean, sd = (x - origin).mean(), x.std()
    return mean + origin, sd if sd > 1e-6 * abs(mean) else 1.0


def load(folder, recording=None):
    """Reads the folder of an export. recording names the one whose scale a series has, if each has its own."""
    with open(os.path.join(folder, "model.json"), encoding="utf-8") as f:
        description = json.load(f)
    path = os.path.join(folder, description.get("weights") or "weights.npz")
    weights = read_safetensors(path) if path.endswith(".safetensors") else dict(np.load(path))
    model = Model(description, {name: w.astype(np.float64) for name, w in weights.items()})
    return model if recording is None else model.of(recording)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 switchyard.py DIR")
    for g in load(sys.argv[1]).graphs.values():
        print(f"{g['name']}: {g['doc']}")
        for word in ("inputs", "outputs"):
            for v in g[word]:
                print(f"  {word[:-1]:6} {v['name']:10} [{v['width']}] {v['doc']}")
