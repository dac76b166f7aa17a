"""Options of TCP and of multipath TCP, as bytes."""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass

MP_CAPABLE, MP_JOIN, DSS, MP_PRIO = 0, 1, 2, 5
"""Subtypes (RFC 8684, section 8.2)."""

VERSION = 1
HMAC_SHA256 = 0x01
DATA_FIN, DSN_8, DSN, ACK_8, ACK = 0x10, 0x08, 0x04, 0x02, 0x01
"""Flags of a DSS (RFC 8684, section 3.3)."""


def padded(options: bytes) -> bytes:
    """Pads options with no-operations in front, so that the header ends at a word; at most 40 bytes fit."""
    whole = bytes([1]) * (-len(options) % 4) + options
    assert len(whole) <= 40, "a TCP header holds 40 bytes of options"  # noqa: S101
    return whole


def max_segment_size(size: int) -> bytes:
    """Returns the option of RFC 9293, section 3.2."""
    return struct.pack("!BBH", 2, 4, min(size, 0xFFFF))


def window_scale(shift: int) -> bytes:
    """Returns the option of RFC 7323, section 2.2."""
    return struct.pack("!BBB", 3, 3, shift)


SACK_PERMITTED = struct.pack("!BB", 4, 2)
"""The option of RFC 2018, section 2."""


def sack(first: int, end: int) -> bytes:
    """Returns one block (RFC 2018, section 3): its first sequence number, and the one after its last."""
    return struct.pack("!BBII", 5, 10, first, end)


def timestamps(value: int, echo: int) -> bytes:
    """Returns the option of RFC 7323, section 3.2."""
    return struct.pack("!BBII", 8, 10, value & 0xFFFFFFFF, echo & 0xFFFFFFFF)


@dataclass(frozen=True)
class Key:
    """The key of one end of a multipath connection, eight bytes."""

    key: bytes

    @property
    def token(self) -> bytes:
        """Returns the most significant 32 bits of the key's hash (RFC 8684, section 3.2)."""
        return hashlib.sha256(self.key).digest()[:4]

    @property
    def first_data(self) -> int:
        """Returns the initial data sequence number.

        It is the least significant 64 bits of the key's hash (RFC 8684, section 3.1).
        """
        return int.from_bytes(hashlib.sha256(self.key).digest()[-8:], "big")


def _multipath(subtype: int, flags: int, rest: bytes) -> bytes:
    """Returns a multipath option; `flags` are the four bits next to the subtype."""
    return struct.pack("!BBB", 30, len(rest) + 3, subtype << 4 | flags) + rest


def mp_capable(*keys: Key, data_length: int | None = None) -> bytes:
    """Returns MP_CAPABLE.

    A SYN has no key, a SYN/ACK the receiver's; a later packet has both, or both and a data length.
    """
    rest = bytes([HMAC_SHA256]) + b"".join(key.key for key in keys)
    return _multipath(MP_CAPABLE, VERSION, rest if data_length is None else rest + struct.pack("!H", data_length))


def join_syn(address: int, receiver: Key, nonce: bytes) -> bytes:
    """Returns MP_JOIN of a SYN (RFC 8684, figure 5)."""
    return _multipath(MP_JOIN, 0, bytes([address]) + receiver.token + nonce)


def join_syn_ack(address: int, sender: Key, receiver: Key, nonces: tuple[bytes, bytes]) -> bytes:
    """Returns MP_JOIN of a SYN/ACK (figure 6): 64 bits of the receiver's HMAC, and its nonce, the second one."""
    theirs, ours = nonces
    code = hmac.digest(receiver.key + sender.key, ours + theirs, "sha256")[:8]
    return _multipath(MP_JOIN, 0, bytes([address]) + code + ours)


def join_ack(sender: Key, receiver: Key, nonces: tuple[bytes, bytes]) -> bytes:
    """Returns MP_JOIN of the third packet (figure 7): 160 bits of the sender's HMAC."""
    ours, theirs = nonces
    return _multipath(MP_JOIN, 0, bytes(1) + hmac.digest(sender.key + receiver.key, ours + theirs, "sha256")[:20])


def data_ack(number: int) -> bytes:
    """Returns a DSS that only acknowledges."""
    return _multipath(DSS, 0, struct.pack("!BQ", ACK | ACK_8, number % 2**64))


def data_mapping(acked: int, number: int, offset: int, length: int, *, fin: bool) -> bytes:
    """Returns a DSS that maps `length` bytes from `offset` of the subflow (1: the first).

    A DATA_FIN counts as a byte.
    """
    flags = ACK | DSN | DSN_8 | (DATA_FIN if fin else 0)
    return _multipath(DSS, 0, struct.pack("!BIQIH", flags, acked % 2**32, number % 2**64, offset % 2**32, length))


def mp_prio(*, backup: bool) -> bytes:
    """Returns MP_PRIO (RFC 8684, figure 13); `backup` marks the subflow on which it is sent as a backup."""
    return _multipath(MP_PRIO, int(backup), b"")
