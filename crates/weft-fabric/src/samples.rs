//! Small fabrics of every kind, for tests that build all of them.

/// Topologies with their fields in TOML; at least one for each kind of the registry.
pub const SAMPLES: &[(&str, &str)] = &[
    ("many-to-one", "senders = 3\nrate = \"10Gbps\"\ndelay = \"2us\""),
    (
        "many-to-one",
        "senders = 3\nrate = \"10Gbps\"\ndelay = \"2us\"\nsender_rate = \"1Gbps\"",
    ),
    ("two-bottlenecks", "rate = \"10Gbps\"\ndelay = \"2us\""),
    ("two-paths", "rate = \"10Gbps\"\ndelay = \"2us\""),
    ("fat-tree", "k = 4\nrate = \"10Gbps\"\ndelay = \"2us\""),
    (
        "multi-homed-fat-tree",
        "k = 4\nrate = \"10Gbps\"\ndelay = \"2us\"",
    ),
    (
        "leaf-spine",
        "leaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"10Gbps\"\ndelay = \"2us\"",
    ),
    (
        "vl2",
        "aggregation_ports = 2\nintermediate_ports = 2\nrate = \"10Gbps\"\ndelay = \"2us\"",
    ),
    ("bcube", "n = 2\nk = 1\nrate = \"10Gbps\"\ndelay = \"2us\""),
    (
        "graph",
        "hosts = [\"a\", \"b\"]\nlinks = [{ a = \"a\", b = \"b\" }]\nrate = \"10Gbps\"\ndelay = \"2us\"",
    ),
];
