"""Experiments beyond the papers: questions that the papers leave open."""
