//! Probes of queues: links by the names of their ends.

use crate::experiment::{indices, parse, run_on, table, texts};

/// Three cables connect the switches.
#[test]
fn a_link_by_its_ends_is_each_of_parallel_cables() {
    let spec = r#"
        name = "cables"
        duration = "1ms"
        topology = { kind = "graph", rate = "1Gbps", delay = "5us", hosts = ["a", "b"], switches = ["s", "t"], links = [
            { a = "a", b = "s" }, { a = "s", b = "t" }, { a = "t", b = "b" }, { a = "s", b = "t" }, { a = "s", b = "t" },
        ] }
        queues = { limit = "100 packets" }
        transports.dctcp = { cc = "dctcp" }
        traffic = [{ kind = "bulk", transport = "dctcp", pairs = [["a", "b"]] }]
        probes = [{ kind = "queue", at = ["s->t"] }]
    "#;
    let run = run_on(&parse(spec, &[] as &[&str]), 1);
    let queues = table(&run, "queues");
    let ends: Vec<_> = texts(queues, "from")
        .into_iter()
        .zip(texts(queues, "to"))
        .collect();
    assert_eq!(ends, vec![("s".to_owned(), "t".to_owned()); 3]);
    let mut links = indices(queues, "link").to_vec();
    links.dedup();
    assert_eq!(links.len(), 3);
}
