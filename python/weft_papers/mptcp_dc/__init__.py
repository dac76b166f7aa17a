"""MPTCP in data centres: Raiciu et al., "Data Center Networking with Multipath TCP"."""
