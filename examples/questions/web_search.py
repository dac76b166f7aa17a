"""The transport that suits web search at 60 % load in a three-tier fat-tree: one path, spraying, multipath or NDP.

Writes web-search.svg. With k = 8 (128 hosts) and 50 ms it takes some minutes on two cores.
"""

import weft

K, DURATION_MS, SEEDS = 4, 20, 5

spec = {
    "name": "web search",
    "duration": f"{2 * DURATION_MS}ms",
    "topology": {"kind": "fat-tree", "k": K, "rate": "10Gbps", "delay": "1us"},
    "queues": {"limit": "100 packets", "mark": "20 packets"},
    "transports": {"t": {"cc": "dctcp"}},
    "traffic": [
        {
            "kind": "poisson",
            "transport": "t",
            "pairs": "random",
            "load": 0.6,
            "stop": f"{DURATION_MS}ms",
            "size": {"kind": "empirical", "cdf": "web-search"},
        }
    ],
}
# Both timers, so that a lost SYN does not outlast the run.
tcp = {"min_rto": "5ms", "initial_rto": "5ms"}
schemes = {
    "DCTCP": {"transports.t": {"cc": "dctcp", "tcp": tcp}},
    "DCTCP, sprayed": {"transports.t": {"cc": "dctcp", "paths": "rps", "tcp": tcp}},
    "AMP, 4 subflows": {"transports.t": {"cc": "amp", "subflows": 4, "tcp": tcp}},
    # NDP needs switches that trim packets.
    "NDP": {"transports.t": {"kind": "ndp"}, "queues": {"kind": "trimming", "limit": "8 packets"}},
}

if __name__ == "__main__":
    sweep = weft.sweep(spec, {"scheme": schemes}, seeds=SEEDS)
    for measure in ("p99 slowdown below 100KB", "mean goodput from 1MB"):
        print(sweep.summary(measure))
    print(sweep.compare("NDP", "DCTCP", "p99 slowdown below 100KB"))
    sweep.plot.compare("p99 slowdown below 100KB").savefig("web-search.svg")
