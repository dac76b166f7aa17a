"""Instructions per packet-hop, and the speed of other simulators."""
