# Web search flow sizes (DCTCP paper's cluster, as tabulated for pFabric).
# columns: size in packets of 1460 bytes, cumulative probability; linear between rows; mean 1141 packets
1 0
6 0.15
13 0.2
19 0.3
33 0.4
53 0.53
133 0.6
667 0.7
1333 0.8
3333 0.9
6667 0.97
20000 1
