"""A writer of Chakra's execution traces: messages of protobuf by their field numbers, each after its length."""

from __future__ import annotations

from pathlib import Path

METADATA, COMPUTE, SEND, RECEIVE, COLLECTIVE = 1, 4, 5, 6, 7


def varint(value: int) -> bytes:
    """Returns a whole number in groups of seven bits, the lowest ones first."""
    head = b""
    while value >= 0x80:
        head += bytes([value & 0x7F | 0x80])
        value >>= 7
    return head + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name: str, value: int | str) -> bytes:
    """Returns an attribute of a node: an int64 or a string."""
    content = block(29, value.encode()) if isinstance(value, str) else number(9, value)
    return block(10, block(1, name.encode()) + content)


def node(
    number_of: int, kind: int, *, name: str = "", micros: int = 0, after: tuple[int, ...] = (), **attributes: int | str
) -> bytes:
    """Returns a node that starts after others and computes for some microseconds."""
    fields = [number(1, number_of), block(2, name.encode()), number(3, kind)]
    fields.append(block(5, b"".join(varint(before) for before in after)))
    fields.append(number(7, micros))
    fields += [attribute(key, value) for key, value in attributes.items()]
    return b"".join(fields)


def write(prefix: Path, ranks: list[list[bytes]]) -> None:
    """Writes a file per rank."""
    head = block(1, b"0.0.4")
    for rank, nodes in enumerate(ranks):
        content = b"".join(varint(len(message)) + message for message in [head, *nodes])
        Path(f"{prefix}.{rank}.et").write_bytes(content)


def backward_pass(ranks: int) -> list[list[bytes]]:
    """Three layers: a rank computes one backwards while the gradients of the one before are all-reduced."""
    nodes = []
    for layer in range(3):
        before = (2 * layer - 2,) if layer else ()
        nodes.append(node(2 * layer, COMPUTE, name=f"layer {3 - layer}", micros=100, after=before))
        own = (2 * layer,)
        nodes.append(
            node(2 * layer + 1, COLLECTIVE, name="gradients", after=own, comm_type=0, comm_size=2_000_000, pg_name="0")
        )
    nodes.append(node(6, COMPUTE, name="update", micros=20, after=(1, 3, 5)))
    return [nodes] * ranks
