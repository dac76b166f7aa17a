//! Whole runs: the contents of results, which depend only on the spec and the seed.

use std::ops::ControlFlow;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use weft_lab::{Error, Experiment, RunOptions};

use crate::experiment::{counts, numbers, optional_indices, parse, run_on, table, texts};

const INCAST: &str = r#"
    name = "incast"
    duration = "30ms"
    [topology]
    kind = "many-to-one"
    senders = 10
    rate = "10Gbps"
    delay = "2us"
    [queues]
    limit = "100 packets"
    mark = "10 packets"
    [transports.dctcp]
    cc = "dctcp"
    profile = "amp-2019"
    [transports.xmp]
    cc = "xmp"
    subflows = 2
    [[traffic]]
    kind = "incast"
    transport = "dctcp"
    flows = 10
    size = "128KB"
    gap = "50us"
    interval = "10ms"
    rounds = 2
    [[traffic]]
    kind = "bulk"
    transport = "xmp"
    from = "h3"
    to = "r0"
    stop = "15ms"
    [[probes]]
    kind = "queue"
    at = ["s0->r0", "host-switch"]
    interval = "100us"
    [[probes]]
    kind = "flow"
    traffic = "bulk"
    interval = "1ms"
"#;

fn experiment(overrides: &[&str]) -> Experiment {
    parse(INCAST, overrides)
}

#[test]
fn flows_have_their_names_times_and_goodput() {
    // Long enough for a timeout.
    let run = run_on(&experiment(&["duration=1s"]), 1);
    let flows = table(&run, "flows");
    assert_eq!(flows.num_rows(), 21);
    assert_eq!(texts(flows, "traffic")[..20], ["incast"; 20]);
    assert_eq!(
        (
            texts(flows, "traffic")[20].as_str(),
            texts(flows, "transport")[20].as_str()
        ),
        ("bulk", "xmp")
    );
    assert_eq!(
        (texts(flows, "from")[20].as_str(), texts(flows, "to")[20].as_str()),
        ("h3", "r0")
    );
    assert_eq!(optional_indices(flows, "round")[9..11], [Some(0), Some(1)]);
    assert_eq!(optional_indices(flows, "subflows")[19..], [Some(1), Some(2)]);
    let (starts, finishes) = (numbers(flows, "start_s"), numbers(flows, "finish_s"));
    let acked = numbers(flows, "acked_s");
    assert!((starts[11].unwrap() - 0.010_05).abs() < 1e-12);
    assert_eq!(
        (numbers(flows, "stop_s")[0], numbers(flows, "stop_s")[20]),
        (None, Some(0.015))
    );
    let sizes = flows
        .column_by_name("size_bytes")
        .unwrap()
        .as_primitive::<UInt64Type>();
    assert!(sizes.value(0) == 128_000 && sizes.is_null(20));
    let (established, completion) = (numbers(flows, "established_s"), numbers(flows, "fct_s"));
    let (delivered, goodput) = (counts(flows, "delivered_bytes"), numbers(flows, "goodput_bps"));
    for i in 0..21 {
        let (start, finish) = (starts[i].unwrap(), finishes[i].unwrap());
        // amp-2019 counts from the SYN/ACK, linux from the SYN.
        let from = if i < 20 { established[i].unwrap() } else { start };
        assert!((completion[i].unwrap() - (finish - from)).abs() < 1e-12);
        assert!(established[i].unwrap() > start && finish > established[i].unwrap());
        // The sender learns of the completion later, by the delay of the reverse path at least: two
        // links of 2 us.
        assert!(acked[i].unwrap() - finish > 4e-6, "{i}");
        let expected = 8.0 * delivered[i] as f64 / (finish - start);
        assert!((goodput[i].unwrap() / expected - 1.0).abs() < 1e-9);
        assert!(i == 20 || delivered[i] == 128_000);
    }
    assert!(
        finishes[20].unwrap() > 0.015,
        "what was produced before the stop is still delivered"
    );
}

