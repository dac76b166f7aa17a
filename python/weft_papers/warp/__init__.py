"""Warp: Weft's own congestion control, judged by criteria that were set before its runs (research/warp/protocol.md)."""
