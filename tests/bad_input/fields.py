"""Fields of a spec with values that cannot stand there, by `--set`."""

from __future__ import annotations

import json

from tests.bad_input.row import Row
from tests.kinds import NAMES


def field(change: str, *words: str) -> Row:
    where = change.partition("=")[0]
    return Row(("run", "incast.toml", "--set", change, "--out", "out"), words or (f"incast.toml: {where}: ",))


def traffic(fields: str, *words: str) -> Row:
    return field(f"traffic=[{{transport = 'dctcp', {fields}}}]", *words)


def graph(fields: str, *words: str) -> Row:
    """A graph of two hosts and a switch; `fields` may replace its links."""
    links = "" if fields.startswith("links") else "links = [{a = 'a', b = 's'}, {a = 's', b = 'b'}], "
    names = "hosts = ['a', 'b'], switches = ['s'], rate = '1Gbps', delay = '1us'"
    return field(f"topology={{kind = 'graph', {names}, {links}{fields}}}", *words)


def red(parameters: str, *words: str) -> Row:
    return field(f"queues={{limit = '100 packets', kind = {{name = 'red', {parameters}}}}}", *words)


def shared(parameters: str, *words: str) -> Row:
    return field(f"queues={{limit = '100 packets', kind = {{name = 'shared', {parameters}}}}}", *words)


def classes(listed: str, *words: str, also: str = "") -> Row:
    change = f"queues={{limit = '100 packets', kind = {{name = 'priority', classes = [{listed}]}}}}"
    more = ("--set", also) if also else ()
    return Row(("run", "incast.toml", "--set", change, *more, "--out", "out"), words)


def source(parameters: str, *words: str) -> Row:
    return field(f"transports.udp={{kind = 'constant-rate'{parameters}}}", *words)


def ndp(settings: str, *words: str, also: str = "") -> Row:
    return field(f"transports.pulled={{kind = 'ndp', ndp = {{{settings}}}{also}}}", *words)


def uet(settings: str, *words: str, also: str = "") -> Row:
    return field(f"transports.ultra={{kind = 'uet', uet = {{{settings}}}{also}}}", *words)


def roce(settings: str, *words: str, also: str = "") -> Row:
    return field(f"transports.rdma={{kind = 'roce', roce = {{{settings}}}{also}}}", *words)


def timely(settings: str, first: str, *words: str) -> Row:
    return roce(f"control = 'timely', timely = {{{settings}}}", f"transports.rdma.roce.timely.{first}", *words)


def hpcc(settings: str, first: str, *words: str) -> Row:
    return roce(f"control = 'hpcc', hpcc = {{{settings}}}", f"transports.rdma.roce.hpcc.{first}", *words)


def swift(settings: str, *words: str, also: str = "") -> Row:
    return field(f"transports.slow={{kind = 'swift', swift = {{{settings}}}{also}}}", *words)


def lossy(parameters: str, *words: str) -> Row:
    return field(f"queues={{limit = '100 packets', kind = {{name = 'lossy'{parameters}}}}}", *words)


def lossless(parameters: str, *words: str, limit: str = "100KB", also: str = "") -> Row:
    change = f"queues={{limit = '{limit}', kind = {{name = 'lossless'{parameters}}}}}"
    more = ("--set", also) if also else ()
    return Row(("run", "incast.toml", "--set", change, *more, "--out", "out"), words)


def trimming(parameters: str, *words: str) -> Row:
    return field(f"queues={{limit = '100 packets', kind = {{name = 'trimming'{parameters}}}}}", *words)


FLOW = "level=flow"
SOURCE = "transports.udp={kind = 'constant-rate', rate = '1Gbps'}"
RED = "{name = 'red', min = '1KB', max = '2KB', probability = 0.1}"


def unmodelled(change: str, feature: str) -> Row:
    where = change.partition("=")[0]
    return field(change, f"incast.toml: {where}: Weft does not model {feature}", "docs/reference/limitations.md")


LINK = "links = ['s0->r0']"
NOT_DOWN = '"up" for links that are not down'

CONTRADICTIONS = [
    field(f"events=[{{at = '1ms', {LINK}, state = 'down', rate = '1Gbps'}}]", "events[0].rate: given together with"),
    field(f"events=[{{at = '1ms', {LINK}, state = 'down', delay = '1us'}}]", "events[0].delay: given together with"),
    field(f"events=[{{at = '1ms', {LINK}, state = 'up'}}]", "events[0].state", NOT_DOWN),
    field(f"events=[{{at = '1ms', {LINK}, state = 'up', rate = '1Gbps'}}]", "events[0].state", NOT_DOWN),
    field(
        f"events=[{{at = '2ms', {LINK}, state = 'down'}}, {{at = '1ms', {LINK}, state = 'up'}}]",
        "events[1].state",
        NOT_DOWN,
    ),
    field(
        f"events=[{{at = '1ms', {LINK}, state = 'down'}}, {{at = '2ms', links = ['h0->s0'], state = 'up'}}]",
        "events[1].state",
        NOT_DOWN,
    ),
    field(
        f"events=[{{at = '1ms', {LINK}, state = 'down'}}, {{at = '2ms', {LINK}, state = 'up'}}, "
        f"{{at = '3ms', {LINK}, state = 'up'}}]",
        "events[2].state",
        NOT_DOWN,
    ),
    field("transports={'' = {cc = 'reno'}}", "transports: ", "non-empty name on one line"),
    field("transports={'  ' = {cc = 'reno'}}", "transports: ", "non-empty name on one line"),
    field('transports={"a\\nb" = {cc = "reno"}}', "transports: ", "non-empty name on one line"),
    field('transports={"a\\u0007" = {cc = "reno"}}', "transports: ", "non-empty name on one line"),
    field('traffic[0].name=""', "traffic[0].name: ", "non-empty name on one line"),
    field('traffic[0].name="a\\tb"', "traffic[0].name: ", "non-empty name on one line"),
    field(
        'traffic[0].classes=[{name = "a\\nb", below = "1MB", transport = "dctcp"}]',
        "traffic[0].classes[0].name: ",
        "non-empty name on one line",
    ),
    field('name="a\\nb"', "name: ", "non-empty name on one line"),
    field("traffic[0].from=['h0', 'h0']", 'traffic[0].from: "h0" is given twice'),
    field("traffic[0].from=['h0', 0]", 'traffic[0].from: "h0" is given twice'),
    field("traffic[0].from=['0..3', 'h1']", 'traffic[0].from: "h1" is given twice'),
    traffic("kind = 'bulk', from = ['h0', 'h0'], to = 'r0'", "traffic[0].from: the pair of", "use count"),
    traffic("kind = 'bulk', from = 'h0', to = ['r0', 'r0']", "traffic[0].from: the pair of", "use count"),
    traffic("kind = 'bulk', from = ['h0', 'h0'], to = ['r0', 'r0']", "traffic[0].from: the pair of", "use count"),
    traffic("kind = 'poisson', pairs = 'random', from = ['h0', 'h0'], rate = 9, size = '1KB'", "traffic[0].from"),
    traffic("kind = 'poisson', pairs = 'random', to = ['h0', 'h0'], rate = 9, size = '1KB'", "traffic[0].to"),
    traffic("kind = 'closed-loop', pairs = 'random', from = ['h0', 'h0'], size = '1KB'", "traffic[0].from"),
    traffic("kind = 'one-to-many', receivers = 1, from = ['h0', 'h0'], size = '1KB'", "traffic[0].from"),
    traffic("kind = 'all-to-all', hosts = ['h0', 'h1', 'h0'], size = '1KB'", 'traffic[0].hosts: "h0" is given twice'),
    traffic("kind = 'hot-spot', spots = ['h0', 'h0'], share = 0.5, size = '1KB'", 'traffic[0].spots: "h0" is given'),
    traffic(
        "kind = 'jobs', servers = 1, request = '2KB', block = '64KB', client_hosts = ['h0', 'h0']",
        'traffic[0].client_hosts: "h0" is given twice',
    ),
    traffic(
        "kind = 'jobs', servers = 1, request = '2KB', block = '64KB', server_hosts = ['h0', 'h0']",
        'traffic[0].server_hosts: "h0" is given twice',
    ),
]
"""Specs that contradict themselves."""

