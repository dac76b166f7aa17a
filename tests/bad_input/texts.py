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
    changed("senders = 4", "senders = 4.5", "topology.senders: 4.5; allowed: a whole number, 1 to 65535"),
    changed("senders = 4", "senders = -4", "topology.senders: -4; allowed: a whole number, 1 to 65535"),
    changed(
        "[topology]",
        "seed = 9223372036854775808\n[topology]",
        "seed: 9.223372036854776e18; allowed: a whole number, 0 to 9223372036854775807",
    ),
    changed(
        "[topology]",
        "seed = 99999999999999999999999\n[topology]",
        "seed: 1e23; allowed: a whole number, 0 to 9223372036854775807",
    ),
    changed("[topology]", "seed = 1e400\n[topology]", "seed: inf; allowed: a whole number, 0 to"),
    spec("\ufeffname = = 1", "line 1, column 8"),
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


def listed(name: str, text: str | bytes, *words: str) -> Row:
    change = f"traffic=[{{kind = 'flow-list', transport = 'dctcp', file = '{name}'}}]"
    return Row(
        ("run", "incast.toml", "--set", change, "--out", "out"),
        (f"traffic[0].file: {name}: ", *words),
        files={name: text},
    )


HEADER = "from,to,size_bytes,start_s"

LISTS = [
    listed("a.csv", f"{HEADER.replace(',', ';')}\n", "line 1: columns separated by ';'; allowed: commas"),
    listed("a.csv", f"{HEADER}\nh0,r0,5.5,0\n", 'line 2: size_bytes "5.5"; allowed: a whole number above 0'),
    listed("a.csv", f"{HEADER}\nh0,r0,-5,0\n", 'line 2: size_bytes "-5"; allowed: a whole number above 0'),
    listed(
        "a.csv", f"{HEADER}\nh0,r0,0,0\n", 'line 2: size_bytes "0"; ', "or empty for a flow that sends until the end"
    ),
    listed("a.csv", f"{HEADER}\nh0,r0,5,\n", 'line 2: start_s ""; allowed: a number from 0 to 1000000'),
    listed("a.csv", HEADER.encode("utf-16"), "is UTF-16 text, not UTF-8; allowed: a text file of flows"),
    listed("a.csv", "name,a\xe4\n".encode("latin-1"), "is not UTF-8 text; allowed: a text file of flows"),
    listed("a.cm", "h0->r0 start 0.5 size 1\n", 'line 1: start "0.5"; allowed: a whole number of picoseconds from 0'),
    listed("a.cm", "h0->r0 size -1\n", "line 1: size ", "or 0 for a flow that sends until the end"),
    listed("a.cm", "h0->r0 size 1 trigger 1\n", "line 1: trigger 1; allowed: a trigger with a line of its own"),
    listed("a.cm", "h0->r0 size 1\ntrigger id 1 twice\n", 'line 2: "trigger id 1 twice"; allowed: trigger id NUMBER'),
    listed("a.csv", f"{HEADER},id,after\nh0,r0,1,,b,a\n", 'line 2: after "a"; allowed: values of the column id'),
    listed("a.cm", "Failures 1\n", "line 1: Failures 1: failures are events of the spec; allowed: "),
    listed("a.txt", "2\nh0 r0 3 100 5 0\n", "line 1: 2 flows are announced, and the file has 1; allowed: at most"),
    listed("a.txt", "1\nh0 r0 3 100 0 0\n", 'line 2: BYTES "0"; allowed: a whole number above 0'),
    listed("a.goal", "num_ranks 4\n", "line 1: 2 words; allowed: the number of flows", "name the file .cm or .csv"),
]
"""Lists of flows."""


def network(name: str, text: str | bytes, *words: str) -> Row:
    change = f"topology={{kind = 'graph', file = '{name}', rate = '1Gbps', delay = '1us'}}"
    return Row(("run", "incast.toml", "--set", change, "--out", "out"), words, files={name: text})


def edges(data: str) -> str:
    links = f'<edge source="a" target="s">{data}</edge><edge source="s" target="b"/>'
    nodes = '<node id="a"/><node id="s"/><node id="b"/>'
    return f'<graphml>\n<graph edgedefault="undirected">{nodes}{links}</graph></graphml>'


RING = edges("").replace("</graph>", '<edge source="b" target="a"/></graph>')

NETWORKS = [
    network("a.graphml", edges('<data key="bandwidth">10</data>'), 'line 2: bandwidth "10" is a bare number without a'),
    network("a.graphml", edges('<data key="latency">50.0</data>'), 'line 2: latency "50.0" is a bare number without a'),
    network("a.graphml", edges('<data key="LinkSpeedRaw">1G</data>'), "line 2: LinkSpeedRaw ", "a number of bits per"),
    network("a.graphml", RING, "topology.hosts: 0 in a.graphml, whose nodes with ", "hosts do not forward"),
    network("a.gml", "graph [\n", "topology.file: a.gml: line 1: ", "allowed: NODES SWITCHES LINKS", "GraphML"),
    network("a.txt", "", "topology.file: a.txt: line 1: "),
    network("a.txt", "3 1 9\n0\n0 1 1Gbps 1us 0\n", "line 1: 9 links are announced, and the file has 1; allowed: at"),
    network("a.txt", "3 1 1\n0\n0 1 1Gbps 1us 0.1\n", "line 3: error rate 0.1; allowed: 0; for losses set queue = "),
    network("a.txt", "3 1 1\n0\n0 1 1GB 1us 0\n", 'line 3: "1GB" has the unit "GB"'),
    network("a.txt", "3 1 1\n0\n0 3 1Gbps 1us 0\n", 'line 3: node "3"; allowed: 0 to 2'),
    network("a.txt", "3 1 1\n0\n0 1\n", 'line 3: "0 1"; allowed: A B RATE DELAY ERROR_RATE'),
    network("a.topo", b"\xff\xfe", "topology.file: a.topo: is UTF-16 text, not UTF-8"),
]
"""Files of topologies."""

DISTRIBUTIONS = [
    sizes("5000\n1000 0\n20000 1", "line 1", "write # before the number if it is the mean"),
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
