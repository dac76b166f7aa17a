"""Jobs of ranks: collectives, lists, training."""
