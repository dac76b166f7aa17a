use weft_cc::Algorithm;
use weft_fabric::*;
use weft_packet::*;
use weft_spec::*;
use weft_traffic::Flow;

struct Ft {
    k: u64,
}
impl Ft {
    fn pod_nodes(&self) -> u64 {
        self.k * self.k / 4 + self.k
    }
}
impl Routing for Ft {
    fn path_count(&self, _a: NodeId, _b: NodeId) -> u64 {
        self.k * self.k / 4
    }
    fn path(&self, from: NodeId, to: NodeId, hash: u64, ports: &mut Vec<u16>) {
        let h = self.k / 2;
        let pn = self.pod_nodes();
        let (fp, fi) = (u64::from(from) / pn, u64::from(from) % pn);
        let (tp, ti) = (u64::from(to) / pn, u64::from(to) % pn);
        let (ft, tt) = (fi / h, ti / h);
        ports.push(0);
        if fp == tp && ft == tt {
            ports.push((ti % h) as u16);
            return;
        }
        let agg = hash % h;
        ports.push((h + agg) as u16);
        if fp != tp {
            let core = (hash >> 32) % h;
            ports.push((h + core) as u16);
            ports.push(tp as u16);
        }
        ports.push(tt as u16);
        ports.push((ti % h) as u16);
    }
}
fn fat_tree(k: u64, rate: Rate, delay: Time, queue: Queue) -> Fabric {
    let h = k / 2;
    let ft = Ft { k };
    let pn = ft.pod_nodes();
    let mut nodes = vec![];
    let mut links = vec![];
    let mut hosts = vec![];
    let mut link = |a: u64, b: u64| {
        links.push(Link {
            from: a as u32,
            to: b as u32,
            rate,
            delay,
            queue,
            layer: "",
        })
    };
    for p in 0..k {
        for i in 0..pn {
            let host = i < h * h;
            if host {
                hosts.push((p * pn + i) as u32);
            }
            nodes.push(Node {
                name: String::new(),
                host,
            });
            let me = p * pn + i;
            if host {
                link(me, p * pn + h * h + i / h);
            } else if i < h * h + h {
                let t = i - h * h;
                for x in 0..h {
                    link(me, p * pn + t * h + x);
                }
                for a in 0..h {
                    link(me, p * pn + h * h + h + a);
                }
            } else {
                let a = i - h * h - h;
                for t in 0..h {
                    link(me, p * pn + h * h + t);
                }
                for c in 0..h {
                    link(me, k * pn + a * h + c);
                }
            }
        }
    }
    for c in 0..h * h {
        nodes.push(Node {
            name: String::new(),
            host: false,
        });
        for p in 0..k {
            link(k * pn + c, p * pn + h * h + h + c / h);
        }
    }
    Fabric {
        nodes,
        links,
        hosts,
        routing: Box::new(ft),
    }
}
struct Star {
    n: u32,
}
impl Routing for Star {
    fn path_count(&self, _a: NodeId, _b: NodeId) -> u64 {
        1
    }
    fn path(&self, _f: NodeId, to: NodeId, _h: u64, ports: &mut Vec<u16>) {
        ports.push(0);
        ports.push(if to > self.n { self.n as u16 } else { to as u16 });
    }
}
fn star(n: u32, rate: Rate, delay: Time, queue: Queue) -> Fabric {
    let mut nodes = vec![];
    let mut links = vec![];
    let mut hosts = vec![];
    for i in 0..=n + 1 {
        nodes.push(Node {
            name: String::new(),
            host: i != n,
        });
        if i != n {
            hosts.push(i);
            links.push(Link {
                from: i,
                to: n,
                rate,
                delay,
                queue,
                layer: "",
            });
        } else {
            for j in 0..n {
                links.push(Link {
                    from: n,
                    to: j,
                    rate,
                    delay,
                    queue,
                    layer: "",
                });
            }
            links.push(Link {
                from: n,
                to: n + 1,
                rate,
                delay,
                queue,
                layer: "",
            });
        }
    }
    Fabric {
        nodes,
        links,
        hosts,
        routing: Box::new(Star { n }),
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let threads: usize = a.get(2).map_or(1, |t| t.parse().unwrap());
    let trace = a.get(3).is_some();
    let lia = |s| Transport {
        cc: Algorithm::build("lia", &[]).unwrap(),
        subflows: s,
        scheduler: Scheduler::RoundRobin,
        profile: Profile::linux(),
    };
    let (setup, end) = if a[1] == "syndrome" {
        let q = Queue {
            limit: Amount::Packets(100),
            mark: Some(Amount::Packets(10)),
        };
        let fabric = star(9, Rate(10_000_000_000), Time::from_us(5), q);
        let mut xmp = lia(4);
        xmp.cc = Algorithm::build("xmp", &[]).unwrap();
        let mut dctcp = lia(1);
        dctcp.cc = Algorithm::build("dctcp", &[]).unwrap();
        let flows = (0..9)
            .map(|i| Flow {
                from: i,
                to: 9,
                size: None,
                start: Time(0),
                stop: None,
                transport: u32::from(i == 8),
                traffic: 0,
                round: 0,
            })
            .collect();
        (
            Setup {
                fabric,
                transports: vec![dctcp, xmp],
                flows,
                probes: vec![],
                seed: 1,
                threads,
                trace_hash: trace,
            },
            Time::from_ms(1000),
        )
    } else {
        let k: u64 = a[1].parse().unwrap();
        let q = Queue {
            limit: Amount::Packets(100),
            mark: None,
        };
        let fabric = fat_tree(k, Rate(100_000_000_000), Time::from_us(1), q);
        let n = fabric.hosts.len() as u64;
        let flows = (0..n)
            .map(|i| Flow {
                from: i as u32,
                to: ((i * 37 + n / 2 + 1) % n) as u32,
                size: None,
                start: Time(0),
                stop: None,
                transport: 0,
                traffic: 0,
                round: 0,
            })
            .filter(|f| f.from != f.to)
            .collect();
        let end = match k {
            8 => 10_000,
            16 => 1_000,
            _ => 300,
        };
        (
            Setup {
                fabric,
                transports: vec![lia(8)],
                flows,
                probes: vec![],
                seed: 1,
                threads,
                trace_hash: trace,
            },
            Time::from_us(end),
        )
    };
    let end = a.get(4).map_or(end, |e| Time::from_us(e.parse().unwrap()));
    let mut sim = Simulation::new(setup).unwrap();
    let t = std::time::Instant::now();
    sim.run_until(end);
    let s = t.elapsed().as_secs_f64();
    let o = sim.outcome();
    println!(
        "{:?} {:.3}s {:.1} M hops/s hash {:?}",
        o.counters,
        s,
        o.counters.packet_hops as f64 / s / 1e6,
        o.trace_hash
    );
    for f in o.flows.iter().take(9).chain(o.flows.last()) {
        let x = &f.subflows;
        println!(
            "{} goodput {:.3} G sent {} retx {} to {} fr {} cwnd {:?} rtt {:.1}us",
            f.delivered_bytes,
            f.delivered_bytes as f64 * 8.0 / end.seconds() / 1e9,
            x.iter().map(|s| s.packets_sent).sum::<u64>(),
            x.iter().map(|s| s.retransmitted).sum::<u64>(),
            x.iter().map(|s| s.timeouts).sum::<u64>(),
            x.iter().map(|s| s.fast_retransmits).sum::<u64>(),
            x.iter().map(|s| s.cwnd.round()).collect::<Vec<_>>(),
            x[0].srtt * 1e6
        );
    }
    for l in &o.links {
        assert_eq!(l.packets, l.delivered + l.in_flight);
    }
    for f in &o.flows {
        for s in &f.subflows {
            assert_eq!(
                s.packets_sent,
                s.packets_received + s.packets_dropped + s.packets_in_flight
            );
        }
    }
    let total: u64 = o.flows.iter().map(|f| f.delivered_bytes).sum();
    println!(
        "mean goodput {:.2} G",
        total as f64 * 8.0 / end.seconds() / 1e9 / o.flows.len() as f64
    );
}
