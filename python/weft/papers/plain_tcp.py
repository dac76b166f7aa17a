"""The TCP of simulators: none of what Linux adds, every packet acknowledged, and room at the receiver."""

from __future__ import annotations

from typing import Any

PLAIN_TCP: dict[str, Any] = {
    "tail_loss_probe": False,
    "prr": False,
    "frto": False,
    "timestamps": False,
    "limited_transmit": False,
    "ack_every": 1,
    "quick_acks": 0,
    "confirmed_joins": False,
    "reinject": False,
    "receive_buffer": "1GB",
}
"""Changes of the profile `linux`, to which a paper adds its recovery and its first window."""
