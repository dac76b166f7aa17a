"""Tuning, `weft tune`: Optuna looks for the values of fields that make an objective smallest or largest."""
