"""Warp: Weft's own congestion control, judged by bars that were set before it was run (docs/warp/protocol.md)."""
