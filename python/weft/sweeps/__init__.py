"""A grid of runs, `weft sweep`: values of fields times seeds, stored by content, on any number of machines."""
