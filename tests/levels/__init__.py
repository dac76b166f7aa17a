"""Comparison of the flow level with the packet level."""
