"""Comparison of max-min fair rates with SimGrid's solver."""
