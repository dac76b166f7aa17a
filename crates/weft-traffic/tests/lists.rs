//! Flows from files and between all pairs of hosts.

use std::collections::HashSet;

use weft_spec::{Size, SpecError, Time, find};
use weft_traffic::{Flow, PatternContext, TRAFFIC};

const HOSTS: [&str; 5] = ["h0", "h1", "h2", "h3", "h4"];

fn flows(kind: &str, fields: &str) -> Result<Vec<Flow>, SpecError> {
    flows_among(&HOSTS, kind, fields)
}

fn flows_among(hosts: &[&str], kind: &str, fields: &str) -> Result<Vec<Flow>, SpecError> {
    let loaded = (find(TRAFFIC, "kind", kind)?.parse)(&fields.parse().unwrap())?;
    loaded.value.flows(&PatternContext::new(hosts, 3, 5, 1))
}

/// Returns the flows of a file with this name extension, or the error with FILE in place of its
/// name.
fn listed(end: &str, text: &str) -> Result<Vec<Flow>, String> {
    listed_among(&HOSTS, end, text)
}

fn listed_among(hosts: &[&str], end: &str, text: &str) -> Result<Vec<Flow>, String> {
    let file = tempfile::Builder::new().suffix(end).tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let name = file.path().display().to_string();
    let flows = flows_among(hosts, "flow-list", &format!("file = {name:?}"));
    flows.map_err(|error| error.to_string().replace(&name, "FILE"))
}

fn fields(flows: &[Flow]) -> Vec<(u32, u32, Option<u64>, u64)> {
    let fields_of = |flow: &Flow| {
        (
            flow.from,
            flow.to,
            flow.size.map(|Size(bytes)| bytes),
            flow.start.0,
        )
    };
    flows.iter().map(fields_of).collect()
}

#[test]
fn a_file_without_an_end_is_refused() {
    let error = flows("flow-list", "file = \"/dev/zero\"").unwrap_err();
    assert_eq!(
        error.to_string(),
        "file: /dev/zero: is too long: more than 134217728 bytes; allowed: a text file of flows"
    );
}

#[test]
fn a_connection_matrix_of_htsim() {
    let text = "Nodes 5\nConnections 3\n0->3 id 1 start 0 size 2000000\n# a comment\n3->1 size 15000 start 7000000\n\n4->0 start 5\n";
    let flows = listed(".cm", text).unwrap();
    let expected = [
        (0, 3, Some(2_000_000), 0),
        (3, 1, Some(15_000), 7_000_000),
        (4, 0, None, 5),
    ];
    assert_eq!(fields(&flows), expected);
    assert!(flows.iter().all(|flow| (flow.transport, flow.traffic) == (3, 5)));
    for (text, said) in [
        (
            "0->9 start 0 size 1",
            "file: FILE: line 1: host 9 does not exist; allowed: ",
        ),
        (
            "0->1 start now",
            "file: FILE: line 1: start \"now\"; allowed: a whole number of picoseconds from 0",
        ),
        (
            "Nodes 5\n0->1 begin 5",
            "file: FILE: line 2: \"begin\"; allowed: start, size, id, prio",
        ),
        (
            "0->1 start 1500.5",
            "file: FILE: line 1: start \"1500.5\"; allowed: a whole number of picoseconds from 0",
        ),
        (
            "0->1 start 1000000000000000001",
            "file: FILE: line 1: start 1000000000000000001; allowed: at most 1000000000000000000 picoseconds",
        ),
        (
            "0->0 size 5",
            "file: FILE: line 1: \"h0\" is both ends; allowed: two hosts",
        ),
        (
            "0-1 size 5",
            "file: FILE: line 1: \"0-1\"; allowed: Nodes, Connections, or FROM->TO",
        ),
        (
            "0->1 size -5",
            "file: FILE: line 1: size \"-5\"; allowed: a whole number above 0, at most 1000000000000, or 0 for a flow that \
             sends until the end",
        ),
        ("Nodes 5", "file: FILE: no flows; allowed: at least one"),
    ] {
        let error = listed(".cm", text).err().unwrap();
        assert!(error.starts_with(said), "{error}");
    }
}

/// htsim reads `start` as a decimal number, and sends without end if the size is 0: the matrices of its
/// examples have `start 0.000000 size 0` in each line.
#[test]
fn a_matrix_as_htsim_writes_it() {
    let text = "Nodes 5\nConnections 3\n0->3 start 0.000000 size 0\n1->3 start 1500.0 size 0.0\n2->3 start 1e6 size 1e5\n";
    let expected = [
        (0, 3, None, 0),
        (1, 3, None, 1_500),
        (2, 3, Some(100_000), 1_000_000),
    ];
    assert_eq!(fields(&listed(".cm", text).unwrap()), expected);
}

