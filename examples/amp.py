"""AMP in Python: Kheirkhah and Lee, section 4.2, Algorithm 1. Weft's own is crates/weft-cc/src/amp.rs."""

from collections import Counter

import weft


class Amp(weft.CongestionControl):
    echo = "dctcp"
    gamma, tau, beta, cwnd_min = 2, 8, 4.0, 2.0

    def __init__(self):
        self.initial, self.suppressed, self.n_round, self.w_total, self.timeouts = 0, False, 0, 0.0, Counter()

    def on_open(self, w, s):
        self.initial = self.initial if w[self.initial].established else s
        w[s].active = not self.suppressed or s == self.initial
        self.add_up(w)

    def on_ack(self, w, s, ack):  # lines 23 to 25
        r = w[s]
        if r.active and ack.may_grow:
            before = r.cwnd
            left = r.slow_start(ack.acked)
            self.w_total += r.cwnd - before
            growth = left / max(self.w_total, r.cwnd)
            self.w_total, r.cwnd = self.w_total + growth, r.cwnd + growth

    def on_mark(self, w, s):  # lines 27 to 29
        w[s].cwnd = w[s].ssthresh = max(w[s].cwnd * (1 - 1 / self.beta), self.cwnd_min)
        self.add_up(w)

    def on_round(self, w, s, round):  # lines 2 to 21
        self.timeouts[s] = 0
        if s != self.initial:
            return
        up = [r for i, r in enumerate(w) if self.timeouts[i] < 2]
        fits = len(up) > 1 and all(int(r.cwnd) == self.cwnd_min and r.established and not r.in_recovery for r in up)
        if self.suppressed:
            fits = round.marked == 0 and int(w[s].cwnd) > self.cwnd_min and not w[s].in_recovery
        self.n_round = self.n_round + 1 if fits else 0
        if self.n_round >= (self.tau if self.suppressed else self.gamma):
            self.set_active(w, self.suppressed)
        self.add_up(w)

    def on_loss(self, w, s):  # lines 31 and 32
        w[s].cwnd = w[s].ssthresh = max(w[s].cwnd / 2, self.cwnd_min)
        self.add_up(w)

    def on_timeout(self, w, s, first):
        super().on_timeout(w, s, first)
        self.timeouts[s] += 1
        if s == self.initial and self.timeouts[s] >= 2:
            self.set_active(w, True)
        self.add_up(w)

    def on_close(self, w, s):
        self.timeouts[s] = float("inf")
        if s == self.initial:
            self.initial = next((i for i, r in enumerate(w) if r.established), s)
            self.set_active(w, True)
        self.add_up(w)

    def set_active(self, w, active):
        for s, r in enumerate(w):
            r.active = active or s == self.initial
        self.suppressed, self.n_round = not active, 0

    def add_up(self, w):
        self.w_total = 0.0
        for r in w:  # not sum(), which rounds differently since Python 3.12
            if r.established and r.active:
                self.w_total += r.cwnd
