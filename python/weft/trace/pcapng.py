"""The file format pcapng (draft-ietf-opsawg-pcapng), as far as a trace needs it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Address

_SECTION, _INTERFACE, _NAMES, _PACKET = 0x0A0D0D0A, 1, 4, 6
RAW_IP = 101
"""Link type of packets that begin with their IP header."""
ETHERNET = 1
"""Link type of Ethernet frames."""

INBOUND, OUTBOUND = 1, 2


class Writer:
    """A writer of blocks, in the byte order of little-endian machines."""

    def __init__(self, file: BinaryIO, application: str) -> None:
        self._file = file
        user = _option(4, application.encode())
        self._block(_SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + user + _END)
        self._interfaces = 0

    def interface(self, name: str, link_type: int = RAW_IP) -> int:
        """Declares an interface, whose packets have times in nanoseconds; returns its number."""
        options = _option(2, name.encode()) + _option(9, b"\x09")
        self._block(_INTERFACE, struct.pack("<HHI", link_type, 0, 0) + options + _END)
        self._interfaces += 1
        return self._interfaces - 1

    def names(self, hosts: Mapping[IPv4Address, str]) -> None:
        """Writes names of addresses."""
        records = b""
        for address, name in hosts.items():
            value = address.packed + name.encode() + b"\0"
            records += struct.pack("<HH", 1, len(value)) + _padded(value)
        self._block(_NAMES, records + _END + _END)

    def packet(self, interface: int, time_ns: int, captured: bytes, length: int, direction: int | None) -> None:
        """Writes a packet of `length` bytes, the first of which were captured."""
        head = struct.pack("<IIIII", interface, time_ns >> 32, time_ns & 0xFFFFFFFF, len(captured), length)
        options = b"" if direction is None else _option(2, struct.pack("<I", direction)) + _END
        self._block(_PACKET, head + _padded(captured) + options)

    def _block(self, kind: int, body: bytes) -> None:
        length = struct.pack("<I", len(body) + 12)
        self._file.write(struct.pack("<I", kind) + length + body + length)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


_END = _option(0, b"")
"""The record that ends options and the names of a block."""
