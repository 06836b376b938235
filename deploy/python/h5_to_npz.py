#!/usr/bin/env python3
"""Converts HDF5 data sets of reinforcement learning to the .npz files that Switchyard reads.

    python3 h5_to_npz.py main_data.hdf5 out.npz [--dt 0.05]

Three layouts are known and told apart by themselves:

    Minari   episode_<i>/{observations, actions, ...}; one observation more than actions
    MATLAB   version 7.3: an array y [T,dy] or [N,T,dy], or a cell array of [T,dy], and u and dt alike
    D4RL     flat observations and actions, cut after each of terminals and timeouts

The result holds y [N,T,dy] (NaN after the end of shorter episodes), u [N,T,du], where u[t] is the
action that led from step t-1 to step t and u[0] is zero, length [N], and dt if it was given.
Observations that are a group of arrays need --observations to name one of them.

Needs numpy and h5py (Debian: python3-h5py).
"""

import argparse
import re
import sys

import h5py
import numpy as np


class Fault(Exception):
    """What is wrong with the file, for the user."""


def rows(node, path):
    """Returns an array as one row of float32 per step."""
    if isinstance(node, h5py.Group):
        names = ", ".join(f"{path}/{name}" for name in node)
        raise Fault(f"{path} is a group; say which array holds the observations: --observations one of {names}")
    if node.dtype.kind not in "fiub":
        raise Fault(f"{path} has the type {node.dtype}, want numbers")
    data = np.asarray(node, dtype=np.float32)
    if data.ndim == 0:
        raise Fault(f"{path} is a single number, want one row per step")
    return data.reshape(len(data), -1)


def find(group, path):
    if path not in group:
        raise Fault(f"{group.name} has no {path}; it has {', '.join(group) or 'nothing'}")
    return rows(group[path], path)


def minari(file, observations):
    """Yields observations [T+1, dy] and actions [T, du] of each episode, in the order of their numbers."""
    names = [name for name in file if re.fullmatch(r"episode_\d+", name)]
    for name in sorted(names, key=lambda name: int(name[len("episode_"):])):
        y, a = find(file[name], observations), find(file[name], "actions")
        if len(y) not in (len(a), len(a) + 1):
            raise Fault(f"{name} has {len(y)} observations and {len(a)} actions, want one observation more")
        yield y, a[: len(y) - 1]


def d4rl(file, observations):
    """Yields the same for the flat layout. The action of an episode's last step leads out of it."""
    y, a = find(file, observations), find(file, "actions")
    if len(y) != len(a):
        raise Fault(f"{len(y)} observations and {len(a)} actions, want as many")
    ends = np.zeros(len(y), dtype=bool)
    marks = [name for name in ("terminals", "timeouts") if name in file]
    if not marks:
        raise Fault("it has neither terminals nor timeouts: where do episodes end?")
    for name in marks:
        ends |= find(file, name)[:, 0] != 0
    first = 0
    for last in [*np.flatnonzero(ends), len(y) - 1]:
        if last >= first:
            yield y[first : last + 1], a[first:last]
        first = last + 1


def matlab(file, name):
    """Returns the episodes [T, d] of a variable of MATLAB 7.3, whose dimensions are stored in reverse."""
    node = file[name]
    if node.attrs.get("MATLAB_class", b"") == b"cell":
        # The file keeps the cells of a column beside each other, which is the order that MATLAB counts them in.
        return [rows(file[reference], name).T for reference in np.asarray(node).ravel()]
    data = np.asarray(node, dtype=np.float32)
    if data.ndim == 3:
        return list(data.transpose(2, 1, 0))
    return [data.reshape(data.shape[0], -1).T]


def convert_matlab(file):
    y = matlab(file, "y")
    u = matlab(file, "u") if "u" in file else None
    if u is not None and [len(e) for e in u] != [len(e) for e in y]:
        raise Fault("u has other steps than y")
    n, steps = len(y), max(len(e) for e in y)
    if len({e.shape[1] for e in y}) > 1:
        raise Fault("the episodes of y have different channels")
    out = {"length": np.array([len(e) for e in y])}
    for name, episodes, filler in (("y", y, np.nan), ("u", u, 0)):
        if episodes is None:
            continue
        out[name] = np.full((n, steps, episodes[0].shape[1]), filler, dtype=np.float32)
        for i, e in enumerate(episodes):
            out[name][i, : len(e)] = e
    if "dt" in file:
        out["dt"] = np.float64(np.asarray(file["dt"]).ravel()[0])
    return out, 0


def convert(file, observations, limit):
    if "y" in file:
        return convert_matlab(file)
    is_minari = any(re.fullmatch(r"episode_\d+", name) for name in file)
    if not is_minari and observations not in file:
        raise Fault(f"it is neither Minari (episode_0, ...) nor D4RL ({observations}, actions), and MATLAB has no y; it has {', '.join(file) or 'nothing'}")
    episodes, short = [], 0
    for y, a in (minari if is_minari else d4rl)(file, observations):
        if len(episodes) == limit:
            break
        if len(y) < 2:
            short += 1
            continue
        episodes.append((y, a))
    if not episodes:
        raise Fault("no episode has two steps")
    widths = {(y.shape[1], a.shape[1]) for y, a in episodes}
    if len(widths) > 1:
        raise Fault(f"episodes have different numbers of (observations, actions): {sorted(widths)}")
    (dy, du), n, steps = widths.pop(), len(episodes), max(len(y) for y, _ in episodes)
    out = {
        "y": np.full((n, steps, dy), np.nan, dtype=np.float32),
        "u": np.zeros((n, steps, du), dtype=np.float32),
        "length": np.array([len(y) for y, _ in episodes]),
    }
    for i, (y, a) in enumerate(episodes):
        out["y"][i, : len(y)] = y
        out["u"][i, 1 : len(y)] = a
    return out, short


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("input", help="Minari's main_data.hdf5, a D4RL file, or a MATLAB file of version 7.3")
    parser.add_argument("output", help="the .npz file to write")
    parser.add_argument("--observations", default="observations", help="path of the observations within an episode")
    parser.add_argument("--dt", type=float, help="time between two steps")
    parser.add_argument("--episodes", type=int, default=-1, help="convert only the first ones")
    args = parser.parse_args()
    try:
        with h5py.File(args.input, "r") as file:
            out, short = convert(file, args.observations, args.episodes)
    except (Fault, OSError) as fault:
        sys.exit(f"error: {args.input}: {fault}")
    if args.dt:
        out["dt"] = np.float64(args.dt)
    np.savez_compressed(args.output, **out)
    print(f"{args.output}: {len(out['length'])} episodes, {out['length'].sum()} steps, y {out['y'].shape}" + (f", u {out['u'].shape}" if "u" in out else "")
          + (f"; {short} episodes of one step left out" if short else ""))


if __name__ == "__main__":
    main()
