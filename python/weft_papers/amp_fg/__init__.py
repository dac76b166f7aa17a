"""AMP-FG: Ye et al., "Fine-Grained Congestion Control for Multipath TCP in Data Center Networks"."""
