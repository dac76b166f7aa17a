"""Arguments of commands, files that they read, and places to which they write."""

from __future__ import annotations

from tests.bad_input.row import Row


def command(text: str, *words: str, code: int = 2) -> Row:
    """Arguments without blanks in them."""
    return Row(tuple(text.split()), words, code)


def process(
    *arguments: str | bytes, words: tuple[str, ...], code: int = 2, before: str = "", **environment: str
) -> Row:
    return Row(arguments, words, code, process=True, before=before, environment=environment)


SWEEP = ("sweep", "incast.toml", "--out", "out")
TUNE = ("tune", "incast.toml", "--out", "out")
FCT = ("--minimize", "avg(fct_s) FROM flows")


def sweep(*arguments: str, words: tuple[str, ...], code: int = 2) -> Row:
    return Row((*SWEEP, *arguments), words, code)


def tune(*arguments: str, words: tuple[str, ...], code: int = 2) -> Row:
    return Row((*TUNE, *arguments), words, code)


ARGUMENTS = [
    command("fly", "fly"),
    command("Run incast.toml", "Run"),
    command("--speed", "--speed"),
    command("--json", "--json"),
    command("run", "SPEC.toml"),
    command("run incast.toml incast.toml", "unexpected"),
    command("run incast.toml --speed", "--speed"),
    command("run incast.toml --set", "--set"),
    command("run incast.toml --seed", "--seed"),
    command("run incast.toml --seed x", "--seed", "'x'"),
    command("run incast.toml --seed -1", "--seed"),
    command("run incast.toml --seed 1.5", "--seed"),
    command("run incast.toml --seed 1_000", "--seed"),
    command("run incast.toml --seed 9223372036854775808", "--seed"),
    command(f"run incast.toml --seed {'9' * 5000}", "--seed", "allowed: a whole number"),
    command("run incast.toml --seed \u0663", "--seed"),
    command("run incast.toml --threads 0", "--threads", "'0'", "1 to 1024 or auto"),
    command("run incast.toml --threads two", "--threads", "two"),
    command("run incast.toml --threads -1", "--threads"),
    command("run incast.toml --threads 1025", "--threads", "1 to 1024 or auto"),
    command(f"run incast.toml --threads {'9' * 30}", "--threads"),
    command("run incast.toml --threads AUTO", "--threads", "auto"),
    command("sweep", "SPEC.toml"),
    command("sweep incast.toml --seeds 0", "--seeds", "1 to 1000"),
    command("sweep incast.toml --seeds 1000000000", "--seeds", "1 to 1000"),
    command("sweep incast.toml --workers 0", "--workers"),
    command("sweep incast.toml --workers many", "--workers"),
    command("sweep incast.toml --workers 1025", "--workers"),
    command("tune", "SPEC.toml"),
    command("report", "RUN_OR_SWEEP"),
    command("trace", "SPEC.toml"),
    command("trace incast.toml --out", "--out"),
    command("list all", "all"),
    command("list --text", "--text"),
    command("schema all", "all"),
    command("doctor now", "now"),
    command("completion", "bash|zsh|fish"),
    command("completion tcsh", "tcsh", "bash"),
    command("completion bash zsh", "zsh"),
    command("reproduce", "weft reproduce --list"),
    command("reproduce amp/fig99", "amp/fig99", "amp/fig02"),
    command("reproduce amp/", "amp/"),
    command("reproduce AMP", "weft: figure 'AMP' does not exist; did you mean amp? `weft reproduce --list` "),
    command("reproduce fig08", "'fig08' does not exist; did you mean amp/fig08, mptcp-dc/fig08, amp-fg/fig08? `weft"),
    command("reproduce amp/fig8", "did you mean amp/fig08? `weft"),
    command("reproduce apm/Fig08", "did you mean amp/fig08? `weft"),
    command("reproduce MPTCP-DC", "did you mean mptcp-dc? `weft"),
    command("reproduce zzz", "'zzz' does not exist; allowed: amp, ", ", amp/fig02, "),
    command("reproduce ../amp", "../amp"),
    command("reproduce amp/fig02 --seeds 0", "--seeds"),
    command("reproduce amp/fig02 --seeds many", "--seeds"),
    command("reproduce amp/fig02 --seeds 1000000000", "--seeds", "1 to 1000"),
    command("reproduce amp/fig02 --slow", "--slow"),
    command("demo now", "now"),
    command("demo --seeds 3", "--seeds"),
    command("bench warp", "warp", "permutation-128"),
    command("bench syndrome warp", "warp"),
    command("bench --repeat 0", "--repeat"),
    command("bench --repeat 1000000000", "--repeat", "1 to 1000"),
    command("bench --threads 9999", "--threads", "1 to 1024"),
    command("bench --threads auto", "--threads"),
    sweep("--over", "", words=("has no values",)),
    sweep("--over", "traffic[0].flows", words=("has no values",)),
    sweep("--over", "traffic[0].flows=", words=("has no values",)),
    sweep("--over", "=1,2", words=("has no values",)),
    sweep("--over", "traffic[0].flows=1,,2", words=("an empty value",)),
    sweep("--over", "traffic[0].flows=1,2,1", words=("has '1' twice",)),
    sweep("--over", "traffic[0].flows=40:10:10", words=("empty range",)),
    sweep("--over", "traffic[0].flows=1:2:0", words=("empty range",)),
    sweep("--over", "traffic[0].flows=1:999999999999999999:1", words=("at most 100,000",)),
    sweep("--over", "traffic[0].flows=1,x", words=("traffic[0].flows",)),
    sweep("--over", "traffic[0].flows=1:3,0", words=("traffic[0].flows",)),
    sweep("--over", "traffic[9].flows=1,2", words=("traffic[9]",)),
    sweep("--over", "topology.nobody=1,2", words=("topology.nobody",)),
    sweep("--over", "transports.dctcp.cc=amp,vegas", words=("vegas",)),
    sweep("--over", "transports.dctcp.cc.g=0.1,2", words=("transports.dctcp.cc.g",)),
    sweep("--over", "seed=1,2", words=("--seeds",)),
    sweep("--over", "sweep.seeds=1,2", words=("a field of the experiment",)),
    sweep("--over", "duration=1ms,2ms", "--over", "duration=3ms", words=("given twice",)),
    sweep("--over", "traffic[0].rounds=1:1000", "--seeds", "1000", words=("1,000,000 runs",)),
    sweep("--set", "seed=9223372036854775807", "--seeds", "2", words=("seed",)),
    sweep("--set", "duration=0s", words=("duration",)),
    sweep("--set", "sweep.over=['x']", words=("sweep.over[0]: 'x': has no values",)),
    sweep("--set", "sweep.runs=3", words=("sweep.runs",)),
    sweep("--set", "level=linux", "--cluster", "tcp://h:1", words=("--cluster",)),
    sweep("--cluster", "host", words=("tcp://host:8786",)),
    sweep("--cluster", "tcp://host", words=("tcp://host:8786",)),
    sweep("--cluster", "http://host:1", words=("tcp://host:8786",)),
    sweep("--cluster", "", words=("tcp://host:8786",)),
    sweep("--cluster", "tcp://h:1", "--workers", "2", words=("remove one of the two",)),
    sweep("--cluster", "slurm", words=("--workers N is missing",)),
    sweep("--cluster", "slurm:", "--workers", "2", words=("'' is not an option",)),
    sweep("--cluster", "slurm:nodes=3", "--workers", "2", words=("'nodes' is not an option",)),
    sweep("--cluster", "slurm:cores=0", "--workers", "2", words=("cores is '0'",)),
    sweep("--cluster", "slurm:memory=4", "--workers", "2", words=("memory is '4'; allowed: such as 4GB",)),
    sweep("--cluster", "slurm:walltime=2h", "--workers", "2", words=("walltime is '2h'",)),
    sweep("--cluster", "slurm:queue=$(id)", "--workers", "2", words=("queue is '$(id)'",)),
    tune(words=("--minimize, --maximize: none given",)),
    tune(*FCT, words=("0 fields to tune",)),
    tune(*FCT, "--maximize", "1", words=("both given",)),
    tune(*FCT, "--over", "duration", words=("has no range",)),
    tune(*FCT, "--over", "duration=1ms", words=("neither a range",)),
    tune(*FCT, "--over", "duration=9ms:1ms", words=("empty range",)),
    tune(*FCT, "--over", "duration=1us:1ms", words=("has two units",)),
    tune(*FCT, "--over", "duration=0ms:1ms:log", words=("a log range must start above 0",)),
    tune(*FCT, "--over", "duration=-2ms:-1ms", words=("duration",)),
    tune(*FCT, "--over", "seed=1:9", words=("cannot be tuned",)),
    tune(*FCT, "--over", "topology.nobody=1:9", words=("topology.nobody",)),
    tune(*FCT, "--over", "transports.nobody.cc", words=("has no range",)),
    tune(*FCT, "--over", "transports.dctcp.cc.beta", words=("dctcp has no 'beta'",)),
    tune(*FCT, "--over", "transports.dctcp.cc.g=0.1:2", words=("transports.dctcp.cc.g",)),
    tune("--minimize", "", "--over", "duration=1ms:9ms", words=("allowed: one number in SQL",)),
    tune("--minimize", "avg(fct_s FROM flows", "--over", "duration=1ms:9ms", words=("allowed: one number in SQL",)),
    tune("--minimize", "DROP TABLE flows", "--over", "duration=1ms:9ms", words=("allowed: one number in SQL",)),
    tune("--minimize", "1", "--over", "duration=1ms:9ms", words=("reads no table of a run",)),
    tune("--minimize", "count(*) FROM (SELECT 1)", "--over", "duration=1ms:9ms", words=("reads no table of a run",)),
    tune("--minimize", "avg(x) FROM nowhere", "--over", "duration=1ms:9ms", words=("nowhere",)),
    tune(*FCT, "--over", "duration=1ms:9ms", "--trials", "0", words=("1 to 10000",)),
    tune(*FCT, "--over", "duration=1ms:9ms", "--trials", "1000000000", words=("1 to 10000",)),
    tune(*FCT, "--over", "duration=1ms:9ms", "--seeds", "0", words=("1 to 1000",)),
    tune(*FCT, "--over", "duration=1ms:9ms", "--batch-size", "0", words=("--batch-size",)),
]

