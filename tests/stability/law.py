"""Warp's law under marks at random, a round at a time, and where its shares then rest."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq  # type: ignore[import-untyped]

from tests.stability.fluid import CUTS, G


def fixed_point(kappa: float, signals: tuple[float, ...]) -> list[float]:
    """Shares on paths with these probabilities of a mark, with equal round-trip times.

    The growth of a round is what cuts and shifts take: n / (sqrt(2) m) = f_s (n p_s / 2 + kappa (p_s - P)).
    """
    m = len(signals)

    def shares(mean: float) -> list[float]:
        return [CUTS / (np.sqrt(2) * m) / (CUTS * p / 2 + kappa * (p - mean)) for p in signals]

    def off(mean: float) -> float:
        f = shares(mean)
        return mean * sum(f) - sum(p * of for p, of in zip(signals, f, strict=True))

    least = min(signals)
    most = min(max(signals), least * (1 + CUTS / (2 * kappa)) * (1 - 1e-9)) if kappa > 0 else max(signals)
    return shares(brentq(off, least, most) if most > least else least)


def settled(kappa: float, signals: tuple[float, ...], rounds: int, seed: int = 1) -> list[float]:
    """Mean shares of the law itself, over all rounds but the first tenth."""
    random = np.random.default_rng(seed)
    p = np.array(signals)
    m = len(p)
    f = np.array(fixed_point(kappa, signals))
    alpha = p.copy()
    total = np.zeros(m)
    for at in range(rounds):
        whole = np.floor(f + random.random(m)).astype(int)
        of = np.repeat(np.arange(m), whole)
        random.shuffle(of)
        marked = random.random(len(of)) < p[of]
        first = int(np.argmax(marked)) + 1 if marked.any() else len(of)
        f = f + np.bincount(of[:first], minlength=m) / (m * f)
        if marked.any():
            f = f * (1 - alpha / 2)
        part = np.bincount(of[marked], minlength=m) / np.maximum(whole, 1)
        alpha = alpha + G * (part - alpha)
        excess = kappa * f * np.maximum(part - (f * part).sum() / f.sum(), 0)
        pressure = excess / (f.sum() - f) if m > 1 else np.zeros(m)
        f = np.maximum(f - excess + f * (pressure.sum() - pressure), 0.5)
        if at >= rounds // 10:
            total += f
    return list(total / (rounds - rounds // 10))
