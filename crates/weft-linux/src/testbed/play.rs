//! Plays the traffic: opens, feeds and drains all connections on one thread, and samples what is probed.

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
use weft_run::{CounterSnapshot, GeneratorAction, GeneratorDriver, MeasurementWindow, Probe, Sample};
use weft_spec::Time;
use weft_traffic::{Action, Flow};

use super::connection::Connection;
use super::sockets;
use super::switch::Switch;
use super::tap::Tap;

/// Something that happens at a known time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    /// A flow of the spec opens.
    Open(u32),
    /// A flow's application stops.
    Stop(u32),
    /// A flow or job of a program begins.
    Begin(GeneratorAction),
    /// A probe takes a sample.
    Sample(u32),
    /// The part that is measured begins or ends.
    Measure,
    /// Progress is reported.
    Tell,
    /// The experiment ends.
    End,
}

/// A flow that is played.
pub struct Part {
    /// Its index in tables.
    pub index: u32,
    /// What was asked for, with the time of opening.
    pub flow: Flow,
    /// What became of it.
    pub connection: Connection,
}

/// What is played.
pub struct Play<'a> {
    /// Flows: at first those of the spec in order, then those of programs as they open.
    pub parts: Vec<Part>,
    /// Traffic that reacts.
    pub reacting: GeneratorDriver,
    /// Makes the connection of a flow of a program, by index.
    pub connect: &'a dyn Fn(u32, &Flow) -> io::Result<Connection>,
    /// Sockets that listen.
    pub listeners: Vec<Socket>,
    /// Hosts of which it is seen what leaves them, with flows that they send.
    pub taps: Vec<(Tap, Vec<u32>)>,
    /// What samples in time.
    pub probes: &'a [Probe],
    /// What counts packets.
    pub switch: &'a Switch,
    /// The part of the run that is measured; none: all of it.
    pub measuring: Option<MeasurementWindow>,
    /// What the switch has counted by a time.
    pub counted: &'a dyn Fn(Time) -> io::Result<CounterSnapshot>,
    /// When it ends.
    pub duration: Time,
    /// Is a subflow of this connection suppressed now: by token and subflow?
    pub active: &'a dyn Fn(u32, u32) -> bool,
}

/// What was played.
pub struct Played {
    /// When it ended.
    pub end: Time,
    /// When it began.
    pub began: Instant,
    /// The same, nanoseconds of `CLOCK_MONOTONIC`.
    pub began_ns: u64,
    /// By how much something that was due was done too late, at most: then the processor, not the network, set the pace.
    pub late: Time,
    /// The part of the run that is measured, with what had been counted.
    pub measuring: Option<MeasurementWindow>,
    /// In order of time.
    pub samples: Vec<Sample>,
    /// Flows that failed, by index in tables, with the reason.
    pub failures: Vec<(u32, io::Error)>,
}

impl Play<'_> {
    /// Plays until the end, or until `stop` is set. `tell` hears some ten times a second how far it is, from 0 to 1.
    ///
    /// # Errors
    /// The kernel's event queue or timer fails, or the switch's counters cannot be read.
    pub fn run(&mut self, stop: &AtomicBool, mut tell: impl FnMut(f64)) -> io::Result<Played> {
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
        let mut stage = Stage {
            play: self,
            epoll,
            clock,
            acts: BinaryHeap::new(),
            opened: HashMap::new(),
            live: BTreeMap::new(),
            room: vec![MaybeUninit::uninit(); ROOM],
            played: Played {
                end: Time(0),
                late: Time(0),
                began: clock,
                began_ns: super::paths::now(),
                measuring: None,
                samples: Vec::new(),
                failures: Vec::new(),
            },
        };
        stage.plan();
        let mut events = [EpollEvent::empty(); 256];
        loop {
            if let Some(end) = stage.act(&mut tell)? {
                stage.played.end = end;
                break;
            }
            // What failed will be refused as a whole: there is no point in going on.
            if stop.load(Ordering::Relaxed) || !stage.played.failures.is_empty() {
                stage.played.end = stage.now();
                break;
            }
            stage.wind(&timer)?;
            let number = match stage.epoll.wait(&mut events, LOOK_UP) {
                Err(Errno::EINTR) => 0,
                other => other?,
            };
            for event in &events[..number] {
                stage.react(Source::from(event.data()), event.events());
            }
        }
        let mut played = stage.played;
        played.measuring = self.measuring.take();
        for part in &mut self.parts {
            part.connection.end();
        }
        Ok(played)
    }
}

/// What an event is about, in 64 bits: what it is above, which one below.
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

