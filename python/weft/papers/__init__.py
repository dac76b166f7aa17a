"""Papers, figure by figure: a folder a paper, a module a figure, a line here."""

from weft.papers.figure import Figure

FIGURES = (
    # Name, title, the seconds that the full size and the quick version take; the level unless it is "packet".
    Figure("amp/fig02", "Incast: flow completion times of DCTCP, DCM and XMP", 2, 1),
    Figure("amp/fig04", "Minimum window syndrome: DCTCP's goodput beside one XMP flow", 18, 2),
    Figure("amp/fig06", "Traffic shifting: MPTCP, DCM, AMP and XMP (with figure 11)", 25, 1.1),
    Figure("amp/gamma", "Incast by AMP: how soon it suppresses subflows", 12, 1.1),
    Figure("amp/fig07", "Suppression episodes of 3 to 5 AMP flows: how late it releases subflows", 53, 1.1),
    Figure("amp/fig08", "Incast: AMP beside XMP, DCM and DCTCP, 64 KB to 1 MB", 14, 1.5),
    Figure("amp/fig09", "Fairness: 1, 2 and 4 AMP, XMP or DCM flows beside DCTCP", 79, 2),
    Figure("amp/fig10", "Queue length: 1 and 4 AMP, XMP or DCM flows beside 4 of DCTCP", 7, 1),
    Figure("amp/linux-fairness", "Coexistence of figure 9 on Linux, beside the packet level", 780, 8, "linux"),
    Figure("amp/linux-incast", "Incast of figure 8 on Linux, joins at once and delayed", 890, 14, "linux"),
    Figure("amp/linux-shift", "Traffic shifting of figures 6 and 11 on Linux", 290, 6, "linux"),
    Figure("amp/fig12", "Jobs by DCTCP beside long flows by AMP, XMP, DCM and DCTCP in a fat-tree: JCT", 2760, 14),
    Figure("amp/fig13", "Long flows beside short DCTCP flows along a permutation in a fat-tree", 1320, 24),
    Figure("amp/fig14", "Data mining workload in a fat-tree: FCT of short DCTCP flows beside long ones", 390, 53),
    Figure("mptcp-dc/fig01", "Flow level: throughput of a permutation in FatTree, VL2 and BCube", 300, 5, "flow"),
    Figure("mptcp-dc/fig02", "Flow level: the fewest subflows for 90 %, by size of the network", 300, 5, "flow"),
    Figure("mptcp-dc/fig03", "Flow level: the slowest flow and Jain's index of a permutation", 150, 5, "flow"),
    Figure("mptcp-dc/fig04", "Closed-loop flows in a fat-tree: VLB, Multipath TCP, first-fit scheduling", 1500, 9),
    Figure("mptcp-dc/fig05", "Overloaded fat-tree: the rate of each flow, VLB and Multipath TCP", 200, 4),
    Figure("mptcp-dc/fig07", "20 long flows a host: loss and timeouts, linked increases and independent TCP", 1200, 8),
    Figure("mptcp-dc/fig08", "One-way latency of TCP and multipath TCP on a small bottleneck", 10, 1),
    Figure("mptcp-dc/testbed", "VLB, a scheduler and Multipath TCP over two paths", 150, 8),
    Figure("mptcp-dc/testbed-linux", "VLB and Multipath TCP over two paths, on Linux", 410, 15, "linux"),
    Figure("mptcp-dc/latency-linux", "One-way latency of TCP and multipath TCP on Linux", 305, 14, "linux"),
    Figure("amp-fg/fig02", "The queue while senders go from 4 subflows to 8 and back (with figure 3)", 20, 2),
    Figure("amp-fg/fig04", "Windows after marks in three places: the equations and the text", 0.1, 0.1, "equations"),
    Figure("amp-fg/fig05", "Queue of 8 senders to 1, 10 subflows each: LIA, XMP and AMP-FG (with figure 6)", 45, 3),
    Figure("amp-fg/fig07", "One client asks 8 servers at once: FCT of objects of 10 KB to 128 MB", 700, 3),
    Figure("amp-fg/fig08", "Throughput of flows of 100 MB with 2 to 8 subflows in a fat-tree", 900, 2.5),
    Figure("opn/fig06", "The model: throughput over subflows, and the best number (with figure 7)", 1, 1, "equations"),
    Figure("beyond/linux-single-flow", "One Reno or CUBIC flow on Linux, beside the packet level", 500, 18, "linux"),
    Figure("beyond/failures", "Links that fail: ECMP, spraying, flowlets and multipath on two fabrics", 1700, 8),
)