FILES = [
    command("run none.toml", "none.toml: cannot be read: No such file"),
    command("run .", "cannot be read: Is a directory"),
    command("run incast.toml/x", "cannot be read: Not a directory"),
    command(f"run {'x' * 1000}", "cannot be read: File name too long"),
    command("run /dev/null", "missing"),
    command("run /proc/self/mem", "/proc/self/mem: cannot be read"),
    Row(("run", ""), ("cannot be read",)),
    Row(
        ("run", "loop"),
        ("cannot be read: Too many levels",),
        damage=lambda folder: (folder / "loop").symlink_to("loop"),
    ),
    Row(
        ("run", "gone"),
        ("cannot be read: No such file",),
        damage=lambda folder: (folder / "gone").symlink_to("nowhere"),
    ),
    command("sweep none.toml", "none.toml: cannot be read: No such file"),
    command("sweep .", "cannot be read: Is a directory"),
    Row(("tune", "none.toml", *FCT, "--over", "a=1:2"), ("none.toml: cannot be read: No such file",)),
    command("trace none.toml", "none.toml: cannot be read: No such file"),
    command("trace incast.toml", "no links to record"),
    command("trace incast.toml --at nowhere", "nowhere"),
    command("trace incast.toml --at s0->nowhere", "nowhere"),
    command("trace incast.toml --at s0 --set duration=0s", "duration"),
    command("trace . --at s0", "a run folder, whose packets are recorded"),
    command("trace .", "not a run folder"),
    process("run", "/dev/zero", words=("/dev/zero: too long", "allowed: at most 4 MiB")),
    process("run", "incast.toml", "--set", b"seed=\xff", words=("not UTF-8 text",)),
    process("run", b"\xff.toml", words=("cannot be read: No such file",)),
    process("sweep", "incast.toml", "--over", b"name=\xff,a", words=("not UTF-8 text",)),
    process("tune", "incast.toml", *FCT, "--over", b"name=\xff,a", words=("not UTF-8 text",)),
    process("tune", "incast.toml", "--minimize", b"\xff", "--over", "duration=1ms:2ms", words=("--minimize",)),
    process("reproduce", b"\xff", words=("does not exist",)),
    process("report", b"\xff", words=("not a run folder",)),
]

