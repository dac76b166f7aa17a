//! Drives the traffic: opens, feeds and drains all connections on one thread, and takes the samples of probes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use socket2::Socket;
use weft_run::{
    CounterSnapshot, GeneratorAction, GeneratorDriver, MeasurementWindow, Probe, ProbedFlows, Sample,
};
use weft_spec::Time;
use weft_traffic::Flow;

use super::connection::Connection;
use super::sockets;
use super::switch::Switch;
use super::tap::Tap;

/// Something that happens at a known time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ScheduledAction {
    /// A flow of the spec opens.
    Open(u32),
    /// A flow's application stops.
    Stop(u32),
    /// A flow or job of a generator begins.
    Begin(GeneratorAction),
    /// A probe takes a sample.
    Sample(u32),
    /// The part that is measured begins or ends.
    Measure,
    /// Progress is reported.
    ReportProgress,
    /// The experiment ends.
    End,
}

/// A flow of the run.
pub struct FlowRun {
    /// Index of the flow in tables.
    pub index: u32,
    /// The flow as requested, with the time of opening.
    pub flow: Flow,
    /// Connection of the flow.
    pub connection: Connection,
}

/// The traffic of a run and its surroundings.
pub struct TrafficDriver<'a> {
    /// Flows: at first those of the spec in order, then those of generators as they open.
    pub flow_runs: Vec<FlowRun>,
    /// Generators of flows.
    pub generators: GeneratorDriver,
    /// Makes the connection of a generator's flow, by index.
    pub connect: &'a dyn Fn(u32, &Flow) -> io::Result<Connection>,
    /// Sockets that listen.
    pub listeners: Vec<Socket>,
    /// Hosts of which it is seen what leaves them, with flows that they send.
    pub taps: Vec<(Tap, Vec<u32>)>,
    /// The probes that sample over time.
    pub probes: &'a [Probe],
    /// The switch, which counts packets.
    pub switch: &'a Switch,
    /// The part of the run that is measured; none: all of it.
    pub measurement: Option<MeasurementWindow>,
    /// Returns the counters of the switch at a time.
    pub counted: &'a dyn Fn(Time) -> io::Result<CounterSnapshot>,
    /// Duration of the run.
    pub duration: Time,
    /// Returns whether a subflow is active, by token and index of the subflow.
    pub active: &'a dyn Fn(u32, u32) -> bool,
}

/// The report of a run.
pub struct DriverReport {
    /// End of the run.
    pub end: Time,
    /// Start of the run.
    pub began: Instant,
    /// Start of the run in nanoseconds of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// By how much something that was due was done too late, at most: then the processor, not the network, set the pace.
    pub max_lateness: Time,
    /// The part of the run that is measured, with what had been counted.
    pub measurement: Option<MeasurementWindow>,
    /// Samples in the order of time.
    pub samples: Vec<Sample>,
    /// Flows that failed, by index in tables, with the reason.
    pub failures: Vec<(u32, io::Error)>,
}

impl TrafficDriver<'_> {
    /// Plays until the end, or until `stop` is set. `report_progress` is called about ten times per second with the progress from 0 to 1.
    ///
    /// # Errors
    /// The kernel's event queue or timer fails, or the switch's counters cannot be read.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        mut report_progress: impl FnMut(f64),
    ) -> io::Result<DriverReport> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
        )?;
        epoll.add(timer.as_fd(), event(Source::Timer, EpollFlags::EPOLLIN))?;
        for (listener, i) in self.listeners.iter().zip(0..) {
            epoll.add(listener, event(Source::Listener(i), EpollFlags::EPOLLIN))?;
        }
        let clock = Instant::now();
        let mut state = DriverState {
            driver: self,
            epoll,
            clock,
            schedule: BinaryHeap::new(),
            opened: HashMap::new(),
            open_flows: BTreeMap::new(),
            read_buffer: vec![MaybeUninit::uninit(); READ_BUFFER],
            report: DriverReport {
                end: Time(0),
                max_lateness: Time(0),
                began: clock,
                began_ns: super::path_manager::now(),
                measurement: None,
                samples: Vec::new(),
                failures: Vec::new(),
            },
        };
        state.schedule_all();
        let mut events = [EpollEvent::empty(); 256];
        loop {
            if let Some(end) = state.run_due(&mut report_progress)? {
                state.report.end = end;
                break;
            }
            // A run with a failed flow has no result.
            if stop.load(Ordering::Relaxed) || !state.report.failures.is_empty() {
                state.report.end = state.now();
                break;
            }
            state.arm_timer(&timer)?;
            let number = match state.epoll.wait(&mut events, STOP_CHECK_MS) {
                Err(Errno::EINTR) => 0,
                other => other?,
            };
            for event in &events[..number] {
                state.on_event(Source::from(event.data()), event.events());
            }
        }
        let mut report = state.report;
        report.measurement = self.measurement.take();
        for run in &mut self.flow_runs {
            run.connection.end();
        }
        Ok(report)
    }
}

