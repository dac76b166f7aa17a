"""Max-min fair rates beside SimGrid's solver."""
