"""The TCP of simulators: without Linux's additions, with an ACK per packet and an unlimited receive window."""

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
"""Changes to the profile `linux`; a paper adds its loss recovery and its initial window."""
