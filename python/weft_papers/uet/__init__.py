"""Ultra Ethernet Consortium: result files of its public simulator, August 2025.

`scenarios.csv` and `matrices` hold the numbers and the traffic of the published scenarios, as facts.
"""
