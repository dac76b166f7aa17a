"""Warp as differential equations with the delay of a round (docs/warp.md), and the same scenes at the packet level."""
