"""RDMA over converged Ethernet: DCQCN (Zhu et al., SIGCOMM 2015) with pauses.

The statements are Weft's, because the paper's text was not at hand: its equations, and the direction of the results of
its testbed. All readings were fixed on 2026-11-26, before the first run of these figures.
"""