OUT = "exists already; use a new folder"

OUTPUTS = [
    command("run incast.toml --out .", OUT),
    command("run incast.toml --out incast.toml", OUT),
    command("run incast.toml --out incast.toml/x", "cannot create"),
    command(f"run incast.toml --out {'x' * 300}", "cannot create", "File name too long"),
    command("run incast.toml --out /proc/x/y", "/proc"),
    command("run incast.toml --out /dev/null/x", "cannot create"),
    Row(("run", "incast.toml", "--out", ""), ("--out",)),
    Row(("run", "incast.toml", "--out", "gone"), (OUT,), damage=lambda folder: (folder / "gone").symlink_to("nowhere")),
    command("run incast.toml --out -", "--out -: results are not written to standard output; use the name of"),
    command("sweep incast.toml --out -", "--out -: results are not written to standard output"),
    command("reproduce amp/fig02 --out -", "--out -: results are not written to standard output"),
    command("trace incast.toml --at s0 --out -", "--out -: results are not written to standard output"),
    Row(("tune", "incast.toml", *FCT, "--over", "duration=1ms:9ms", "--out", "-"), ("--out -: results are not",)),
    command("demo --out .", OUT),
    command("demo --out /dev/null/x", "cannot create"),
    command("reproduce amp/fig02 --out .", OUT),
    command("reproduce amp/fig02 --out incast.toml/x", "cannot create"),
    command("sweep incast.toml --out incast.toml", "cannot create"),
    command("sweep incast.toml --out .", "not the folder of a sweep"),
    command("sweep incast.toml --out /dev/null/x", "cannot create"),
    command(f"sweep incast.toml --out {'x' * 300}", "cannot create: File name too long"),
    Row(("tune", "incast.toml", *FCT, "--over", "duration=1ms:9ms", "--out", "."), ("not the folder of a tune",)),
    Row(("tune", "incast.toml", *FCT, "--over", "duration=1ms:9ms", "--out", "incast.toml"), ("cannot create",)),
    command("trace incast.toml --at s0 --out incast.toml", "exists already; use a new file"),
    command("trace incast.toml --at s0 --out none/x", "cannot create"),
    command("trace incast.toml --at s0 --out .", "exists already"),
    Row(("trace", "incast.toml", "--at", "s0", "--out", ""), ("--out",)),
    process("run", "incast.toml", "--out", "out", before="ulimit -f 0", words=("out: cannot be written",)),
    process("demo", "--out", "/proc/x", words=("/proc",)),
    process("reproduce", "amp/fig02", "--out", "/sys/x", words=("/sys",)),
    process("sweep", "incast.toml", "--out", "/proc/x", words=("/proc",)),
    process("trace", "incast.toml", "--at", "s0", "--out", "/proc/x", words=("/proc",)),
    process("list", before="exec >&-", words=("standard output: closed",)),
    process("list", before="exec >/dev/full", words=("standard output: cannot be written: No space left",)),
    process("schema", before="exec >/dev/full", words=("standard output: cannot be written: No space left",)),
    process("--help", before="exec >/dev/full", words=("standard output: cannot be written: No space left",)),
    process("--version", before="exec >&-", words=("standard output: closed",)),
    process("doctor", before="exec >/dev/full", words=("standard output: cannot be written: No space left",)),
    process("completion", "bash", before="exec >/dev/full", words=("standard output: cannot be written",)),
    process("reproduce", "--list", before="exec >/dev/full", words=("standard output: cannot be written",)),
]

