"""Warp as differential equations with the delay of a round, and the same scenes at the packet level.

research/warp/analysis.md has the results.
"""
