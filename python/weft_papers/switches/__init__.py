"""Switches with shared buffers, priorities, marks at dequeue and pauses: statements of Weft, not of a paper.

All readings were fixed on 2026-11-26, before the first run of these figures.
"""
