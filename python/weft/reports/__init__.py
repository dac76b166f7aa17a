"""`weft report`: runs and sweeps as one page that needs no network."""
