"""OPN: Huang et al. on the number of MPTCP's subflows, Journal of Cloud Computing 9:13 (2020)."""