#[test]
fn failures_of_htsim_are_named() {
    let failures = ": failures are events of the spec; allowed: Failures 0, and [[events]] in the spec";
    for (line, given, said) in [
        ("Failures 1", "Failures 1", failures),
        (
            "failure switch_type TOR switch_id 1 link_id 2",
            "failure switch_type TOR switch_id 1 link_id 2",
            failures,
        ),
    ] {
        let error = listed(".cm", &format!("Nodes 5\n{line}\n")).unwrap_err();
        assert_eq!(error, format!("file: FILE: line 2: {given}{said}"));
    }
    assert_eq!(
        listed(".cm", "Triggers 0\nFailures 0\n0->1 size 5")
            .unwrap()
            .len(),
        1
    );
}

/// HPCC's program reads the announced number of flows, and nothing behind them.
#[test]
fn a_flow_list_ends_after_the_announced_flows() {
    let text = "2\n2 1 3 100 200000000 2\n3 1 3 100 200000000 2\n4 1 3 100 150000000 2\n\nFirst line: flow #\nsrc0 dst0\n";
    let at = 2_000_000_000_000;
    assert_eq!(
        fields(&listed(".txt", text).unwrap()),
        [(2, 1, Some(200_000_000), at), (3, 1, Some(200_000_000), at)]
    );
    let error = listed(".txt", &text.replacen('2', "5", 1)).unwrap_err();
    assert!(
        error.starts_with("file: FILE: line 6: 3 words; allowed: FROM TO "),
        "{error}"
    );
    let error = listed(".txt", "3\n0 1 3 100 5 0\n").unwrap_err();
    assert_eq!(
        error,
        "file: FILE: line 1: 3 flows are announced, and the file has 1; allowed: at most as many as it has"
    );
    let error = listed(".txt", "num_ranks 4\n").unwrap_err();
    assert_eq!(
        error,
        "file: FILE: line 1: 2 words; allowed: the number of flows, as in HPCC's lists; name the file .cm or .csv if it \
         has another format"
    );
}

/// pandas writes the whole numbers of a column with a missing value as `1000.0`, `numpy.savetxt` as
/// `1.000000000000000000e+03`.
#[test]
fn sizes_are_whole_numbers_however_they_are_written() {
    let flow = |size: &str| listed(".csv", &format!("from,to,size_bytes,start_s\n0,1,{size},0\n"));
    for (written, bytes) in [
        ("1000.0", Some(1_000)),
        ("1e5", Some(100_000)),
        ("1.5E+3", Some(1_500)),
        ("1.000000000000000000e+03", Some(1_000)),
        ("+7", Some(7)),
        ("007", Some(7)),
        ("1e12", Some(1_000_000_000_000)),
        ("", None),
        ("\"\"", None),
    ] {
        assert_eq!(fields(&flow(written).unwrap()), [(0, 1, bytes, 0)], "{written}");
    }
    for wrong in [
        "5.5", "-5", "0", "0.0", "nan", "inf", "1e13", "1e400", "5 KB", "0x10", "1_000",
    ] {
        let said = format!(
            "file: FILE: line 2: size_bytes {wrong:?}; allowed: a whole number above 0, at most 1000000000000, or empty for \
             a flow that sends until the end"
        );
        assert_eq!(flow(wrong).unwrap_err(), said);
    }
    let hosts = listed(".csv", "from,to,size_bytes,start_s\n0.0,1.0,5,0\n").unwrap();
    assert_eq!(fields(&hosts), [(0, 1, Some(5), 0)]);
    let error = listed(".txt", "1\n0 1 3 100 0 0\n").unwrap_err();
    assert_eq!(
        error,
        "file: FILE: line 2: BYTES \"0\"; allowed: a whole number above 0, at most 1000000000000"
    );
}

#[test]
fn other_separators_and_line_ends() {
    for (separator, shown) in [(";", "';'"), ("\t", "'\\t'"), ("|", "'|'")] {
        let error = listed(
            ".csv",
            &format!("from{separator}to{separator}size_bytes{separator}start_s\n"),
        )
        .unwrap_err();
        assert_eq!(
            error,
            format!("file: FILE: line 1: columns separated by {shown}; allowed: commas")
        );
    }
    for end in ["\n", "\r\n", "\r"] {
        let text = format!("\u{feff}from,to,size_bytes,start_s{end}0,1,5,0{end}");
        assert_eq!(fields(&listed(".csv", &text).unwrap()), [(0, 1, Some(5), 0)]);
        let text = format!("\u{feff}2{end}0 1 3 100 5 0{end}0 2 3 100 5 0");
        assert_eq!(listed(".txt", &text).unwrap().len(), 2);
    }
}