/// A play under way.
struct Stage<'a, 'b> {
    play: &'a mut Play<'b>,
    epoll: Epoll,
    clock: Instant,
    acts: BinaryHeap<Reverse<(Time, Act)>>,
    /// Flows by their sender's first address, until they are accepted.
    opened: HashMap<SocketAddr, u32>,
    /// Flows of programs that are open: places among the parts, by index in tables.
    live: BTreeMap<u32, u32>,
    room: Vec<MaybeUninit<u8>>,
    played: Played,
}

impl Stage<'_, '_> {
    fn now(&self) -> Time {
        Time::from_ns(self.clock.elapsed().as_nanos() as u64)
    }

    fn plan(&mut self) {
        for (part, i) in self.play.parts.iter().zip(0..) {
            self.acts.push(Reverse((part.flow.start, Act::Open(i))));
            if let Some(stop) = part.flow.stop {
                self.acts.push(Reverse((stop, Act::Stop(i))));
            }
        }
        for (time, next) in self.play.reacting.timed_actions() {
            self.acts.push(Reverse((time, Act::Begin(next))));
        }
        for (probe, i) in self.play.probes.iter().zip(0..) {
            if !matches!(probe, Probe::Queue { .. }) {
                self.acts.push(Reverse((Time(0), Act::Sample(i))));
            }
        }
        if let Some(time) = self
            .play
            .measuring
            .as_ref()
            .and_then(MeasurementWindow::next_snapshot_time)
        {
            self.acts.push(Reverse((time, Act::Measure)));
        }
        self.acts.push(Reverse((Time(0), Act::Tell)));
        self.acts.push(Reverse((self.play.duration, Act::End)));
    }

    /// Does what is due. Returns the time when that is the end.
    fn act(&mut self, tell: &mut impl FnMut(f64)) -> io::Result<Option<Time>> {
        while let Some(&Reverse((due, act))) = self.acts.peek() {
            let now = self.now();
            if due > now {
                break;
            }
            self.acts.pop();
            self.played.late = self.played.late.max(Time(now.0 - due.0));
            match act {
                Act::Open(flow) => self.open(flow),
                Act::Stop(flow) => self.stop(flow),
                Act::Begin(next) => self.begin(next, now),
                Act::Sample(probe) => {
                    let every = self.sample(probe, now);
                    // What was missed is not made up for.
                    let every = every.0.max(1);
                    let next = due
                        .0
                        .saturating_add(every.saturating_mul(1 + (now.0 - due.0) / every));
                    self.acts.push(Reverse((Time(next), act)));
                }
                Act::Measure => self.measure(now)?,
                Act::Tell => {
                    tell(now.0 as f64 / self.play.duration.0 as f64);
                    self.acts.push(Reverse((Time(now.0 + TELL.0), act)));
                }
                Act::End => return Ok(Some(now)),
            }
        }
        Ok(None)
    }

    /// Notes what has been counted where the measured part begins or ends.
    fn measure(&mut self, now: Time) -> io::Result<()> {
        let Some(measuring) = &mut self.play.measuring else {
            return Ok(());
        };
        let mut counted = (self.play.counted)(now)?;
        let parts = self.play.parts.iter();
        counted.bytes = parts
            .map(|part| (part.index, part.connection.delivered))
            .collect();
        measuring.record(counted);
        if let Some(time) = measuring.next_snapshot_time() {
            self.acts.push(Reverse((time, Act::Measure)));
        }
        Ok(())
    }

    /// Sets the timer to what is next.
    fn wind(&self, timer: &TimerFd) -> io::Result<()> {
        if let Some(&Reverse((due, _))) = self.acts.peek() {
            let left = Duration::from_nanos((due.0.saturating_sub(self.now().0) / 1000).max(1));
            let once = Expiration::OneShot(TimeSpec::from_duration(left));
            timer.set(once, TimerSetTimeFlags::empty())?;
        }
        Ok(())
    }

    /// A flow or job of a generator.
    fn begin(&mut self, GeneratorAction { generator, action }: GeneratorAction, now: Time) {
        let numbers = match action {
            Action::OpenFlow(n) => vec![n],
            Action::StartJob(job) => self.play.reacting.start_job(generator, job, now),
        };
        for n in numbers {
            let Some((index, flow)) = self.play.reacting.flow(generator, n) else {
                continue;
            };
            let flow = Flow { start: now, ..flow };
            match (self.play.connect)(index, &flow) {
                Ok(connection) => {
                    let place = self.play.parts.len() as u32;
                    self.play.parts.push(Part {
                        index,
                        flow,
                        connection,
                    });
                    self.live.insert(index, place);
                    self.open(place);
                }
                Err(error) => self.played.failures.push((index, error)),
            }
        }
    }

