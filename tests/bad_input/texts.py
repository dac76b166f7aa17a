"""Texts that are neither specs nor distributions."""

from __future__ import annotations

from tests.bad_input.row import Row
from tests.command import INCAST


def spec(text: str | bytes, *words: str) -> Row:
    return Row(("run", "bad.toml", "--out", "out"), ("bad.toml: ", *words), files={"bad.toml": text})


def changed(old: str, new: str, *words: str) -> Row:
    assert old in INCAST
    return spec(INCAST.replace(old, new, 1), *words)


def sizes(text: str | bytes, *words: str) -> Row:
    change = (
        "traffic=[{kind = 'poisson', transport = 'dctcp', from = '0..4', to = 'r0', pairs = 'random', rate = 100, "
        "size = {kind = 'empirical', cdf = 'sizes.cdf'}}]"
    )
    return Row(
        ("run", "incast.toml", "--set", change, "--out", "out"),
        ("traffic[0].size", *words),
        files={"sizes.cdf": text},
    )


TEXTS = [
    spec("", "name: required field is missing"),
    spec("\n\n# nothing\n", "name: required field is missing"),
    spec("name = ", "line 1"),
    spec("name = x", "line 1"),
    spec('name = "x', "line 1"),
    spec('name = "x"\nname = "y"', "line 2"),
    spec("name = 'a'\n[topology]\n[topology]", "line 3"),
    spec("= 3", "line 1"),
    spec("[", "line 1"),
    spec("]", "line 1"),
    spec("[]", "line 1"),
    spec("[[traffic]", "line 1"),
    spec("a.b = 1\na = 2", "line 2"),
    spec("{", "line 1"),
    spec("{}", "name: required field is missing"),
    spec('{"name": }', "line 1"),
    spec('{"name": "a",}', "line 1"),
    spec('{"name": "a"} x', "line 1"),
    spec('{"name": "a"}{"name": "b"}', "line 1"),
    spec('{"name": "a", "name": "b"}', '"name" is given twice'),
    spec('{"topology": {"k": 1, "k": 2}}', '"k" is given twice'),
    spec('{"seed": 18446744073709551615}', "seed"),
    spec('{"seed": 1e400}', "line 1"),
    spec('{"seed": NaN}', "line 1"),
    spec('{"name": "\\ud800"}', "line 1"),
    spec("null", "line 1"),
    spec("3", "line 1"),
    spec('"text"', "line 1"),
    spec("\x00", "line 1"),
    spec("name = 'a\x00b'", "line 1"),
    spec(b"\xff\xfe\x00", "cannot be read: not UTF-8 text"),
    spec("name = 'ä'".encode("latin-1"), "cannot be read: not UTF-8 text"),
    spec("name = 'a'".encode("utf-16"), "cannot be read: not UTF-8 text"),
    spec(b"\x1f\x8b\x08\x00" + bytes(100), "cannot be read: not UTF-8 text"),
    spec(b"PAR1" + bytes(range(256)), "cannot be read: not UTF-8 text"),
    spec("[" * 100_000, "line 1"),
    spec('{"a":' * 100_000, "line 1"),
    spec("a" * 1_000_000, "line 1"),
    spec("a = " + "[" * 5000 + "]" * 5000, "line 1"),
    spec("[[traffic]]\n" * 10_000, "traffic[0].kind: required field is missing"),
    spec('[[traffic]]\nkind = "bulk"\n' * 200_000, "too long", "at most 4 MiB"),
    spec("<html><body>404</body></html>", "line 1"),
    spec("name: incast\nduration: 1s\n", "line 1"),
    spec("\r\n\r\nname = = 1", "line 3"),
    changed('duration = "50ms"\n', "", "duration: required field is missing"),
    changed('duration = "50ms"', "duration = 2020-01-01", "duration"),
    changed('duration = "50ms"', "duration = 50", "duration: 50 is a bare number without a unit"),
    changed("[topology]", "[topologie]", "topologie: unknown field"),
    changed("[topology]\n", "", "delay: unknown field"),
    changed("[queues]", "[queue]", "queue: unknown field"),
    changed("senders = 4", 'senders = "4"', "topology.senders"),
    changed("senders = 4", "senders = 4.0", "topology.senders"),
    changed("senders = 4", "", "topology.senders: required field is missing"),
    changed("[transports.dctcp]", "[transports.'']", "transports: ", "a non-empty name on one line"),
    changed('cc = "dctcp"', "", "transports.dctcp.cc: required field is missing"),
    changed('cc = "dctcp"', 'cc = ["dctcp"]', "transports.dctcp.cc"),
    changed('cc = "dctcp"', 'cc = {name = "dctcp", g = "a"}', "transports.dctcp.cc.g"),
    changed("[[traffic]]", "[traffic]", "traffic"),
    changed(
        'kind = "incast"\ntransport = "dctcp"', 'kind = "incast"', "traffic[0].transport: required field is missing"
    ),
    changed('transport = "dctcp"', 'transport = "DCTCP"', 'traffic[0].transport: "DCTCP"'),
    changed("flows = 4", "flows = 4\nflow = 3", "traffic[0].flow: unknown field"),
]

DISTRIBUTIONS = [
    sizes("", "sizes.cdf"),
    sizes("# size in bytes\n", "sizes.cdf"),
    sizes("# size in bytes\n1000 1\n", "sizes.cdf"),
    sizes("# size in bytes\n1000 0\n9000 0.6\n9000 0.5\n20000 1", 'sizes.cdf", line 4', "does not rise"),
    sizes("# size in bytes\n1000 0\n20000 0.99", 'sizes.cdf", line 3', "ends at 0.99", "allowed: 1"),
    sizes("1000 0\n20000 1", "no unit of its sizes", "# size in bytes"),
    sizes("# size in bytes\n1000 zero\n20000 1", "line 2"),
    sizes("# size in bytes\n1000\n20000 1", "line 2"),
    sizes("# size in bytes\n1000 0 3\n20000 1", "line 2"),
    sizes("# size in bytes\n-5 0\n20000 1", "line 2"),
    sizes("# size in bytes\n1000 -0.5\n20000 1", "line 2"),
    sizes("# size in bytes\n1000 0\n20000 1.5", "line 3"),
    sizes("# size in bytes\n1000 0\n1e300 1", "line 3"),
    sizes("# size in bytes\n1000 nan\n20000 1", "line 2"),
    sizes("# size in bytes\n20000 0\n1000 1", "line 3"),
    sizes("# size in furlongs\n1000 0\n20000 1", "sizes.cdf"),
    sizes(b"\xff\xfe1000 0\n", "sizes.cdf"),
    sizes("# size in bytes\n" + "1000 0\n" * 200_000, "sizes.cdf"),
    sizes(bytes(1000), "sizes.cdf"),
]
