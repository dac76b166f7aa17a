"""Comparison of Weft with ns-3."""
