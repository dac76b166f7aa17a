"""AMP: Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center Networks"."""