/// The source of an event, in 64 bits: its type in the upper half, its index in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Timer,
    Listener(u32),
    Sender(u32),
    Receiver(u32),
}

impl From<Source> for u64 {
    fn from(source: Source) -> u64 {
        let (kind, index) = match source {
            Source::Timer => (0, 0),
            Source::Listener(i) => (1, i),
            Source::Sender(i) => (2, i),
            Source::Receiver(i) => (3, i),
        };
        kind << 32 | u64::from(index)
    }
}

impl From<u64> for Source {
    fn from(bits: u64) -> Self {
        let index = bits as u32;
        match bits >> 32 {
            1 => Source::Listener(index),
            2 => Source::Sender(index),
            3 => Source::Receiver(index),
            _ => Source::Timer,
        }
    }
}

fn event(source: Source, flags: EpollFlags) -> EpollEvent {
    EpollEvent::new(flags, source.into())
}

/// The state of a run.
struct DriverState<'a, 'b> {
    driver: &'a mut TrafficDriver<'b>,
    epoll: Epoll,
    clock: Instant,
    schedule: BinaryHeap<Reverse<(Time, ScheduledAction)>>,
    /// Flows by their sender's first address, until they are accepted.
    opened: HashMap<SocketAddr, u32>,
    /// Open flows of generators: slots among the runs of flows, by index in tables.
    open_flows: BTreeMap<u32, u32>,
    read_buffer: Vec<MaybeUninit<u8>>,
    report: DriverReport,
}

impl DriverState<'_, '_> {
    fn now(&self) -> Time {
        Time::from_ns(self.clock.elapsed().as_nanos() as u64)
    }

    fn schedule_all(&mut self) {
        for (run, i) in self.driver.flow_runs.iter().zip(0..) {
            self.schedule
                .push(Reverse((run.flow.start, ScheduledAction::Open(i))));
            if let Some(stop) = run.flow.stop {
                self.schedule.push(Reverse((stop, ScheduledAction::Stop(i))));
            }
        }
        for (time, next) in self.driver.generators.timed_actions() {
            self.schedule.push(Reverse((time, ScheduledAction::Begin(next))));
        }
        for (probe, i) in self.driver.probes.iter().zip(0..) {
            if !matches!(probe, Probe::Queue { .. }) {
                self.schedule.push(Reverse((Time(0), ScheduledAction::Sample(i))));
            }
        }
        if let Some(time) = self
            .driver
            .measurement
            .as_ref()
            .and_then(MeasurementWindow::next_snapshot_time)
        {
            self.schedule.push(Reverse((time, ScheduledAction::Measure)));
        }
        self.schedule
            .push(Reverse((Time(0), ScheduledAction::ReportProgress)));
        self.schedule
            .push(Reverse((self.driver.duration, ScheduledAction::End)));
    }

    /// Runs all actions that are due. Returns the time if the experiment has ended.
    fn run_due(&mut self, report_progress: &mut impl FnMut(f64)) -> io::Result<Option<Time>> {
        while let Some(&Reverse((due, action))) = self.schedule.peek() {
            let now = self.now();
            if due > now {
                break;
            }
            self.schedule.pop();
            self.report.max_lateness = self.report.max_lateness.max(Time(now.0 - due.0));
            match action {
                ScheduledAction::Open(flow) => self.open(flow),
                ScheduledAction::Stop(flow) => self.stop(flow),
                ScheduledAction::Begin(next) => self.begin(next, now),
                ScheduledAction::Sample(probe) => {
                    let interval = self.sample(probe, now);
                    // Missed samples are not repeated.
                    let interval = interval.0.max(1);
                    let next = due
                        .0
                        .saturating_add(interval.saturating_mul(1 + (now.0 - due.0) / interval));
                    self.schedule.push(Reverse((Time(next), action)));
                }
                ScheduledAction::Measure => self.measure(now)?,
                ScheduledAction::ReportProgress => {
                    report_progress(now.0 as f64 / self.driver.duration.0 as f64);
                    self.schedule
                        .push(Reverse((Time(now.0 + REPORT_INTERVAL.0), action)));
                }
                ScheduledAction::End => return Ok(Some(now)),
            }
        }
        Ok(None)
    }