FAT_TREE = 'topology={kind = "fat-tree", k = 254, rate = "1Gbps", delay = "1us"}'
LEAF_SPINE = (
    'topology={kind = "leaf-spine", leaves = 4096, spines = 4096, hosts_per_leaf = 4096, rate = "1Gbps", delay = "1us"}'
)
VL2 = (
    'topology={kind = "vl2", aggregation_ports = 256, intermediate_ports = 256, hosts_per_tor = 256, '
    'rate = "1Gbps", delay = "1us"}'
)
POISSON = 'traffic=[{kind="poisson", transport="dctcp", from="0..4", to="r0", pairs="random", rate=9, size=%s}]'
FLOWS = ("--set", "transports.dctcp.subflows=64", "--set", "traffic[0].flows=10000000")
GAP = ("--set", "traffic[0].gap=0s")
HEAVY = ("topology: needs about", "GB is free", "--force")


SIZES = [
    process("run", "incast.toml", "--set", POISSON % "{kind = 'empirical', cdf = '/dev/zero'}", words=("too long",)),
    process("run", "incast.toml", "--set", FAT_TREE, words=HEAVY),
    process("run", "incast.toml", "--set", LEAF_SPINE, words=HEAVY),
    process("run", "incast.toml", "--set", LEAF_SPINE, "--set", "level=flow", words=HEAVY),
    process("run", "incast.toml", "--set", LEAF_SPINE, "--set", "level=linux", words=HEAVY),
    process("run", "incast.toml", "--set", VL2, words=HEAVY),
    process("sweep", "incast.toml", "--set", FAT_TREE, words=HEAVY),
    process("tune", "incast.toml", "--set", FAT_TREE, *FCT, "--over", "duration=1ms:2ms", words=HEAVY),
    process("trace", "incast.toml", "--set", FAT_TREE, "--at", "h0", words=HEAVY),
    process("run", "incast.toml", *FLOWS, *GAP, words=("needs about", "GB is free", "--force")),
    process("run", "incast.toml", "--set", "topology.senders=4294967295", words=("topology",)),
    process("run", "incast.toml", "--set", "traffic[0].rounds=4294967295", words=("traffic[0]",)),
    process("sweep", "incast.toml", "--over", "traffic[0].flows=1:100000", "--seeds", "2", words=("200,000 runs",)),
    process("run", "incast.toml", *["--set", "seed=1"] * 20_000, "--set", "seed=x", words=("seed",)),
]

