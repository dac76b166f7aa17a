"""A laboratory for multipath transport in data-centre fabrics."""