#[test]
fn a_flow_list_of_hpcc() {
    let flows = listed(".txt", "2\n0 1 3 100 500000 2.0\n4 2 3 100 1 2.0000015\n").unwrap();
    let at = 2_000_000_000_000;
    assert_eq!(
        fields(&flows),
        [(0, 1, Some(500_000), at), (4, 2, Some(1), at + 1_500_000)]
    );
    let error = listed(".txt", "1\n0 1 500\n").err().unwrap();
    assert_eq!(
        error,
        "file: FILE: line 2: 3 words; allowed: FROM TO PRIORITY PORT BYTES SECONDS"
    );
    let last = listed(".txt", "1\n0 1 3 100 5 1000000\n").unwrap();
    assert_eq!(fields(&last), [(0, 1, Some(5), 1_000_000_000_000_000_000)]);
    for wrong in ["-1", "1000000.1", "nan"] {
        let error = listed(".txt", &format!("1\n0 1 3 100 5 {wrong}")).err().unwrap();
        assert_eq!(
            error,
            format!("file: FILE: line 2: SECONDS {wrong:?}; allowed: a number from 0 to 1000000")
        );
    }
}

#[test]
fn comma_separated_flows() {
    let flows = listed(".csv", "start_s, from,size_bytes,to\n0.001,h3,1000,0\n0, 1,,h2\n").unwrap();
    assert_eq!(
        fields(&flows),
        [(3, 0, Some(1000), Time::from_ms(1).0), (1, 2, None, 0)]
    );
    let error = |text: &str| listed(".csv", text).err().unwrap();
    assert_eq!(
        error("from,to,start_s\n"),
        "file: FILE: line 1: no column size_bytes; allowed: from, to, size_bytes, start_s"
    );
    let few = error("from,to,size_bytes,start_s\n0,1\n");
    assert_eq!(
        few,
        "file: FILE: line 2: 2 values; allowed: as many as the header has"
    );
    let name = error("from,to,size_bytes,start_s\n0,h9,5,0\n");
    assert!(
        name.starts_with("file: FILE: line 2: host h9 does not exist; allowed: ") || name.contains("h9"),
        "{name}"
    );
}

#[test]
fn comma_separated_values_may_be_quoted() {
    let hosts = ["rack 1, host 0", "the \"big\" one", "#3"];
    let listed = |text: &str| listed_among(&hosts, ".csv", text);
    let text = "\"from\",to,\"size_bytes\",start_s # all columns\n\
                \"rack 1, host 0\", \"the \"\"big\"\" one\" ,\"1000\",\"0.001\"\n\
                \"#3\",0,\"\",0 # \"without a size\n";
    assert_eq!(
        fields(&listed(text).unwrap()),
        [(0, 1, Some(1000), Time::from_ms(1).0), (2, 0, None, 0)]
    );
    for wrong in ["\"0", "0\"", "\"0\"1", "0\"1\"", "\"0\" \"1\""] {
        let error = listed(&format!("from,to,size_bytes,start_s\n5,0,0,{wrong}\n")).unwrap_err();
        assert_eq!(
            error,
            format!("file: FILE: line 2: {wrong}; allowed: quotes around a whole value")
        );
    }
}

#[test]
fn hosts_whose_names_are_numbers_go_by_these() {
    let among = |text: &str| listed_among(&["2", "3", "4", "5"], ".cm", text).map(|flows| fields(&flows));
    assert_eq!(among("2->5 size 7").unwrap(), [(0, 3, Some(7), 0)]);
    // A word that is not a name is an index.
    assert_eq!(among("1->0 size 7").unwrap(), [(1, 0, Some(7), 0)]);
    let error = among("2->6 size 7").unwrap_err();
    assert!(
        error.starts_with("file: FILE: line 1: host 6 does not exist; allowed: "),
        "{error}"
    );
}

#[test]
fn as_many_flows_as_are_announced() {
    for (end, text, said) in [
        (
            ".cm",
            "Nodes 5\nConnections 3\n0->1 size 5\n1->2 size 5\n",
            "line 2: 3 flows are announced, and the file has 2; allowed: as many as it has",
        ),
        (
            ".cm",
            "Nodes 5\nConnections 1\n0->1 size 5\n1->2 size 5\n",
            "line 2: 1 flows are announced, and the file has 2; allowed: as many as it has",
        ),
        (
            ".cm",
            "Connections 1\nConnections 1\n0->1 size 5\n",
            "line 2: Connections for the second time; allowed: once",
        ),
        (
            ".txt",
            "# from a trace\n3\n0 1 3 100 5 0\n",
            "line 2: 3 flows are announced, and the file has 1; allowed: at most as many as it has",
        ),
        (".txt", "0\n0 1 3 100 5 0\n", "no flows; allowed: at least one"),
        (
            ".txt",
            "0 1 3 100 5 0\n1\n",
            "line 2: 1 word; allowed: FROM TO PRIORITY PORT BYTES SECONDS",
        ),
    ] {
        let error = listed(end, text).err().unwrap();
        assert_eq!(error, format!("file: FILE: {said}"));
    }
    let flows = listed(".txt", "\n# from a trace\n\n1 # flow\n0 1 3 100 5 0\n").unwrap();
    assert_eq!(fields(&flows), [(0, 1, Some(5), 0)]);
}

