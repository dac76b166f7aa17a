"""Weft beside ns-3."""
