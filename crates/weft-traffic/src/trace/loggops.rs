//! An evaluator of the `LogGOPS` model (Hoefler, Schneider, Lumsdaine, "`LogGOPSim`", LSAP 2010) for tests. It shows that traces
//! are read as `LogGOPSim` reads them: orders, processors, and which receive takes which message.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io::BufReader;
use std::path::Path;

use super::goal;
use crate::tasks::{After, TaskGraph, Work};

/// The parameters of the model, in nanoseconds and bytes.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    latency: i64,
    overhead: i64,
    gap: i64,
    overhead_per_byte: i64,
    gap_per_byte: i64,
    /// Largest message that is sent without a match at the receiver.
    eager: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A task that waits for no other one.
    Ready(u32),
    /// The first byte of a message arrives.
    Arrival(u32),
}

#[derive(Clone, Default)]
struct Rank {
    processor: i64,
    sending: i64,
    receiving: i64,
    posted: Vec<u32>,
    early: Vec<u32>,
}

struct Evaluator<'a> {
    graph: &'a TaskGraph,
    parameters: Parameters,
    waits: Vec<u32>,
    ranks: Vec<Rank>,
    rank_of: Vec<u32>,
    events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    number: u64,
}

impl Evaluator<'_> {
    fn push(&mut self, time: i64, event: Event) {
        self.events.push(Reverse((time, self.number, event)));
        self.number += 1;
    }

    /// Releases the tasks that wait for a point of a task. They become ready when the processor of their rank is free.
    fn release(&mut self, task: u32, reached: After) {
        let graph = self.graph;
        let now = self.ranks[self.rank_of[task as usize] as usize].processor;
        let mut ready = Vec::new();
        for waiting in graph.dependents_of(task) {
            if waiting.after() == reached {
                let dependent = waiting.task();
                self.waits[dependent as usize] -= 1;
                if self.waits[dependent as usize] == 0 {
                    ready.push(dependent);
                }
            }
        }
        // Sends precede receives, which precede computing.
        ready.sort_by_key(|&task| match graph.work[task as usize] {
            Work::Send(_) => (0, task),
            Work::Receive(_) | Work::ReceiveAny { .. } => (1, task),
            Work::Compute(_) | Work::Pause(_) => (2, task),
        });
        for task in ready {
            self.push(now, Event::Ready(task));
        }
    }

    fn fits(&self, task: u32, message: u32) -> bool {
        let sent = self.graph.messages()[message as usize];
        match self.graph.work[task as usize] {
            Work::Receive(own) => own == message,
            Work::ReceiveAny { from, tag } => {
                from.is_none_or(|from| from == sent.from) && tag.is_none_or(|tag| tag == sent.tag)
            }
            _ => false,
        }
    }

    /// Handles the match of a message and a receive: both are done. The rank of the lower number goes first.
    fn matched(&mut self, message: u32, receive: u32, now: i64) {
        let sent = self.graph.messages()[message as usize];
        let is_large = sent.bytes.cast_signed() > self.parameters.eager;
        if is_large {
            let rank = &mut self.ranks[sent.from as usize];
            rank.processor = rank.processor.max(now);
            rank.sending = rank.sending.max(now);
        }
        if is_large && sent.from < sent.to {
            self.release(sent.send, After::Done);
        }
        self.release(receive, After::Done);
        if is_large && sent.from >= sent.to {
            self.release(sent.send, After::Done);
        }
    }

    /// Runs all events. Returns the time at which the processor of each rank is free.
    fn run(mut self) -> Vec<i64> {
        let p = self.parameters;
        for task in (0..self.waits.len() as u32)
            .filter(|&task| self.waits[task as usize] == 0)
            .collect::<Vec<_>>()
        {
            self.push(0, Event::Ready(task));
        }
        while let Some(Reverse((now, number, event))) = self.events.pop() {
            let rank_index = match event {
                Event::Ready(task) => self.rank_of[task as usize],
                Event::Arrival(message) => self.graph.messages()[message as usize].to,
            } as usize;
            let work = match event {
                Event::Ready(task) => Some((task, self.graph.work[task as usize])),
                Event::Arrival(_) => None,
            };
            let rank = &mut self.ranks[rank_index];
            // Posting a receive needs no processor.
            if let Some((task, Work::Receive(_) | Work::ReceiveAny { .. })) = work {
                self.release(task, After::Started);
                let early = &self.ranks[rank_index].early;
                if let Some(index) = early.iter().position(|&message| self.fits(task, message)) {
                    let message = self.ranks[rank_index].early.remove(index);
                    self.matched(message, task, now);
                } else {
                    self.ranks[rank_index].posted.push(task);
                }
                continue;
            }
            let free = match (event, work) {
                (Event::Arrival(_), _) => rank.processor.max(rank.receiving),
                (_, Some((_, Work::Send(_)))) => rank.processor.max(rank.sending),
                _ => rank.processor,
            };
            if free > now {
                self.events.push(Reverse((free, number, event)));
                continue;
            }
            match (event, work) {
                (Event::Arrival(message), _) => {
                    let bytes = self.graph.messages()[message as usize].bytes.cast_signed() - 1;
                    let busy = p.overhead + (bytes * p.overhead_per_byte).max(bytes * p.gap_per_byte);
                    rank.processor = now + busy;
                    rank.receiving = now + p.gap + bytes * p.gap_per_byte;
                    let posted = &self.ranks[rank_index].posted;
                    if let Some(index) = posted.iter().position(|&task| self.fits(task, message)) {
                        let task = self.ranks[rank_index].posted.remove(index);
                        self.matched(message, task, now);
                    } else {
                        self.ranks[rank_index].early.push(message);
                    }
                }
                (_, Some((task, Work::Compute(time)))) => {
                    let end = now + (time.0 / 1_000).cast_signed();
                    rank.processor = end;
                    self.release(task, After::Started);
                    self.release(task, After::Done);
                }
                (_, Some((task, Work::Send(message)))) => {
                    let size = self.graph.messages()[message as usize].bytes.cast_signed();
                    let bytes = size - 1;
                    rank.processor = now + p.overhead + bytes * p.overhead_per_byte;
                    rank.sending = now + p.gap + bytes * p.gap_per_byte;
                    self.release(task, After::Started);
                    self.push(now + p.overhead + p.latency, Event::Arrival(message));
                    if size <= p.eager {
                        self.release(task, After::Done);
                    }
                }
                _ => {}
            }
        }
        self.ranks.iter().map(|rank| rank.processor).collect()
    }
}

