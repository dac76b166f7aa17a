"""The Python functions with which questions are answered: sweeps, intervals, plots, tuning, reproduction."""
