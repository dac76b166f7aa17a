"""The fluid model of DCTCP and Warp, with the delay of a round, and what is linear about its shift.

The model is that of Alizadeh, Javanmard and Prabhakar, "Analysis of DCTCP: Stability, Convergence, and Fairness"
(SIGMETRICS 2011). Marks are p(t) = 1 while a queue is above K. With R = d + q / C and R* = d + K / C:

- a window has W' = 1 / R - W alpha p(t - R*) / (2 R);
- its alpha is a mean, alpha' = g (p(t - R*) - alpha) / R;
- the queue has q' = N W / R - C.

Time is in units of d here, so that C is the bandwidth-delay product in packets.

Each share f_s of Warp grows by 1 / (m R). It is cut by its own alpha / 2 while any path of its connection marks. It
loses kappa f_s (F_s - F) / R to the others where F_s, the marks of the last round, is above F.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

G = 1 / 16
CUTS = 1 - np.exp(-np.sqrt(2))
"""Cuts per round, with marks at random."""
STEPS = 50
"""Steps of the integration in a delay R*."""


@dataclass(frozen=True)
class Scene:
    """Links of one bandwidth-delay product; on them equal Warp connections, and DCTCP flows."""

    bdp: float
    """C d of each link, in packets."""
    mark: float
    """K in packets."""
    connections: int
    paths: tuple[int, ...]
    """The link of each subflow of a connection."""
    dctcp: tuple[int, ...] = (0, 0)
    """DCTCP flows on each link."""

    @property
    def rounds_of_d(self) -> float:
        """R*, in units of d."""
        return 1 + self.mark / self.bdp


@dataclass(frozen=True)
class Course:
    """The integrated variables at every step: the first axis is time, the second one the values of kappa."""

    shares: Numbers
    """Shares; the third axis is the subflows of a connection."""
    queues: Numbers
    """Queues; the third axis is links."""
    beside: Numbers
    """Windows of a DCTCP flow, and one axis for links."""

    def swing(self) -> Numbers:
        """Of the first subflow's part of the connection's window, the standard deviation, for each kappa."""
        part = self.shares[:, :, 0] / self.shares.sum(axis=2)
        return np.asarray(part.std(axis=0), dtype=np.float64)


def course(scene: Scene, kappas: tuple[float, ...], rounds: int, skipped: int, apart: float = 0.02) -> Course:
    """Integrates by Euler's method from windows that fill the links; the first share begins a bit above the others.

    Args:
        scene: Links, connections and flows.
        kappas: Each its own course.
        rounds: Delays R* to integrate.
        skipped: How many of them are left out of what is returned.
        apart: By which part the first share begins above the others.
    """
    paths = np.array(scene.paths)
    links, m = int(paths.max()) + 1, len(paths)
    users = np.array([[float(at == link) for at in paths] for link in range(links)])
    dctcp = np.array(scene.dctcp[:links], dtype=float)
    kappa = np.array(kappas)[:, None]
    delay = scene.rounds_of_d
    h = delay / STEPS
    flows = scene.connections * users.sum(axis=1) / m + dctcp
    full = (scene.bdp + scene.mark) / flows
    f = np.repeat(((users.T @ full) / m)[None, :], len(kappas), axis=0)
    f[:, 0] *= 1 + apart
    alpha, alpha_d = np.full(f.shape, 0.2), np.full((len(kappas), links), 0.2)
    w = np.repeat(full[None, :], len(kappas), axis=0)
    q = np.full((len(kappas), links), scene.mark)
    marks = np.zeros((rounds * STEPS, len(kappas), links))
    kept = (rounds - skipped) * STEPS
    shares, queues, beside = (np.empty((kept, *of.shape)) for of in (f, q, w))
    seen = np.zeros_like(q)
    for at in range(rounds * STEPS):
        rtt = 1 + q / scene.bdp
        marks[at] = q > scene.mark
        now = marks[at - STEPS] if at >= STEPS else seen
        # The marks of the round before, as they came back.
        if at >= STEPS:
            seen = seen + (marks[at - STEPS] - (marks[at - 2 * STEPS] if at >= 2 * STEPS else 0)) / STEPS
        p, heard, r = now[:, paths], seen[:, paths], rtt[:, paths]
        total = f.sum(axis=1, keepdims=True)
        excess = np.maximum(heard - (f * heard).sum(axis=1, keepdims=True) / total, 0)
        lost = kappa * f * excess / r
        pressure = lost / np.maximum(total - f, 1e-9)
        got = f * (pressure.sum(axis=1, keepdims=True) - pressure)
        cut = p.max(axis=1, keepdims=True)
        f = np.maximum(f + h * ((1 / m - f * alpha / 2 * cut) / r - lost + got), 1e-3)
        alpha = alpha + h * G * (p - alpha) / r
        w = w + h * (1 - w * alpha_d / 2 * now) / rtt
        alpha_d = alpha_d + h * G * (now - alpha_d) / rtt
        offered = (scene.connections * (f / r) @ users.T) + dctcp * w / rtt
        q = np.maximum(q + h * (offered - scene.bdp), 0)
        if at >= skipped * STEPS:
            row = at - skipped * STEPS
            shares[row], queues[row], beside[row] = f, q, w
    return Course(shares, queues, beside)


def loop(kappa: float, alpha: float, s: complex) -> complex:
    """The gain of the shift's loop, from the difference x of two shares f to its own change; time is in rounds.

    The shift makes x' = -kappa f D, where D is the difference of the marks of a round, which come back a round later.
    The `CUTS` cuts per round take alpha / 2 of x each. The difference of the queues is N x / (1 + s), because a queue
    slows its own flows. The sawtooth that both queues have in common sets how many more marks a longer queue has. Their
    lengths are spread evenly over its height N f alpha / 2, so that D is 2 / (alpha f) per packet of x / (1 + s).
    """
    heard = np.exp(-s) * (1 - np.exp(-s)) / s
    return complex(2 * kappa / alpha * heard / ((1 + s) * (s + CUTS * alpha / 2)))


def turn(alpha: float) -> float:
    """The angular frequency per round at which that loop lags by half a turn, whatever kappa."""
    return float(brentq(lambda omega: np.angle(-loop(1.0, alpha, 1j * omega)), 0.2, 1.5))


def critical_kappa(alpha: float) -> float:
    """The kappa above which a difference of shares grows: the loop's gain is 1 where it lags by half a turn."""
    return float(1 / abs(loop(1.0, alpha, 1j * turn(alpha))))


def fastest_growth(kappa: float, alpha: float, n: int = 60) -> float:
    """The largest growth per round of the eigenvalues of that loop, with its history as 2 n steps.

    Below 0 a difference of shares decays, above 0 it grows.
    """
    h, past = 1 / n, slice(2, 2 + 2 * n)
    step = np.eye(2 + 2 * n)
    # Marks of a round, which ended a round ago.
    step[0, 2 + n :] = -h * kappa * 2 / alpha / n
    step[0, 0] -= h * CUTS * alpha / 2
    step[1, 0] += h
    step[1, 1] -= h
    step[past, past] = np.eye(2 * n, k=-1)
    step[2, 1] = 1
    return float(np.log(np.abs(np.linalg.eigvals(step)).max()) * n)