UNMODELLED = [
    unmodelled("hosts.qdisc=fq_codel", "FQ-CoDel"),
    unmodelled("queues.kind=pie", "FQ-CoDel or PIE"),
    unmodelled("topology.error_rate=0.01", "corrupted packets"),
    field("transports.dctcp.paths=letflow", 'transports.dctcp.paths: "letflow" does not exist; use "flowlet"'),
]
"""Features that Weft does not model, and names of other simulators."""


FIELDS = [
    field("colour=3", "colour: unknown field"),
    field("name=[]"),
    field("name=3"),
    field("duration=0s", "incast.toml: duration: ", "0"),
    field("duration=-1s"),
    field("duration=1"),
    field("duration=1 fortnight"),
    field("duration=1GB"),
    field("duration=0.1ps"),
    field("duration=99999999999999s"),
    field("duration=nan s"),
    field("level=quantum", '"packet"'),
    field("level=3"),
    field("seed=-1", "incast.toml: seed: ", "-1"),
    field("seed=0.5"),
    field("seed=1e19", "seed: 1e19; allowed: a whole number, 0 to"),
    field("seed=99999999999999999999"),
    field("seed=true"),
    field("topology=3"),
    field("topology={}", "topology.kind: required field is missing"),
    field("transports.new.subflows=4", "transports.new.cc: required field is missing; add the name of a congestion"),
    field("topology.kind=star", "topology.kind", "many-to-one", "star"),
    field("topology.kind=Fat-Tree", "topology.kind", "fat-tree"),
    field("topology.senders=0", "incast.toml: topology.senders: ", "0"),
    field("topology.senders=-4"),
    field("topology.senders=1e9"),
    field("topology.senders=four"),
    field("topology.rate=10", "incast.toml: topology.rate: ", "10", "Gbps"),
    field("topology.rate=10us", "incast.toml: topology.rate: ", "10us"),
    field("topology.rate=10 Gbytes"),
    field("topology.rate=-10Gbps", "incast.toml: topology.rate: ", "-10Gbps"),
    field("topology.rate=0Gbps", "incast.toml: topology.rate: ", "0"),
    field("topology.rate=1bps"),
    field("topology.rate=101Tbps"),
    field("topology.delay=-1us", "incast.toml: topology.delay: ", "-1us"),
    field("topology.delay=5"),
    field("topology.delay=1e9s"),
    field("topology.delay=2e-06s", 'topology.delay: "2e-06s" has an exponent instead of all digits; allowed: a time'),
    field("topology.receivers=2", "topology.receivers: unknown field"),
    field("topology={kind = 'fat-tree', k = 3, rate = '1Gbps', delay = '1us'}", "topology.k", "even", "3"),
    field("topology={kind = 'fat-tree', k = 0, rate = '1Gbps', delay = '1us'}", "topology.k"),
    field("topology={kind = 'fat-tree', k = 100000, rate = '1Gbps', delay = '1us'}", "topology.k", "254"),
    field("topology={kind = 'fat-tree', k = 4, rate = '1Gbps'}", "topology.delay: required field is missing"),
    field("topology={kind = 'graph', hosts = [], switches = [], links = []}", "topology"),
    field("topology={kind = 'graph', hosts = ['a', 'a'], switches = [], links = [{a = 'a', b = 'a'}]}", "topology"),
    field(
        "topology={kind = 'graph', hosts = ['a', 'b'], switches = ['s'], rate = '1Gbps', delay = '1us', "
        "links = [{a = 'a', b = 's'}]}",
        "traffic[0]",
    ),
    graph("paths = [['a', 'q', 'b']]", "topology.paths[0][1]", '"q" does not exist'),
    graph("paths = [['a', 'b']]", "topology.paths[0][1]", "no link leads from a to b"),
    graph("paths = [['a']]", "topology.paths[0]", "at least 2 nodes"),
    graph("paths = ['a']", "topology.paths"),
    graph("links = [{a = 'a', b = 's', limit = '0 packets'}]", "topology.links[0].limit", "0 packets"),
    graph("links = [{a = 'a', b = 's', mark = '101 packets'}]", "topology.links[0].mark", "at most 100 packets"),
    graph("links = [{a = 'a', b = 's', one_way = 'yes'}]", "topology.links[0].one_way"),
    graph("links = [{a = 'a', b = 's', queue = 'wfq'}]", "topology.links[0].queue", '"wfq" does not exist'),
    graph(
        "links = [{a = 'a', b = 's', queue = {name = 'lossy', loss = 2}}]", "topology.links[0].queue.loss: 2", "0 to 1"
    ),
    graph("links = [{a = 'a', b = 's', queue = {name = 'lossy'}}]", "topology.links[0].queue: the rule of the losses"),
    graph(f"links = [{{a = 'a', b = 's', mark = '2KB', queue = {RED}}}]", "topology.links[0].mark", "which has a ramp"),
    field("queues=3"),
    field("queues.limit=0 packets", "incast.toml: queues.limit: ", "0"),
    field("queues.limit=100"),
    field("queues.limit=0.5 packets"),
    field("queues.limit=-1KB"),
    field("queues.limit=100 packet s"),
    field("queues.mark=101 packets", "queues", "101", "100", "mark"),
    field("queues.mark=-1 packets"),
    field("queues.mark=on"),
    field("queues.host.limit=0B"),
    field("queues.host=3"),
    field("queues.red=true", "queues.red: unknown field"),
    field(
        "queues.kind=wfq",
        "incast.toml: queues.kind: ",
        '"wfq" does not exist',
        ", ".join(json.dumps(kind) for kind in NAMES),
    ),
    field("queues.kind=3"),
    field("queues.kind={min = '1KB'}", "queues.kind.name: required field is missing"),
    field("queues.kind=red", "queues.kind.min: required field is missing"),
    field("queues.alpha=1", "queues.alpha: unknown field"),
    red("min = '2KB', max = '1KB', probability = 0.1", "queues.kind.min: 2KB is above max", "at most 1KB"),
    red("min = '2KB', max = '9 packets', probability = 0.1", "queues.kind.max: 9 packets", "different units"),
    red("min = '101 packets', max = '200 packets', probability = 0.1", "queues.kind.min: ", "limit of 100 packets"),
    red("min = '1KB', max = '2KB', probability = 1.5", "queues.kind.probability: 1.5", "0 to 1"),
    red("min = '1KB', max = '2KB', probability = -0.1", "queues.kind.probability: -0.1", "0 to 1"),
    red("min = '1KB', max = '2KB', probability = nan", "queues.kind.probability: "),
    red("min = '1KB', max = '2KB', probability = 0.1, weight = 0", "queues.kind.weight: 0", "above 0, up to 1"),
    red(
        "min = '1KB', max = '2KB', probability = 0.1, action = 'drop', nodrop = true",
        "queues.kind.nodrop: no effect with action",
        "remove one of them",
    ),
    red("min = '1KB', max = '2KB', probability = 0.1, action = 'trim'", "queues.kind.action: "),
    red("min = '1KB', max = '2KB', probability = 0.1, at = 'egress'", "queues.kind.at: "),
    red(
        "min = '1KB', max = '2KB', probability = 0.1, at = 'dequeue', weight = 0.5",
        "queues.kind.weight: the average is updated only at enqueue; remove it or set at = ",
    ),
    red("min = '1KB', max = '2KB', probability = 0.1, alpha = 1", "queues.kind.alpha: unknown field"),
    field(
        "queues={limit = '1MB', mark = '1KB', kind = {name = 'red', min = '1KB', max = '2KB', probability = 1}}",
        "queues.mark: 1KB is not used with queues of kind",
    ),
    source("", "transports.udp.rate: required field is missing; add it: Rate on the wire"),
    source(", rate = '0bps'", "transports.udp.rate: "),
    source(", rate = '1Gbps', cc = 'reno'", "transports.udp.cc: not used with kind = ", "remove it"),
    source(", rate = '1Gbps', subflows = 2", "transports.udp.subflows: not used with kind = "),
    source(", rate = '1Gbps', join_after = '1KB'", "transports.udp.join_after: not used with kind = "),
    source(", rate = '1Gbps', scheduler = 'linux'", "transports.udp.scheduler: not used with kind = "),
    source(", rate = '1Gbps', paths = 'rps'", 'transports.udp.paths: "rps" chooses paths for packets of TCP'),
    source(", rate = '1Gbps', paths = 'opn'", 'transports.udp.paths: "opn" chooses paths for packets of TCP'),
    source(
        ", rate = '1Gbps', packet_size = '66B'", "transports.udp.packet_size: 66B; allowed: above the header of 66B"
    ),
    source(", rate = '1Gbps', packet_size = '66KB'", "transports.udp.packet_size: 66KB"),
    source(", rate = '1Gbps', on = '1ms'", "transports.udp.off: required with `on`"),
    source(", rate = '1Gbps', off = '1ms'", "transports.udp.off: given without `on`"),
    source(", rate = '1Gbps', on = '0ms', off = '1ms'", "transports.udp.on: 0s; allowed: a time above 0"),
    source(", rate = '1Gbps', random = true", "transports.udp.random: given without `on`"),
    field("transports.dctcp.rate=1Gbps", 'transports.dctcp.rate: not used with kind = "tcp"', "constant-rate"),
    field("transports.dctcp.random=true", 'transports.dctcp.random: not used with kind = "tcp"'),
    *(
        Row(
            ("run", "incast.toml", "--set", level, "--set", SOURCE, "--out", "out"),
            ('transports.udp.kind: "constant-rate" is not supported at level ', 'use "tcp" or another level'),
        )
        for level in ("level=flow", "level=linux")
    ),
    uet("entropies = 48", "transports.ultra.uet.entropies: 48; allowed: a power of two up to 65536"),
    uet("entropies = 131072", "transports.ultra.uet.entropies: 131072"),
    uet("entropies = 0", "transports.ultra.uet.entropies: 0"),
    uet("mtu = '64B'", "transports.ultra.uet.mtu: 64B; allowed: 65B to 65535B"),
    uet("ack_bytes = '0B'", "transports.ultra.uet.ack_bytes: 0B"),
    uet("initial_window = '1KB'", "transports.ultra.uet.initial_window: 1KB; allowed: 4150B to "),
    uet("network_rtt = '0us'", "transports.ultra.uet.network_rtt: 0s; allowed: a time above 0"),
    uet("target_delay = '0us'", "transports.ultra.uet.target_delay: 0s"),
    uet("rto = '0us'", "transports.ultra.uet.rto: 0s"),
    uet("oversubscription = 0.5", "transports.ultra.uet.oversubscription: 0.5; allowed: at least 1"),
    uet("oversubscription = nan", "transports.ultra.uet.oversubscription: "),
    uet("control = 'switch'", "transports.ultra.uet.control: "),
    uet("load_balancing = 'ecmp'", "transports.ultra.uet.load_balancing: "),
    uet("window = '1KB'", "transports.ultra.uet.window: unknown field"),
    uet("", "transports.ultra.cc: not used with kind = ", also=", cc = 'reno'"),
    uet("", "transports.ultra.paths: not used with kind = ", 'set kind = "tcp" or ', also=", paths = 'ecmp'"),
    uet("", "transports.ultra.tcp: not used with kind = ", also=", tcp = {mss = 1000}"),
    uet("", "transports.ultra.rate: not used with kind = ", also=", rate = '1Gbps'"),
    field("transports.dctcp.uet={}", 'transports.dctcp.uet: not used with kind = "tcp"; remove it or set kind = "uet"'),
    Row(
        ("run", "incast.toml", "--set", FLOW, "--set", "transports.ultra.kind=uet", "--out", "out"),
        ('transports.ultra.kind: "uet" is not supported at level "flow"',),
    ),
    ndp("initial_window = 0", "transports.pulled.ndp.initial_window: 0; allowed: 1 to 65536"),
    ndp("initial_window = 65537", "transports.pulled.ndp.initial_window: 65537"),
    ndp("mtu = '64B'", "transports.pulled.ndp.mtu: 64B; allowed: 65B to 65535B"),
    ndp("mtu = '100KB'", "transports.pulled.ndp.mtu: 100KB"),
    ndp("pull_rate = 0", "transports.pulled.ndp.pull_rate: 0; allowed: 0.01 to 10"),
    ndp("pull_rate = nan", "transports.pulled.ndp.pull_rate: NaN"),
    ndp("rto = '0us'", "transports.pulled.ndp.rto: 0s; allowed: a time above 0"),
    ndp("paths = 0", "transports.pulled.ndp.paths: 0; allowed: 1 to 65536"),
    ndp("window = 30", "transports.pulled.ndp.window: unknown field"),
    ndp("", "transports.pulled.cc: not used with kind = ", also=", cc = 'reno'"),
    ndp("", "transports.pulled.paths: not used with kind = ", 'set kind = "tcp" or ', also=", paths = 'ecmp'"),
    ndp("", "transports.pulled.tcp: not used with kind = ", also=", tcp = {mss = 1000}"),
    ndp("", "transports.pulled.uet: not used with kind = ", also=", uet = {}"),
    field("transports.dctcp.ndp={}", 'transports.dctcp.ndp: not used with kind = "tcp"; remove it or set kind = "ndp"'),
    Row(
        ("run", "incast.toml", "--set", FLOW, "--set", "transports.pulled.kind=ndp", "--out", "out"),
        ('transports.pulled.kind: "ndp" is not supported at level "flow"',),
    ),
    roce("mtu = '62B'", "transports.rdma.roce.mtu: 62B; allowed: 63B to 65535B"),
    roce("ack_every = 0", "transports.rdma.roce.ack_every: 0; allowed: at least 1"),
    roce("window = '1KB'", "transports.rdma.roce.window: 1KB; allowed: 1086B to "),
    roce("rto = '0us'", "transports.rdma.roce.rto: 0s; allowed: a time above 0"),
    roce("alpha_interval = '0us'", "transports.rdma.roce.alpha_interval: 0s"),
    roce("increase_interval = '0us'", "transports.rdma.roce.increase_interval: 0s"),
    roce("gain = 0", "transports.rdma.roce.gain: 0; allowed: above 0, up to 1"),
    roce("gain = 1.5", "transports.rdma.roce.gain: 1.5"),
    roce("gain = nan", "transports.rdma.roce.gain: "),
    roce("byte_counter = '0B'", "transports.rdma.roce.byte_counter: 0B; allowed: a size above 0"),
    roce("fast_recovery = 0", "transports.rdma.roce.fast_recovery: 0; allowed: at least 1"),
    roce("min_rate = '0bps'", "transports.rdma.roce.min_rate: "),
    roce("retransmission = 'go-back-0'", "transports.rdma.roce.retransmission: "),
    roce("control = 'powertcp'", "transports.rdma.roce.control: "),
    roce("control = 'hpcc', gain = 0.5", 'transports.rdma.roce.gain: not used with control = "hpcc"'),
    roce("control = 'hpcc', mtu = '104B'", "transports.rdma.roce.mtu: 104B; allowed: 105B to "),
    roce("hpcc = {utilisation = 0.9}", "transports.rdma.roce.hpcc: not used with control = ", 'set control = "hpcc"'),
    hpcc("rtt = '0us'", "rtt: 0s; allowed: a time above 0"),
    hpcc("utilisation = 0", "utilisation: 0; allowed: above 0, up to 1"),
    hpcc("max_stage = -1", "max_stage: "),
    hpcc("increase = '0bps'", "increase: "),
    hpcc("beta = 1", "beta: unknown field"),
    roce("control = 'none', gain = 0.5", "transports.rdma.roce.gain: not used with control = ", "remove it or set"),
    roce("control = 'timely', gain = 0.5", 'transports.rdma.roce.gain: not used with control = "timely"'),
    roce("control = 'timely', cnp_interval = '9us'", "transports.rdma.roce.cnp_interval: not used with control = "),
    roce("timely = {gain = 0.5}", "transports.rdma.roce.timely: not used with control = ", 'set control = "timely"'),
    roce("control = 'none', min_rate = '1Mbps'", "transports.rdma.roce.min_rate: not used with control = "),
    timely("segment = '0B'", "segment: 0B; allowed: a size above 0"),
    timely("gain = 0", "gain: 0; allowed: above 0, up to 1"),
    timely("beta = 1.5", "beta: 1.5; allowed: above 0, up to 1"),
    timely("low = '0us'", "low: 0s; allowed: a time above 0"),
    timely("low = '60us', high = '50us'", "high: 50us and low = 60us", "set high to low or above"),
    timely("min_rtt = '0us'", "min_rtt: 0s; allowed: a time above 0"),
    timely("increase = '0bps'", "increase: "),
    timely("hyper_steps = 0", "hyper_steps: 0; allowed: at least 1"),
    timely("updates = 'never'", "updates: "),
    timely("eta = 1", "eta: unknown field"),
    roce("pacing = true", "transports.rdma.roce.pacing: unknown field"),
    roce("", "transports.rdma.cc: not used with kind = ", also=", cc = 'reno'"),
    roce("", "transports.rdma.tcp: not used with kind = ", 'set kind = "tcp"', also=", tcp = {mss = 1000}"),
    roce("", 'transports.rdma.paths: "rps" chooses paths for packets of TCP', also=", paths = 'rps'"),
    roce("", "transports.rdma.rate: not used with kind = ", also=", rate = '1Gbps'"),
    field("transports.dctcp.roce={}", 'transports.dctcp.roce: not used with kind = "tcp"', 'or set kind = "roce"'),
    Row(
        ("run", "incast.toml", "--set", FLOW, "--set", "transports.rdma.kind=roce", "--out", "out"),
        ('transports.rdma.kind: "roce" is not supported at level "flow"',),
    ),
    swift("mtu = '64B'", "transports.slow.swift.mtu: 64B; allowed: 65B to 65535B"),
    swift("initial_window = 0", "transports.slow.swift.initial_window: 0; allowed: 0.0001 to 65536"),
    swift("min_window = nan", "transports.slow.swift.min_window: NaN; allowed: 0.0001 to 65536"),
    swift("max_window = 0.5", "transports.slow.swift.max_window: 0.5; allowed: 1 to 65536"),
    swift(
        "min_window = 5, max_window = 2",
        "transports.slow.swift.min_window: 5 and max_window = 2",
        "set max_window above",
    ),
    swift("flow_window_max = 0.1", "transports.slow.swift.flow_window_min: 0.1 and flow_window_max = 0.1"),
    swift("increase = 0", "transports.slow.swift.increase: 0; allowed: above 0, up to 1000"),
    swift("beta = 1.5", "transports.slow.swift.beta: 1.5; allowed: above 0, up to 1"),
    swift("max_decrease = 1", "transports.slow.swift.max_decrease: 1; allowed: above 0, below 1"),
    swift("endpoint_gain = 0", "transports.slow.swift.endpoint_gain: 0; allowed: above 0, up to 1"),
    swift("base_target = '0us'", "transports.slow.swift.base_target: 0s; allowed: a time above 0"),
    swift("endpoint_target = '0us'", "transports.slow.swift.endpoint_target: 0s; allowed: a time above 0"),
    swift("min_rto = '0us'", "transports.slow.swift.min_rto: 0s; allowed: a time above 0"),
    swift("initial_rto = '0us'", "transports.slow.swift.initial_rto: 0s; allowed: a time above 0"),
    swift("timestamp_step = '2ms'", "transports.slow.swift.timestamp_step: 2ms; allowed: at most 1ms"),
    swift("timestamp_noise = '1.1ms'", "transports.slow.swift.timestamp_noise: 1100us; allowed: at most 1ms"),
    swift("clock_error = 1001", "transports.slow.swift.clock_error: 1001; allowed: 0 to 1000"),
    swift("clock_error = -1", "transports.slow.swift.clock_error: -1; allowed: a whole number, 0 to 1000"),
    swift("reset_after = 0", "transports.slow.swift.reset_after: 0; allowed: at least 1"),
    swift("host_time = 5", "transports.slow.swift.host_time: "),
    swift("gain = 1", "transports.slow.swift.gain: unknown field"),
    swift("", "transports.slow.cc: not used with kind = ", also=", cc = 'reno'"),
    swift("", "transports.slow.subflows: 0; allowed: 1 to 64", also=", subflows = 0"),
    swift("", "transports.slow.subflows: 65; allowed: 1 to 64", also=", subflows = 65"),
    swift("", "transports.slow.subflows: 1.5; allowed: a whole number, 1 to 64", also=", subflows = 1.5"),
    swift("subflows = 2", "transports.slow.swift.subflows: unknown field"),
    swift("", 'transports.slow.paths: "mmptcp" ', also=", subflows = 4, paths = 'mmptcp'"),
    swift("", 'transports.slow.paths: "rps" chooses paths for packets of TCP', also=", paths = 'rps'"),
    Row(
        ("run", "incast.toml", "--set", FLOW, "--set", "transports.slow.kind=swift", "--out", "out"),
        ('transports.slow.kind: "swift" is not supported at level "flow"',),
    ),
    lossy("", "queues.kind: the rule of the losses is missing; set loss or every"),
    lossy(", loss = 0.1, every = 3", "queues.kind.every: loss is given too; remove one of the two"),
    lossy(", loss = 1.1", "queues.kind.loss: 1.1; allowed: 0 to 1"),
    lossy(", loss = -0.1", "queues.kind.loss: -0.1"),
    lossy(", loss = nan", "queues.kind.loss: "),
    lossy(", every = 0", "queues.kind.every: 0; allowed: at least 1"),
    lossy(", rate = 0.1", "queues.kind.rate: unknown field"),
    Row(
        ("run", "incast.toml", "--set", FLOW, "--set", "queues.kind={name = 'lossy', loss = 0.1}", "--out", "out"),
        ('queues.kind: "lossy" is not supported at level "flow"',),
    ),
    lossless(", classes = 0", "queues.kind.classes: 0; allowed: 1 to 8"),
    lossless(", classes = 9", "queues.kind.classes: 9; allowed: 1 to 8"),
    lossless(", classes = 2", "queues.kind.classes[1]: no transport has this class"),
    lossless("", "transports.dctcp.class: 1 is not used", also="transports.dctcp.class=1"),
    lossless(", watchdog = '0s'", "queues.kind.watchdog: 0s; allowed: a time above 0"),
    lossless(", headroom = '101KB'", "queues.kind.headroom: 101KB leaves no packet", "in the buffer of 100KB"),
    lossless(", headroom_pool = '0B'", "queues.kind.headroom_pool: 0B; allowed: a size above 0"),
    lossless("", "queues.limit: 3KB is less than a packet and the headroom of ", "at least ", limit="3KB"),
    lossless(", xoff = '90KB', headroom = '20KB'", "queues.kind.xoff: 90KB and a headroom of 20KB", "at most 80KB"),
    lossless(", xoff = '1KB'", "queues.kind.xoff: 1KB is less than the largest packet"),
    lossless(", xoff = '50KB', xon = '51KB'", 'queues.kind.xon: 51KB is above xoff = "50KB"; allowed: at most 50KB'),
    lossless(", xon = '99KB'", "queues.kind.xon: 99KB is above xoff, which is "),
    lossless(", min = '1KB'", "queues.kind.min: unknown field"),
    lossless(", mark_min = '1KB'", "queues.kind.mark_max: missing next to mark_min"),
    lossless(", mark_min = '2KB', mark_max = '1KB'", "queues.kind.mark_min: 2KB is above mark_max"),
    lossless(", mark_probability = 0.1", "queues.kind.mark_probability: given without `mark_min` and `mark_max`"),
    lossless(
        ", mark_min = '1KB', mark_max = '2KB', mark_probability = 1.1",
        "queues.kind.mark_probability: 1.1; allowed: 0 to 1",
    ),
    lossless(
        ", mark_min = '1KB', mark_max = '2KB'",
        'queues.mark: 10 packets is not used with queues of kind "lossless", which has a ramp',
        also="queues.mark=10 packets",
    ),
    lossless(
        "",
        'layers.switch-host.queue: drops packets of layer "switch-host", but queues.kind is lossless',
        'use "lossless" for all layers or for none',
        also="layers.switch-host.queue={name = 'lossy', loss = 0.1}",
    ),
    Row(
        ("run", "incast.toml", "--set", FLOW, "--set", "queues.kind=lossless", "--out", "out"),
        ('queues.kind: "lossless" is not supported at level "flow"',),
    ),
    trimming(", size = '63B'", "queues.kind.size: 63B; allowed: 64B to 65535B"),
    trimming(", size = '64KiB'", "queues.kind.size: 64KiB"),
    trimming(", headers = '0 packets'", "queues.kind.headers: 0 packets drops every header"),
    trimming(", headers = '63B'", "queues.kind.headers: 63B is less than a header of 64B; allowed: at least 64B"),
    trimming(", ratio = 0", "queues.kind.ratio: 0; allowed: at least 1"),
    trimming(", overflow = 'keep'", "queues.kind.overflow: "),
    trimming(", overflow = 'return', to = 'sender'", 'queues.kind.overflow: "return" has no effect with to'),
    trimming(", mark_min = '1KB'", "queues.kind.mark_max: missing next to mark_min; set mark_max or remove mark_min"),
    trimming(", mark_max = '1KB'", "queues.kind.mark_min: missing next to mark_max"),
    trimming(", mark_min = '2 packets', mark_max = '1KB'", "queues.kind.mark_max: 1KB", "different units"),
    trimming(", mark_min = '2KB', mark_max = '1KB'", "queues.kind.mark_min: 2KB is above mark_max", "at most 1KB"),
    trimming(
        ", mark_min = '101 packets', mark_max = '102 packets'",
        "queues.kind.mark_min: ",
        "above the limit of 100 packets",
    ),
    trimming(", victim = 'first'", "queues.kind.victim: "),
    trimming(", to = 'switch'", "queues.kind.to: "),
    trimming(", min = '1KB'", "queues.kind.min: unknown field"),
    field(
        "queues={limit = '1MB', mark = '1KB', kind = {name = 'trimming', mark_min = '1KB', mark_max = '2KB'}}",
        'queues.mark: 1KB is not used with queues of kind "trimming", which has a ramp',
    ),
    Row(
        ("run", "incast.toml", "--set", FLOW, "--set", "queues.kind=trimming", "--out", "out"),
        ('queues.kind: "trimming" is not supported at level "flow"',),
    ),
    shared("buffer = '0B'", "queues.kind.buffer: 0B"),
    shared("buffer = '1KB'", "queues.kind.buffer: 1KB is less than a packet of transports.dctcp"),
    shared("buffer = '100KB', alpha = 0", "queues.kind.alpha: 0", "above 0, up to 1024"),
    shared("buffer = '100KB', alpha = -1", "queues.kind.alpha: -1"),
    shared("buffer = '100KB', alpha = inf", "queues.kind.alpha: "),
    shared("buffer = '100KB', reserve = '101KB'", "queues.kind.reserve: 101KB is above the buffer of 100KB"),
    shared("buffer = '100KB', reserve = '21KB'", "queues.kind.reserve: 21KB for each port of", "at most 100KB in all"),
    shared("buffer = '100KB', min = '1KB'", "queues.kind.min: unknown field"),
    field("queues.priorities=8", "queues.priorities: unknown field"),
    field("queues.kind=priority", "queues.kind.classes: required field is missing"),
    classes("", "queues.kind.classes: 0 classes", "1 to 8"),
    classes(", ".join(["{}"] * 9), "queues.kind.classes: 9 classes", "1 to 8"),
    classes("3", "queues.kind.classes[0]: "),
    classes("{limit = '0 packets'}", "queues.kind.classes[0].limit: 0 packets drops every packet"),
    classes("{limit = '100B'}", "queues.kind.classes[0].limit: 100B is less than a packet of transports.dctcp"),
    classes("{mark = '101 packets'}", "queues.kind.classes[0].mark: 101 packets is above the limit of 100 packets"),
    classes("{limit = '10 packets', mark = '11 packets'}", "queues.kind.classes[0].mark: 11 packets", "at most 10"),
    classes("{weight = 0}", "queues.kind.classes[0].weight: 0", "1 to 1000"),
    classes("{weight = 1001}", "queues.kind.classes[0].weight: 1001", "1 to 1000"),
    classes("{weight = -1}", "queues.kind.classes[0].weight: "),
    classes("{weight = 1.5}", "queues.kind.classes[0].weight: "),
    classes("{weight = 1}, {}", "queues.kind.classes[1].weight: missing after the weight of class 0; set a weight"),
    classes("{min = '1KB'}", "queues.kind.classes[0].min: unknown field"),
    classes("{}, {}", "queues.kind.classes[1]: no transport has this class; remove it or set class = 1 in a transport"),
    classes(
        "{}, {}",
        "transports.dctcp.class: 2 is above the last class of queues.kind, 1",
        "0 to 1",
        also="transports.dctcp.class=2",
    ),
    classes(
        "{}, {}",
        "transports.dctcp.ack_class: 2 is above the last class of queues.kind, 1",
        also="transports.dctcp.ack_class=2",
    ),
    field("transports.dctcp.class=1", "transports.dctcp.class: 1 is not used, because no queue has classes"),
    field("transports.dctcp.ack_class=0", "transports.dctcp.ack_class: 0 is not used"),
    field("transports.dctcp.class=8", "transports.dctcp.class: 8", "0 to 7"),
    field("transports.dctcp.ack_class=256", "transports.dctcp.ack_class: "),
    field("layers.switch-host.queue=wfq", "layers.switch-host.queue: ", "does not exist"),
    field(
        "layers.switch-host.queue={name = 'shared', buffer = '100KB', alpha = 0}", "layers.switch-host.queue.alpha: 0"
    ),
    field(
        "layers.host-switch.queue={name = 'shared', buffer = '100KB'}",
        "layers.host-switch.queue: the ports of hosts have no queue",
    ),
    Row(
        ("run", "incast.toml", "--set", FLOW, "--set", f"queues.kind={RED}", "--out", "out"),
        ('queues.kind: "red" is not supported at level "flow"',),
    ),
    Row(
        (
            "run",
            "incast.toml",
            "--set",
            FLOW,
            "--set",
            "queues.kind={name = 'priority', classes = [{}]}",
            "--out",
            "out",
        ),
        ('queues.kind: "priority" is not supported at level "flow"',),
    ),
    Row(
        ("run", "incast.toml", "--set", "level=linux", "--set", f"queues.kind={RED}", "--out", "out"),
        ('queues.kind: "red" is not supported at level "linux"',),
    ),
    field("hosts=3"),
    field("hosts.qdisc=cable"),
    field("hosts.jitter=-1us"),
    field("hosts.tso=maybe"),
    field("hosts.colour=3", "hosts.colour: unknown field"),
    field("transports=[]"),
    field("transports={}", "traffic[0].transport: the spec has no transports"),
    field("transports.dctcp=3"),
    field("cc=bbr", "incast.toml: cc: unknown field; did you mean transports.dctcp.cc? allowed: name, "),
    field("subflows=8", "incast.toml: subflows: unknown field; did you mean transports.dctcp.subflows? allowed: "),
    field("traffic.flows=40", 'traffic: is a list, which has no field "flows"; set traffic[0].flows'),
    field("transports.dctcp.cc=DCTCP", '"DCTCP" does not exist; did you mean "dctcp"? allowed: '),
    field("topology.kind=fattree", 'topology.kind: "fattree" does not exist; did you mean "fat-tree"? allowed: '),
    field(
        "traffic[0].kind=permutation",
        'traffic[0].kind: "permutation" does not exist; use "bulk" with pairs = "permutation"',
    ),
    field("transports.dctcp.subflow=4", 'subflow: unknown field; did you mean "subflows"? allowed: '),
    field("transports.dctcp.cc=vegas", "transports.dctcp.cc", "vegas", "dctcp"),
    field("transports.dctcp.cc=3"),
    field("transports.dctcp.cc={}", "transports.dctcp.cc.name: required field is missing"),
    field("transports.dctcp.cc.g=2"),
    field("transports.dctcp.cc.g=0"),
    field("transports.dctcp.cc.g=-0.1"),
    field("transports.dctcp.cc.g=many"),
    field("transports.dctcp.cc.cwnd_min=0"),
    field("transports.dctcp.cc.cwnd_min=1.5"),
    field("transports.dctcp.cc.beta=4", "transports.dctcp.cc", "beta", "g"),
    field("transports.dctcp.cc={name = 'reno', cwnd_min = 0}", "transports.dctcp.cc.cwnd_min", "1 to 100"),
    field("transports.dctcp.cc={name = 'uncoupled', weight = 2}", "transports.dctcp.cc.weight", "0.0001 to 1"),
    field("transports.dctcp.cc[0]=4", "transports.dctcp.cc"),
    field("transports.dctcp.subflows=0", "incast.toml: transports.dctcp.subflows: ", "0"),
    field("transports.dctcp.subflows=65"),
    field("transports.dctcp.subflows=1.5", "transports.dctcp.subflows: 1.5; allowed: a whole number, 1 to 64"),
    field("transports.dctcp.subflows=-1", "transports.dctcp.subflows: -1; allowed: a whole number, 1 to 64"),
    field("transports.dctcp.subflows=99999999999", "allowed: a whole number, 1 to 64"),
    field("seed=9223372036854775808", "seed: 9.223372036854776e18; allowed: a whole number, 0 to 9223372036854775807"),
    field("topology.delay=1000000s", "link from h0 to s0: delay 1000000s; allowed: at most 10s"),
    field("transports.dctcp.subflows=many"),
    field("transports.dctcp.paths=shortest", "transports.dctcp.paths", "ecmp"),
    field("transports.dctcp.paths.speed=3", "transports.dctcp.paths"),
    field("transports.dctcp.kind=homa", "transports.dctcp.kind", "does not exist", "tcp"),
    field("transports.dctcp.profile=bsd", "transports.dctcp.profile", "linux", "bsd"),
    field("transports.dctcp.scheduler=random", "transports.dctcp.scheduler", "round-robin"),
    field("transports.dctcp.join_after=3s"),
    field("transports.dctcp.tcp.speed=3", "transports.dctcp.tcp", "speed"),
    field("transports.dctcp.tcp.mss=0B"),
    field("transports.dctcp.tcp.mss=1GB"),
    field("transports.dctcp.tcp.min_rto=0s"),
    field("transports.dctcp.tcp.initial_cwnd=0"),
    field("transports.dctcp.tcp.dupack_threshold=0"),
    field("transports.dctcp.tcp.recovery=magic", "transports.dctcp.tcp.recovery", "rack"),
    field("transports.dctcp.tcp.pacing=3"),
    field("traffic=[]", "traffic"),
    field("traffic=3"),
    field("traffic[0]=3", "traffic[0]"),
    field("traffic[1].flows=4", "traffic[1]: does not exist"),
    field("traffic[-1].flows=4", "does not begin with a field"),
    field("traffic[99999999999999999999].flows=4", "does not begin with a field"),
    field("traffic[0].kind=flood", "traffic[0].kind", "incast"),
    field("traffic[0].transport=sctp", "traffic[0].transport", "dctcp", "sctp"),
    field("traffic[0].to=h77", "traffic[0].to", "h77"),
    field("traffic[0].flows=0"),
    field("traffic[0].flows=-4"),
    field("traffic[0].size=64"),
    field("traffic[0].size=0B"),
    field("traffic[0].size=9999999999TB"),
    field("traffic[0].size={kind = 'normal'}", "traffic[0].size"),
    field("traffic[0].gap=-1us"),
    field("traffic[0].rounds=0"),
    field("traffic[0].colour=red", "traffic[0].colour: unknown field"),
    traffic("kind = 'bulk', from = 'h0', to = 'h0'", "traffic[0]"),
    traffic("kind = 'bulk', from = 'x', to = 'r0'", "traffic[0].from"),
    traffic("kind = 'bulk', from = 0.5, to = 'r0'", "traffic[0].from: 0.5; allowed: hosts: a name, an index"),
    traffic("kind = 'bulk', from = '9..20', to = 'r0'", "traffic[0].from"),
    traffic("kind = 'bulk', from = '3..1', to = 'r0'", "traffic[0].from"),
    traffic("kind = 'poisson', pairs = 'random', rate = 0, size = '1KB'", "traffic[0].rate"),
    traffic("kind = 'poisson', pairs = 'random', rate = -1, size = '1KB'", "traffic[0].rate"),
    traffic("kind = 'poisson', pairs = 'random', rate = 1e300, size = '1KB'", "traffic[0].rate"),
    traffic("kind = 'poisson', pairs = 'random', load = 0, size = '1KB'", "traffic[0].load"),
    traffic("kind = 'poisson', pairs = 'random', load = 3, size = '1KB'", "traffic[0].load"),
    traffic("kind = 'poisson', pairs = 'random', load = 0.5, rate = 9, size = '1KB'", "traffic[0]"),
    traffic("kind = 'poisson', pairs = 'random', size = '1KB'", "traffic[0]"),
    traffic("kind = 'poisson', pairs = 'all', rate = 9, size = '1KB'", "traffic[0].pairs"),
    traffic("kind = 'poisson', pairs = 'random', rate = 9, size = {kind = 'empirical'}", "traffic[0].size"),
    traffic(
        "kind = 'poisson', pairs = 'random', rate = 9, size = {kind = 'empirical', cdf = 'nothing-such'}",
        "traffic[0].size",
    ),
    traffic(
        "kind = 'poisson', pairs = 'random', rate = 9, size = {kind = 'empirical', cdf = 'none.cdf'}",
        "traffic[0].size",
        "none.cdf",
    ),
    traffic(
        "kind = 'poisson', pairs = 'random', rate = 9, size = {kind = 'empirical', cdf = '.'}",
        "traffic[0].size",
    ),
    traffic("kind = 'shuffle', size = '0B'", "traffic[0].size: 0B"),
    traffic("kind = 'shuffle', size = '1MB', count = 0", "traffic[0].count: 0"),
    traffic("kind = 'shuffle', size = '1MB', count = 99", "traffic[0].count: 99; allowed: 1 to "),
    traffic("kind = 'shuffle', size = '1MB', hosts = 'h0'", "traffic[0].hosts: 1 hosts"),
    traffic("kind = 'jobs', servers = 40, request = '2KB', block = '64KB', slots = 1", "traffic[0].servers: 40"),
    field("probes=[{kind = 'speed', at = ['s0->r0']}]", "probes[0].kind"),
    field("probes=[{kind = 'queue', at = ['s0->x']}]", "probes[0].at"),
    field("probes=[{kind = 'queue', at = []}]", "probes[0].at"),
    field("probes=[{kind = 'queue', at = ['s0->r0'], interval = '0s'}]", "probes[0].interval"),
    field("probes=[{kind = 'queue', at = ['s0->r0'], interval = '1s'}]", "longer than the experiment", "at most 50ms"),
    field("probes=[{kind = 'flow', interval = '51ms'}]", "longer than the experiment", "at most 50ms"),
    field("probes=[{kind = 'flow', interval = '0s'}]", "probes[0].interval: 0s", "above 0"),
    field("probes=[{kind = 'flow', flows = [99]}]", "probes[0].flows"),
    field("probes=[{kind = 'flow', flows = '5..2'}]", "probes[0].flows"),
    field("events=[{at = '1s', links = ['s0->x'], state = 'down'}]", "events[0]"),
    field("events=[{at = '1ms', links = ['s0->r0']}]", "events[0]"),
    field("events=[{at = '1ms', links = ['s0->r0'], rate = '0bps'}]", "events[0].rate"),
    field("events=[{links = ['s0->r0'], state = 'down'}]", "events[0]"),
    field("measure={start = '1s', stop = '0s'}", "measure"),
    field("stop={class = 'x', flows = 1}", "stop"),
    field("stop.flows=0", "stop"),
    field("stop={class = 'incast', flows = 1000}", 'class "incast" has 4 flows', "1 to 4"),
    field("stop={class = 'incast', flows = 5}", 'class "incast" has 4 flows', "1 to 4"),
    field("sharing=unfair", "sharing"),
    field("sweep.seeds=0", "sweep.seeds"),
    field("sweep.over=3", "sweep.over"),
    field("seed", 'has no "="'),
    field("duration", 'has no "="'),
    field("=1", "does not begin with a field"),
    field("", 'has no "="'),
    field("a..b=1", "does not begin with a field"),
    field("a[x]=1", "does not begin with a field"),
    field("duration.x=1s", "has no field"),
    field("seed=", "nothing after"),
    field("traffic=[{kind = 1", "traffic"),
    field("a." * 100 + "a=1", "allowed: KEY=VALUE"),
]
