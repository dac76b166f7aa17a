"""Whether DCTCP keeps its queue where its paper says (Alizadeh et al., SIGCOMM 2010, section 3.3).

N flows share a link of 10 Gbps with an RTT of 100 us and K = 40 packets. Writes dctcp-queue.svg.
"""

from math import sqrt

import weft

MARK, RTT_S, PACKETS_PER_S = 40, 100e-6, 10e9 / 8 / 1514

spec = {
    "name": "dctcp",
    "duration": "100ms",
    "measure": {"start": "20ms"},
    "topology": {"kind": "many-to-one", "senders": 40, "rate": "10Gbps", "delay": "25us"},
    "queues": {"limit": "1000 packets", "mark": f"{MARK} packets"},
    "transports": {"t": {"cc": "dctcp"}},
    "traffic": [{"kind": "incast", "transport": "t", "flows": 2, "size": "1GB"}],  # not over before the run
    "probes": [{"kind": "queue", "at": ["s0->r0"]}],
}


def theory(flows):
    """The smallest and largest queue in packets, by section 3.3 of the paper."""
    window = (PACKETS_PER_S * RTT_S + MARK) / flows
    alpha = 0.0
    for _ in range(50):
        alpha = sqrt((2 * window + 1) / (window + 1) ** 2 / (1 - alpha / 4))
    largest = MARK + flows
    return largest - flows * (window + 1) * alpha / 2, largest


if __name__ == "__main__":
    sweep = weft.sweep(spec, {"traffic[0].flows": [2, 10, 40]}, seeds=5)
    print(sweep.summary("p1 queue"), sweep.summary("p99 queue"), sweep.summary("sum goodput"))
    for flows in (2, 10, 40):
        low, high = theory(flows)
        print(f"{flows} flows: {low:.1f} to {high} packets in theory")
    sweep.plot.lines("p99 queue", x="flows").savefig("dctcp-queue.svg")