#[test]
fn subflows_links_and_counters_agree() {
    let run = run_on(&experiment(&[]), 1);
    let (flows, subflows, links) = (
        table(&run, "flows"),
        table(&run, "subflows"),
        table(&run, "links"),
    );
    assert_eq!(subflows.num_rows(), 22);
    assert_eq!(optional_indices(subflows, "subflow")[20..], [Some(0), Some(1)]);
    for column in [
        "packets_sent",
        "retransmitted",
        "packets_dropped",
        "marked",
        "timeouts",
    ] {
        let [whole, parts] = [flows, subflows].map(|table| counts(table, column).iter().sum::<u64>());
        assert_eq!(whole, parts, "{column}");
    }
    assert_eq!(links.num_rows(), 22);
    let hops: u64 = counts(links, "delivered_packets").iter().sum();
    let counters = &run.manifest["counters"];
    assert_eq!(counters["packet_hops"], hops);
    assert_eq!(counters["drops"], counts(links, "drops").iter().sum::<u64>());
    assert_eq!(counters["losses"], 0);
    assert_eq!(counters["marks"], counts(links, "marks").iter().sum::<u64>());
    assert!(
        counters["marks"].as_u64().unwrap() > 0,
        "ten flows at once are marked"
    );
    let [packets, drops] = ["packets", "drops"].map(|column| counts(links, column));
    for ((packets, drops), loss) in packets.iter().zip(drops).zip(numbers(links, "loss")) {
        let came = packets + drops;
        assert_eq!(loss, (came > 0).then(|| *drops as f64 / came as f64));
    }
    let use_of = numbers(links, "utilisation");
    assert!(
        use_of.iter().all(|u| (0.0..=1.0).contains(&u.unwrap())),
        "{use_of:?}"
    );
    let bottleneck = texts(links, "to").iter().position(|to| to == "r0").unwrap();
    let received: u64 = counts(flows, "delivered_bytes").iter().sum();
    let goodput = 8.0 * received as f64 / (10e9 * 0.030);
    let used = use_of[bottleneck].unwrap();
    assert!(
        used > goodput && used < 1.08 * goodput,
        "{used}: goodput {goodput} and headers"
    );
}

#[test]
fn probed_queues_have_a_distribution_of_all_the_time() {
    let run = run_on(&experiment(&[]), 1);
    let queues = table(&run, "queues");
    assert_eq!(queues.num_rows(), 12, "the bottleneck and the hosts' own links");
    let at = texts(queues, "from")
        .iter()
        .position(|from| from == "s0")
        .unwrap();
    let times = queues
        .column_by_name("time_at_length_s")
        .unwrap()
        .as_list::<i32>();
    for row in 0..queues.num_rows() {
        let total: f64 = times
            .value(row)
            .as_primitive::<Float64Type>()
            .values()
            .iter()
            .sum();
        assert!((total - 0.030).abs() < 1e-9, "{total}");
    }
    let at_length = times.value(at);
    let at_length = at_length.as_primitive::<Float64Type>().values();
    let mean: f64 = at_length
        .iter()
        .enumerate()
        .map(|(n, time)| n as f64 * time)
        .sum::<f64>()
        / 0.030;
    assert!((numbers(queues, "mean_packets")[at].unwrap() - mean).abs() < 1e-9 && mean > 0.1);
    let max = optional_indices(queues, "max_packets")[at].unwrap() as usize;
    assert!(at_length[max] > 0.0 && at_length[max + 1..].iter().all(|&time| time == 0.0) && max > 10);
    assert!(counts(queues, "marks")[at] > 0);
}

#[test]
fn traces_sample_queues_and_windows() {
    let run = run_on(&experiment(&[]), 1);
    let traces = table(&run, "traces");
    let times = numbers(traces, "time_s");
    assert!(times.is_sorted());
    let (link, flow) = (optional_indices(traces, "link"), optional_indices(traces, "flow"));
    assert!(
        link.iter()
            .zip(&flow)
            .all(|(link, flow)| link.is_some() != flow.is_some())
    );
    // Every 100 us in 30 ms, without the end, on 12 queues.
    assert_eq!(link.iter().flatten().count(), 299 * 12);
    let links = table(&run, "links");
    for counter in ["marks", "drops"] {
        let so_far = traces
            .column_by_name(counter)
            .unwrap()
            .as_primitive::<UInt64Type>();
        let mut last = vec![0; links.num_rows()];
        for (link, count) in link.iter().zip(so_far) {
            assert_eq!(link.is_some(), count.is_some());
            if let (Some(link), Some(count)) = (link, count) {
                assert!(count >= last[*link as usize], "{counter} of link {link}");
                last[*link as usize] = count;
            }
        }
        let total = counts(links, counter);
        assert!(last.iter().zip(total).all(|(sampled, total)| sampled <= total));
        assert!(last.iter().sum::<u64>() > 0 || total.iter().sum::<u64>() == 0);
    }
    let windows = numbers(traces, "cwnd_packets");
    let subflow = optional_indices(traces, "subflow");
    assert!(
        windows
            .iter()
            .zip(&flow)
            .all(|(cwnd, flow)| cwnd.is_some() == flow.is_some())
    );
    assert!(flow.iter().flatten().all(|&flow| flow == 20));
    assert!(subflow.contains(&Some(0)) && subflow.contains(&Some(1)));
    assert!(windows.iter().flatten().all(|&cwnd| cwnd >= 1.0));
}

