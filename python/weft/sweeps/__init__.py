"""A grid of runs, `weft sweep`: values of fields times seeds, kept by content, on as many machines as there are."""