    /// Notes what has been counted where the measured part begins or ends.
    fn measure(&mut self, now: Time) -> io::Result<()> {
        let Some(measurement) = &mut self.driver.measurement else {
            return Ok(());
        };
        let mut counted = (self.driver.counted)(now)?;
        let flow_runs = self.driver.flow_runs.iter();
        counted.bytes = flow_runs
            .map(|run| (run.index, run.connection.delivered))
            .collect();
        measurement.record(counted);
        if let Some(time) = measurement.next_snapshot_time() {
            self.schedule.push(Reverse((time, ScheduledAction::Measure)));
        }
        Ok(())
    }

    /// Sets the timer to what is next.
    fn arm_timer(&self, timer: &TimerFd) -> io::Result<()> {
        if let Some(&Reverse((due, _))) = self.schedule.peek() {
            let left = Duration::from_nanos((due.0.saturating_sub(self.now().0) / 1000).max(1));
            let once = Expiration::OneShot(TimeSpec::from_duration(left));
            timer.set(once, TimerSetTimeFlags::empty())?;
        }
        Ok(())
    }

    /// A flow or job of a generator.
    fn begin(&mut self, action: GeneratorAction, now: Time) {
        let performed = self.driver.generators.perform(action, now);
        for (time, next) in performed.next {
            self.schedule.push(Reverse((time, ScheduledAction::Begin(next))));
        }
        for n in performed.open {
            let Some((index, flow)) = self.driver.generators.flow(action.generator, n) else {
                continue;
            };
            let flow = Flow { start: now, ..flow };
            match (self.driver.connect)(index, &flow) {
                Ok(connection) => {
                    let slot = self.driver.flow_runs.len() as u32;
                    self.driver.flow_runs.push(FlowRun {
                        index,
                        flow,
                        connection,
                    });
                    self.open_flows.insert(index, slot);
                    self.open(slot);
                }
                Err(error) => self.report.failures.push((index, error)),
            }
        }
    }

    /// A flow's last byte has arrived.
    fn arrived(&mut self, flow: u32, now: Time) {
        let index = self.driver.flow_runs[flow as usize].index;
        for (time, next) in self.driver.generators.on_flow_delivered(index, now) {
            self.schedule.push(Reverse((time, ScheduledAction::Begin(next))));
        }
    }

    /// A flow is over.
    fn end(&mut self, flow: u32) {
        let run = &mut self.driver.flow_runs[flow as usize];
        run.connection.end();
        self.open_flows.remove(&run.index);
    }

    fn open(&mut self, flow: u32) {
        let connection = &mut self.driver.flow_runs[flow as usize].connection;
        let Some(socket) = &connection.sender else { return };
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        let opened = sockets::connect(socket, connection.to)
            .and_then(|()| socket.local_addr())
            .and_then(|from| Ok((from, self.epoll.add(socket, event(Source::Sender(flow), flags))?)));
        match opened {
            Ok((from, ())) => {
                if let Some(from) = from.as_socket() {
                    self.opened.insert(from, flow);
                }
            }
            Err(error) => self.fail(flow, error),
        }
    }

    fn stop(&mut self, flow: u32) {
        if let Err(error) = self.driver.flow_runs[flow as usize].connection.close() {
            self.fail(flow, error);
        }
    }

    fn on_event(&mut self, source: Source, _: EpollFlags) {
        match source {
            Source::Timer => {}
            Source::Listener(listener) => self.accept(listener),
            Source::Sender(flow) => {
                let now = self.now();
                if let Err(error) = self.driver.flow_runs[flow as usize].connection.write(now) {
                    self.fail(flow, error);
                }
            }
            Source::Receiver(flow) => {
                let now = self.now();
                let connection = &mut self.driver.flow_runs[flow as usize].connection;
                let before = connection.finish.is_some();
                let read = connection.read(now, &mut self.read_buffer);
                if !before && connection.finish.is_some() {
                    self.arrived(flow, now);
                }
                if self.driver.flow_runs[flow as usize].connection.records.is_some() {
                    // The tap has captured all data that was read.
                    let at = Instant::now();
                    self.look_at_taps();
                    self.driver.flow_runs[flow as usize].connection.record_read(at);
                }
                match read {
                    Ok(true) => self.end(flow),
                    Ok(false) => {}
                    Err(error) => self.fail(flow, error),
                }
            }
        }
    }