fn evaluate(graph: &TaskGraph, parameters: Parameters) -> Vec<i64> {
    let mut waits = vec![0; graph.work.len()];
    let mut rank_of = vec![0; graph.work.len()];
    for rank in 0..graph.ranks() {
        for task in graph.tasks_of(rank) {
            rank_of[task as usize] = rank;
            for waiting in graph.dependents_of(task) {
                waits[waiting.task() as usize] += 1;
            }
        }
    }
    let evaluator = Evaluator {
        graph,
        parameters,
        waits,
        ranks: vec![Rank::default(); graph.ranks() as usize],
        rank_of,
        events: BinaryHeap::new(),
        number: 0,
    };
    evaluator.run()
}

/// `loggops.csv` has the times of `LogGOPSim` for each rank, with four sets of parameters.
#[test]
fn traces_take_the_times_of_loggopsim() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goal");
    let csv = fs::read_to_string(folder.join("loggops.csv")).unwrap();
    let mut wrong = Vec::new();
    let mut lines = 0;
    for line in csv.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let [
            file,
            _,
            name,
            latency,
            overhead,
            gap,
            overhead_per_byte,
            gap_per_byte,
            eager,
            ..,
            times,
        ] = columns[..]
        else {
            panic!("{line}");
        };
        let number = |text: &str| text.parse::<i64>().unwrap();
        let parameters = Parameters {
            latency: number(latency),
            overhead: number(overhead),
            gap: number(gap),
            overhead_per_byte: number(overhead_per_byte),
            gap_per_byte: number(gap_per_byte),
            eager: number(eager),
        };
        let graph = goal::read(BufReader::new(fs::File::open(folder.join(file)).unwrap())).unwrap();
        let found = evaluate(&graph, parameters);
        let expected: Vec<i64> = times.split(' ').map(number).collect();
        if found != expected {
            wrong.push(format!("{file} {name}: {found:?} instead of {expected:?}"));
        }
        lines += 1;
    }
    assert!(
        wrong.is_empty(),
        "{} of {lines}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(lines > 60, "{lines}");
}