#[test]
fn a_connection_matrix_keeps_to_its_nodes_and_words() {
    for (text, said) in [
        (
            "Nodes 3\n0->1 size 5\n3->1 size 5\n",
            "line 3: host 3 with Nodes 3; allowed: hosts below 3",
        ),
        (
            "0->1 size 5\n3->4 size 5\nNodes 4\n",
            "line 2: host 4 with Nodes 4; allowed: hosts below 4",
        ),
        (
            "Nodes 5\nNodes 5\n0->1\n",
            "line 2: Nodes for the second time; allowed: once",
        ),
        (
            "Nodes 5 Connections 9\n0->1\n",
            "line 1: \"Nodes 5 Connections 9\"; allowed: Nodes and a number",
        ),
        (
            "0->1 size 5 start 0 size 6\n",
            "line 1: size for the second time; allowed: once",
        ),
        (
            "0->1 id 1 id 2\n",
            "line 1: id for the second time; allowed: once",
        ),
        (
            "0->1 size 5 start\n",
            "line 1: start without a value; allowed: one",
        ),
        ("0->1 size 5 prio\n", "line 1: prio without a value; allowed: one"),
    ] {
        let error = listed(".cm", text).err().unwrap();
        assert_eq!(error, format!("file: FILE: {said}"));
    }
    // A file may have fewer hosts than the fabric.
    assert_eq!(listed(".cm", "Nodes 2\n0->1\n").unwrap().len(), 1);
}

#[test]
fn a_table_may_begin_with_a_mark_and_comments_and_has_each_column_once() {
    let text = "\u{feff}# exported\n\nfrom,to,size_bytes,start_s # header\n0,1,5,0 # the first\n";
    assert_eq!(fields(&listed(".csv", text).unwrap()), [(0, 1, Some(5), 0)]);
    for (text, said) in [
        (
            "from,to,size_bytes,start_s,to\n0,1,5,0,2\n",
            "line 1: to for the second time; allowed: from, to, size_bytes, start_s, once each",
        ),
        (
            "from,to,size_bytes,start_s\n0,1,5,0,2\n",
            "line 2: 5 values; allowed: as many as the header has",
        ),
        ("# nothing\n", "no flows; allowed: at least one"),
    ] {
        let error = listed(".csv", text).err().unwrap();
        assert_eq!(error, format!("file: FILE: {said}"));
    }
}

#[test]
fn the_end_of_a_name_may_be_in_capitals() {
    assert_eq!(listed(".CM", "0->1 size 5\n").unwrap().len(), 1);
    let table = "from,to,size_bytes,start_s\n0,1,5,0\n";
    assert_eq!(listed(".Csv", table).unwrap().len(), 1);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = flows("flow-list", "file = \"/nowhere.cm\"")
        .err()
        .unwrap()
        .to_string();
    assert!(error.starts_with("file: /nowhere.cm: "), "{error}");
}

#[test]
fn all_to_all_has_every_ordered_pair_once() {
    let all = flows("all-to-all", "size = \"1KB\"").unwrap();
    let pairs: HashSet<_> = all.iter().map(|flow| (flow.from, flow.to)).collect();
    assert_eq!((all.len(), pairs.len()), (20, 20));
    assert!(pairs.iter().all(|(from, to)| from != to));
    let firsts: HashSet<_> = all.chunks(4).map(|of_one| of_one[0].to).collect();
    assert_eq!(firsts.len(), 5, "no two begin with the same host");
    let some = flows("all-to-all", "hosts = [\"h1\", 3]\njitter = \"1ms\"").unwrap();
    assert_eq!(some.len(), 2);
    assert!(some.iter().all(|flow| flow.start <= Time::from_ms(1)));
    for (fields, said) in [
        ("hosts = \"h1\"", "hosts: 1 hosts; allowed: at least 2 hosts"),
        (
            "hosts = [1, 2, 1]",
            "hosts: \"h1\" is given twice; allowed: each host once",
        ),
        ("size = \"0B\"", "size: 0B; allowed: a size above 0"),
    ] {
        let error = flows("all-to-all", fields).err().unwrap().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}