    fn look_at_taps(&mut self) {
        let flow_runs = &mut self.driver.flow_runs;
        for (tap, flows) in &self.driver.taps {
            tap.drain(|packet, at| {
                for &flow in flows {
                    flow_runs[flow as usize].connection.on_sent(packet, at);
                }
            });
        }
    }

    fn accept(&mut self, listener: u32) {
        // A connection that cannot be accepted now has closed or is reported again.
        while let Ok((socket, from)) = self.driver.listeners[listener as usize].accept() {
            let Some(flow) = from.as_socket().and_then(|from| self.opened.remove(&from)) else {
                continue;
            };
            let added = socket.set_nonblocking(true).and_then(|()| {
                Ok(self
                    .epoll
                    .add(&socket, event(Source::Receiver(flow), EpollFlags::EPOLLIN))?)
            });
            self.driver.flow_runs[flow as usize].connection.receiver = Some(socket);
            if let Err(error) = added {
                self.fail(flow, error);
            }
        }
    }

    fn fail(&mut self, flow: u32, error: io::Error) {
        self.end(flow);
        let index = self.driver.flow_runs[flow as usize].index;
        self.report.failures.push((index, error));
    }

    /// Returns when the next one is due.
    fn sample(&mut self, probe: u32, time: Time) -> Time {
        match self.driver.probes[probe as usize] {
            Probe::QueueTrace {
                link,
                interval: every,
            } => {
                if let Ok(port) = self.driver.switch.read(link) {
                    let counters = port.link();
                    self.report.samples.push(Sample::Queue {
                        time,
                        link,
                        length: port.length(),
                        marks: counters.marks,
                        drops: counters.drops,
                    });
                }
                every
            }
            Probe::Flow {
                flows: ProbedFlows::One(flow),
                interval: every,
            } => {
                // Those of the spec lie at their index.
                let slot = self.open_flows.get(&flow).copied().unwrap_or(flow);
                self.sample_flow(slot, flow, time);
                every.unwrap_or(Time::MAX)
            }
            Probe::Flow {
                flows: ProbedFlows::Generated(generator),
                interval: every,
            } => {
                let generator_of = |index: u32| {
                    let found = self.driver.generators.generator_of(index);
                    found.map(|(generator, _)| generator)
                };
                let open_flows = self
                    .open_flows
                    .iter()
                    .filter(|(index, _)| generator_of(**index) == Some(generator));
                let open_flows: Vec<_> = open_flows.map(|(&index, &slot)| (index, slot)).collect();
                for (index, slot) in open_flows {
                    self.sample_flow(slot, index, time);
                }
                every.unwrap_or(Time::MAX)
            }
            Probe::Queue { .. }
            | Probe::Latency { .. }
            | Probe::Buffer { .. }
            | Probe::Throughput { .. }
            | Probe::Packets { .. }
            | Probe::Steps { .. } => Time::MAX,
        }
    }

    fn sample_flow(&mut self, slot: u32, flow: u32, time: Time) {
        let run = self.driver.flow_runs.get(slot as usize);
        let Some(run) = run.filter(|run| run.index == flow) else {
            return;
        };
        for (info, subflow) in run.connection.windows().iter().zip(0..) {
            let unlimited = info.ssthresh >= INFINITE_SSTHRESH;
            let active = run
                .connection
                .token
                .is_none_or(|token| (self.driver.active)(token, subflow));
            self.report.samples.push(Sample::Subflow {
                time,
                flow,
                subflow,
                cwnd: info.cwnd.into(),
                ssthresh: if unlimited {
                    f64::INFINITY
                } else {
                    info.ssthresh.into()
                },
                active,
            });
        }
    }
}

/// Maximum time of waiting for events between two checks of the stop request.
const STOP_CHECK_MS: u16 = 100;
/// Interval of progress reports.
const REPORT_INTERVAL: Time = Time::from_ms(100);
/// Bytes read at a time.
const READ_BUFFER: usize = 1 << 18;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
