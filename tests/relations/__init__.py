"""Relations that every run satisfies, checked on random specs over all registries."""
