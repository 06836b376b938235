"""PyTorch peer of model.kind=kvae: the same training step, as a good PyTorch user writes it.

The network, filter, smoother and objective are those of package kvae (Fraccaro et al. 2017) on 32x32 binary images; a step
is loss, gradient, clipping and Adam. It is a measuring tool and no part of the product.

usage: torch_kvae.py [--batch 32] [--latent 4] [--switches 3] [--threads 2] [--steps 8] [--channels-last]
"""
import argparse
import math
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

LOG2PI = math.log(2 * math.pi)


class KVAE(nn.Module):
    def __init__(self, nz=4, na=2, systems=3, units=50, channels=32, q=0.08, r=0.03, start=20.0):
        super().__init__()
        self.nz, self.na, self.q, self.r, self.start = nz, na, q, r, start
        self.down = nn.ModuleList([nn.Conv2d(1 if i == 0 else channels, channels, 3, stride=2) for i in range(3)])
        self.mean, self.scale = nn.Linear(16 * channels, na), nn.Linear(16 * channels, na)
        self.first = nn.Linear(na, 16 * channels)
        self.up = nn.ModuleList([nn.Conv2d(channels, 4 * channels, 3, padding=1) for _ in range(3)])
        self.pixel = nn.Conv2d(channels, 1, 1)
        self.channels = channels
        self.cell, self.scores = nn.LSTMCell(na, units), nn.Linear(units, systems)
        self.A = nn.Parameter(torch.eye(nz).repeat(systems, 1, 1))
        self.C = nn.Parameter(0.05 * torch.randn(systems, na, nz))
        self.a0 = nn.Parameter(torch.zeros(na))

    def encode(self, x):
        for c in self.down:  # the padding of "same": one zero below and to the right
            x = F.relu(c(F.pad(x, (0, 1, 0, 1))))
        x = x.flatten(1)
        return self.mean(x), self.r * torch.sigmoid(self.scale(x))

    def decode(self, a):
        x = self.first(a).view(-1, self.channels, 4, 4)
        for c in self.up:
            x = F.pixel_shuffle(F.relu(c(x)), 2)
        return self.pixel(x)

    def forward(self, x):
        steps, batch = x.shape[:2]
        nz, na = self.nz, self.na
        mean, var = self.encode(x.flatten(0, 1))
        a = (mean + var.sqrt() * torch.randn_like(mean)).view(steps, batch, na)
        eye = torch.eye(nz).expand(batch, nz, nz)
        qi, ri = self.q * torch.eye(nz), self.r * torch.eye(na)
        h = c = torch.zeros(batch, self.cell.hidden_size)
        code = self.a0.expand(batch, na)
        m, p = torch.zeros(batch, nz, 1), self.start * eye
        As, Cs, ms, ps, mps, pps = [], [], [], [], [], []
        for t in range(steps):
            h, c = self.cell(code, (h, c))
            alpha = torch.softmax(self.scores(h), -1)
            A = (alpha @ self.A.flatten(1)).view(batch, nz, nz)
            C = (alpha @ self.C.flatten(1)).view(batch, na, nz)
            if t > 0:
                m, p = A @ m, A @ p @ A.mT + qi
            mps.append(m), pps.append(p)
            cp = C @ p
            gain = torch.cholesky_solve(cp, torch.linalg.cholesky(cp @ C.mT + ri)).mT
            m = m + gain @ (a[t].unsqueeze(-1) - C @ m)
            keep = eye - gain @ C
            p = keep @ p @ keep.mT + self.r * (gain @ gain.mT)
            ms.append(m), ps.append(p), As.append(A), Cs.append(C)
            code = a[t]
        sm, sp = [ms[-1]], [ps[-1]]
        for t in range(steps - 2, -1, -1):
            A = As[t + 1]
            J = torch.cholesky_solve(A @ ps[t], torch.linalg.cholesky(pps[t + 1])).mT
            keep = eye - J @ A
            sm.append(ms[t] + J @ (sm[-1] - mps[t + 1]))
            sp.append(keep @ ps[t] @ keep.mT + J @ (sp[-1] + qi) @ J.mT)
        sm, sp = torch.stack(sm[::-1]), torch.stack(sp[::-1])
        L = torch.linalg.cholesky(0.5 * (sp + sp.mT))
        z = sm + L @ torch.randn_like(sm)
        As, Cs = torch.stack(As), torch.stack(Cs)
        logits = self.decode(a.flatten(0, 1))
        nll = F.binary_cross_entropy_with_logits(logits, x.flatten(0, 1), reduction="sum")
        entropy = 0.5 * (var.log() + LOG2PI + 1).sum()
        d = z[1:] - As[1:] @ z[:-1]
        transition = 0.5 * ((d * d).sum() / self.q + d.numel() * (LOG2PI + math.log(self.q)))
        transition = transition + 0.5 * ((z[0] ** 2).sum() / self.start + z[0].numel() * (LOG2PI + math.log(self.start)))
        e = a.unsqueeze(-1) - Cs @ z
        emission = 0.5 * ((e * e).sum() / self.r + e.numel() * (LOG2PI + math.log(self.r)))
        smoothing = torch.diagonal(L, dim1=-2, dim2=-1).log().sum() + 0.5 * sm.numel() * (LOG2PI + 1)
        return (0.3 * nll - entropy + transition + emission - smoothing) / (steps * batch)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--length", type=int, default=20)
    p.add_argument("--latent", type=int, default=4)
    p.add_argument("--switches", type=int, default=3)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--steps", type=int, default=8)
    p.add_argument("--channels-last", action="store_true")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    m = KVAE(nz=o.latent, systems=o.switches)
    x = (torch.rand(o.length, o.batch, 1, 32, 32) > 0.96).float()
    if o.channels_last:
        m = m.to(memory_format=torch.channels_last)
    optimiser = torch.optim.Adam(m.parameters(), lr=7e-3)
    times = []
    for i in range(o.steps + 2):
        began = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        loss = m(x)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 150)
        optimiser.step()
        if i >= 2:
            times.append(time.perf_counter() - began)
    n = sum(w.numel() for w in m.parameters())
    print(f"torch={torch.__version__} params={n} batch={o.batch} threads={o.threads} channels_last={o.channels_last} "
          f"step_s_median={statistics.median(times):.4f} min={min(times):.4f} max={max(times):.4f} loss={loss.item():.3f}")


if __name__ == "__main__":
    main()
