"""Warp: Weft's own congestion control, judged by criteria that were set before it was run (docs/warp/protocol.md)."""