#[test]
fn threads_and_slices_and_progress_change_nothing() {
    let experiment = experiment(&[]);
    let once = run_on(&experiment, 1);
    for threads in 1..=4 {
        let again = run_on(&experiment, threads);
        assert_eq!(once.tables, again.tables, "{threads} threads");
        assert_eq!(once.manifest["trace_hash"], again.manifest["trace_hash"]);
        assert_eq!(
            once.manifest["counters"]["packet_hops"],
            again.manifest["counters"]["packet_hops"]
        );
    }
    assert!(once.manifest["trace_hash"].as_str().unwrap().len() == 16);
}

#[test]
fn the_seed_changes_what_is_random_only() {
    let hash = |overrides: &[&str]| {
        let still = [&["hosts.jitter=0s", "hosts.clock_ppm=0"], overrides].concat();
        run_on(&experiment(&still), 1).manifest["trace_hash"].clone()
    };
    // A single flow: no path to draw and no tie to break.
    let alone = r#"traffic=[{kind="bulk", transport="dctcp", from="h3", to="r0"}]"#;
    assert_eq!(
        hash(&["seed=1", alone]),
        hash(&["seed=2", alone]),
        "nothing here is random"
    );
    assert_ne!(
        hash(&["seed=1", "traffic[0].jitter=10us"]),
        hash(&["seed=2", "traffic[0].jitter=10us"])
    );
}

#[test]
fn the_manifest_runs_again() {
    let first = run_on(
        &experiment(&[
            "traffic[0].flows=7",
            "transports.xmp.cc={name = \"xmp\", beta = 5}",
        ]),
        1,
    );
    let spec = first.manifest["spec"].to_string();
    let again = Experiment::parse(&spec, &[]).unwrap();
    assert_eq!(
        *again.spec(),
        first.manifest["spec"],
        "a resolved spec resolves to itself"
    );
    assert_eq!(run_on(&again, 1).tables, first.tables);
}

#[test]
fn a_stopped_run_yields_what_it_has() {
    let long = experiment(&[
        "duration=1000s",
        "traffic=[{kind = \"bulk\", transport = \"dctcp\", from = 0, to = \"r0\"}]",
        "probes=[]",
    ]);
    let mut reports = Vec::new();
    let stopped = long
        .run(RunOptions::default(), |progress| {
            reports.push(*progress);
            if reports.len() == 3 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    assert_eq!(stopped.manifest["partial"], true);
    let end = stopped.manifest["end_s"].as_f64().unwrap();
    assert!((end - reports[2].simulated.seconds()).abs() < 1e-9 && end < 1000.0);
    assert!(reports.is_sorted_by(|a, b| a.fraction < b.fraction && a.packet_hops < b.packet_hops));
    assert!(counts(table(&stopped, "flows"), "delivered_bytes")[0] > 0);
    assert_eq!(numbers(table(&stopped, "flows"), "fct_s"), [None]);

    let mut fractions = Vec::new();
    let whole = experiment(&[]).run(RunOptions::default(), |progress| {
        fractions.push(progress.fraction);
        ControlFlow::Continue(())
    });
    assert_eq!(
        (whole.unwrap().manifest["partial"].as_bool(), fractions.last()),
        (Some(false), Some(&1.0))
    );
}

#[test]
fn two_idle_paths_carry_two_subflows() {
    let text = r#"
        name = "two paths"
        duration = "50ms"
        topology = { kind = "two-bottlenecks", rate = "1Gbps", delay = "10us" }
        queues = { limit = "100 packets", mark = "20 packets" }
        transports.amp = { cc = "amp", subflows = 2 }
        traffic = [{ kind = "bulk", transport = "amp", from = "S2", to = "D2" }]
    "#;
    let run = run_on(&Experiment::parse(text, &[]).unwrap(), 1);
    let links = table(&run, "links");
    let (from, use_of) = (texts(links, "from"), numbers(links, "utilisation"));
    let leaving = from.iter().zip(use_of).filter(|(from, _)| from.ends_with("-in"));
    let used: Vec<f64> = leaving
        .filter_map(|(_, used)| used)
        .filter(|&used| used > 0.1)
        .collect();
    assert!(used.len() == 2 && used.iter().all(|&used| used > 0.9), "{used:?}");
}

#[test]
fn options_out_of_range_are_refused() {
    for threads in [0, 5000] {
        let options = RunOptions {
            threads: Some(threads),
            trace_hash: false,
        };
        let error = experiment(&[])
            .run(options, |_| ControlFlow::Continue(()))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("threads: {threads}; allowed: 1 to 1024")
        );
        assert!(error.is_bad_input() && matches!(error, Error::Option { .. }));
    }
}
