//! Files that a spec names are relative to the folder of the spec.

use std::fs;

use weft_lab::{Experiment, ReadOptions};

use crate::experiment::{counts, run_on, table};

const SPEC: &str = r#"
    name = "files"
    duration = "1ms"
    topology = { kind = "graph", rate = "10Gbps", delay = "1us", file = "pair.graphml" }
    queues.limit = "100 packets"
    transports.t.cc = "reno"
    traffic = [
        { kind = "flow-list", transport = "t", file = "flows.csv" },
        { kind = "poisson", transport = "t", interval = "1ms", pairs = "random", size = { kind = "empirical", cdf = "sizes.cdf" } },
    ]
"#;

#[test]
fn relative_files_start_at_the_folder_of_the_spec() {
    let folder = tempfile::tempdir().unwrap();
    let graph = r#"<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="s"/>
        <edge source="a" target="s"/><edge source="b" target="s"/></graph></graphml>"#;
    fs::write(folder.path().join("pair.graphml"), graph).unwrap();
    fs::write(
        folder.path().join("flows.csv"),
        "from,to,size_bytes,start_s\n0,1,1234,0\n",
    )
    .unwrap();
    fs::write(folder.path().join("sizes.cdf"), "# size in bytes\n100 0\n200 1\n").unwrap();
    let reading = ReadOptions {
        folder: Some(folder.path()),
        ..ReadOptions::default()
    };
    let experiment = Experiment::read(SPEC, &reading).unwrap();
    // The resolved spec finds the files from any folder.
    let again = Experiment::parse(&experiment.spec().to_string(), &[]).unwrap();
    assert_eq!(again.spec(), experiment.spec());
    let run = run_on(&again, 1);
    assert_eq!(counts(table(&run, "flows"), "size_bytes")[0], 1234);
}