# Some of the above once more, as a shell would run them.
PROCESSES = [
    process("fly", words=("fly",)),
    process("run", words=("SPEC.toml",)),
    process("run", "incast.toml", "--threads", "many", words=("--threads", "auto")),
    process("run", "incast.toml", "--set", "duration=0s", "--out", "out", words=("duration",)),
    process("sweep", "incast.toml", "--over", "a=1,2", "--out", "out", words=("a: unknown field",)),
    process("tune", "incast.toml", "--over", "a=1:2", *FCT, "--out", "out", words=("a: unknown field",)),
    process("report", "none", words=("none: not a run folder",)),
    process("trace", "none.toml", words=("none.toml: cannot be read",)),
    process("reproduce", "amp/fig99", words=("amp/fig99",)),
    process("bench", "warp", words=("warp",)),
    process("sweep", "incast.toml", "--cluster", "tcp://127.0.0.1:x", words=("tcp://host:8786",)),
    process("completion", "tcsh", words=("tcsh",)),
    process("list", "all", words=("all",)),
]

ENVIRONMENT = [
    process("run", "none.toml", HOME="", words=("none.toml",)),
    process("run", "none.toml", HOME="/nowhere", XDG_CACHE_HOME="/nowhere", words=("none.toml",)),
    process("run", "none.toml", TMPDIR="/nowhere", words=("none.toml",)),
    process("run", "none.toml", LC_ALL="C", PYTHONUTF8="0", words=("none.toml",)),
    process("run", "n\u00f6ne.toml", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", words=("cannot be read",)),
    process("run", "n\u00f6ne.toml", PYTHONIOENCODING="ascii", words=("cannot be read",)),
    process("list", "--json", PYTHONIOENCODING="ascii", before="exec >/dev/full", words=("standard output",)),
    process("run", "none.toml", TERM="nothing", COLUMNS="0", LINES="0", words=("none.toml",)),
    process("run", "none.toml", COLUMNS="wide", words=("none.toml",)),
    process("run", "none.toml", NO_COLOR="1", FORCE_COLOR="1", words=("none.toml",)),
    process("run", "none.toml", POLARS_MAX_THREADS="0", words=("none.toml",)),
    process("run", "none.toml", before="exec <&-", words=("none.toml",)),
    process("run", "none.toml", before="exec >&-", words=("none.toml",)),
    process("run", "none.toml", before="ulimit -n 16", words=("none.toml",)),
    process("run", "../none.toml", before='cd sub; rmdir "$PWD"', words=("none.toml",)),
    process("run", "none.toml", "--out", "out", before='cd sub; rmdir "$PWD"', words=("none.toml",)),
    process("sweep", "none.toml", before='cd sub; rmdir "$PWD"', words=("none.toml",)),
    process("report", "none", before='cd sub; rmdir "$PWD"', words=("none",)),
    process("demo", "--out", "out", before='cd sub; rmdir "$PWD"', words=("the working directory",)),
    process("demo", before='cd sub; rmdir "$PWD"', words=("the working directory",)),
    process("trace", "none.toml", "--out", "x", before='cd sub; rmdir "$PWD"', words=("x",)),
]