    /// A flow's last byte has arrived.
    fn arrived(&mut self, flow: u32, now: Time) {
        let index = self.play.parts[flow as usize].index;
        for (time, next) in self.play.reacting.on_flow_delivered(index, now) {
            self.acts.push(Reverse((time, Act::Begin(next))));
        }
    }

    /// A flow is over.
    fn end(&mut self, flow: u32) {
        let part = &mut self.play.parts[flow as usize];
        part.connection.end();
        self.live.remove(&part.index);
    }

    fn open(&mut self, flow: u32) {
        let connection = &mut self.play.parts[flow as usize].connection;
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
        if let Err(error) = self.play.parts[flow as usize].connection.close() {
            self.fail(flow, error);
        }
    }

    fn react(&mut self, source: Source, _: EpollFlags) {
        match source {
            Source::Timer => {}
            Source::Listener(listener) => self.accept(listener),
            Source::Sender(flow) => {
                let now = self.now();
                if let Err(error) = self.play.parts[flow as usize].connection.write(now) {
                    self.fail(flow, error);
                }
            }
            Source::Receiver(flow) => {
                let now = self.now();
                let connection = &mut self.play.parts[flow as usize].connection;
                let before = connection.finish.is_some();
                let read = connection.read(now, &mut self.room);
                if !before && connection.finish.is_some() {
                    self.arrived(flow, now);
                }
                if self.play.parts[flow as usize].connection.records.is_some() {
                    // What has been read was seen to be sent before.
                    let at = Instant::now();
                    self.look_at_taps();
                    self.play.parts[flow as usize].connection.note_read(at);
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
        let parts = &mut self.play.parts;
        for (tap, flows) in &self.play.taps {
            tap.drain(|seen, at| {
                for &flow in flows {
                    parts[flow as usize].connection.on_sent(seen, at);
                }
            });
        }
    }

    fn accept(&mut self, listener: u32) {
        // What cannot be accepted now is not there any more, or comes again.
        while let Ok((socket, from)) = self.play.listeners[listener as usize].accept() {
            let Some(flow) = from.as_socket().and_then(|from| self.opened.remove(&from)) else {
                continue;
            };
            let added = socket.set_nonblocking(true).and_then(|()| {
                Ok(self
                    .epoll
                    .add(&socket, event(Source::Receiver(flow), EpollFlags::EPOLLIN))?)
            });
            self.play.parts[flow as usize].connection.receiver = Some(socket);
            if let Err(error) = added {
                self.fail(flow, error);
            }
        }
    }

    fn fail(&mut self, flow: u32, error: io::Error) {
        self.end(flow);
        let index = self.play.parts[flow as usize].index;
        self.played.failures.push((index, error));
    }

    /// Returns when the next one is due.
    fn sample(&mut self, probe: u32, time: Time) -> Time {
        match self.play.probes[probe as usize] {
            Probe::QueueTrace {
                link,
                interval: every,
            } => {
                if let Ok(port) = self.play.switch.read(link) {
                    let counters = port.link();
                    self.played.samples.push(Sample::Queue {
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
                flow,
                interval: every,
            } => {
                // Those of the spec lie at their index.
                let place = self.live.get(&flow).copied().unwrap_or(flow);
                self.sample_flow(place, flow, time);
                every.unwrap_or(Time::MAX)
            }
            Probe::Generator {
                generator: program,
                interval: every,
            } => {
                let of = |index: u32| self.play.reacting.generator_of(index).map(|(program, _)| program);
                let live = self.live.iter().filter(|(index, _)| of(**index) == Some(program));
                let live: Vec<_> = live.map(|(&index, &place)| (index, place)).collect();
                for (index, place) in live {
                    self.sample_flow(place, index, time);
                }
                every.unwrap_or(Time::MAX)
            }
            Probe::Queue { .. }
            | Probe::Latency { .. }
            | Probe::GeneratorLatency { .. }
            | Probe::Packets { .. } => Time::MAX,
        }
    }

    fn sample_flow(&mut self, place: u32, flow: u32, time: Time) {
        let part = self.play.parts.get(place as usize);
        let Some(part) = part.filter(|part| part.index == flow) else {
            return;
        };
        for (info, subflow) in part.connection.windows().iter().zip(0..) {
            let unlimited = info.ssthresh >= INFINITE_SSTHRESH;
            let active = part
                .connection
                .token
                .is_none_or(|token| (self.play.active)(token, subflow));
            self.played.samples.push(Sample::Subflow {
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

/// How long the event queue is waited for before the wish to stop is looked at.
const LOOK_UP: u16 = 100;
/// How often progress is reported.
const TELL: Time = Time::from_ms(100);
/// Bytes read at a time.
const ROOM: usize = 1 << 18;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
