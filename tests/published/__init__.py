"""Comparisons with published results."""
