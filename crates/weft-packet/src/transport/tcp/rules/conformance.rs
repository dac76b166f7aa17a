//! Public scripts by which the Internet's TCP is tested, from the table in `tests/conformance/scripts`. The same table is played
//! against a kernel by `make conformance`; `docs/validation/conformance.md` describes its notation.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::peer::Peer;
use super::*;
use crate::packet::{DATA, ECT, RETRANSMIT};
use crate::transport::tcp::wire::{ACK, CWR, DSACK, ECE, JOIN_ACK, SYN, kind};

/// Payload bytes of a segment: scripts count in segments.
const MSS: u32 = 1000;

/// Time by which an answer may be early or late: a kernel's timers are in ticks, of 4 ms where scripts are played.
const TOLERANCE: u64 = 5 * MS;

/// Time in which everything that a step causes immediately has happened.
const SETTLE: u64 = 100 * US;

/// Segments that are never written, so that a connection stays open after its script.
const NEVER_WRITTEN: u64 = 1_000_000;

/// A line of a script.
struct Step {
    text: String,
    /// Earliest and latest time after the step before, in picoseconds.
    after: (u64, u64),
    kind: String,
    words: Vec<String>,
}

/// A script of the table.
struct Entry {
    name: String,
    setup: toml::Table,
    steps: Vec<Step>,
    /// True if Weft is known to differ.
    differs: bool,
}

fn milliseconds(text: &str) -> u64 {
    (text.parse::<f64>().unwrap() * MS as f64) as u64
}

/// Returns a range of segments, as in `4-7`, in bytes; a single number is one segment.
fn bytes(text: &str) -> (u32, u32) {
    let byte = |text: &str| (text.parse::<f64>().unwrap() * f64::from(MSS)).round() as u32;
    match text.split_once('-') {
        Some((start, end)) => (byte(start), byte(end)),
        None => (byte(text), byte(text) + MSS),
    }
}

impl Step {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split('#').next()?.split_whitespace().map(str::to_owned);
        let time = words.next()?;
        let time = time
            .strip_prefix('+')
            .unwrap_or_else(|| panic!("{line}: no time"));
        let (first, last) = time.split_once("..").unwrap_or((time, time));
        Some(Self {
            text: line.trim().to_owned(),
            after: (milliseconds(first), milliseconds(last)),
            kind: words.next().unwrap_or_else(|| panic!("{line}: no kind")),
            words: words.collect(),
        })
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }

    /// Returns the word after `name`.
    fn option(&self, name: &str) -> Option<&str> {
        let at = self.words.iter().position(|w| w == name)?;
        Some(&self.words[at + 1])
    }

    /// Returns the subflow of the step.
    fn subflow(&self) -> u32 {
        self.option("on").map_or(0, |s| s.parse().unwrap())
    }
}

/// Returns the scripts that Weft can play.
fn table() -> Vec<Entry> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/scripts");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut entries = Vec::new();
    for file in files {
        let table: toml::Table = toml::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for script in table["script"].as_array().unwrap() {
            if script.get("not_modelled").is_some() {
                continue;
            }
            entries.push(Entry {
                name: script["name"].as_str().unwrap().to_owned(),
                setup: script
                    .get("setup")
                    .map_or_else(toml::Table::new, |setup| setup.as_table().unwrap().clone()),
                steps: script["steps"]
                    .as_str()
                    .unwrap()
                    .lines()
                    .filter_map(Step::parse)
                    .collect(),
                differs: script.get("weft").is_some(),
            });
        }
    }
    entries
}

/// Plays a script.
struct Player {
    run: Run,
    /// Time of the last step.
    now: u64,
    /// Number of packets of each peer that steps have stated.
    stated: Vec<usize>,
    written: u64,
    header: u32,
    /// Whether everything that is sent must be stated.
    checks_data: bool,
    rtt: u64,
}

impl Player {
    fn new(entry: &Entry) -> Self {
        let number = |name: &str, default: i64| {
            entry
                .setup
                .get(name)
                .map_or(default, |value| value.as_integer().unwrap())
        };
        let flag = |name: &str, default: bool| {
            entry
                .setup
                .get(name)
                .map_or(default, |value| value.as_bool().unwrap())
        };
        let subflows = number("subflows", 1) as u32;
        let mut profile = Profile::linux();
        profile.sizes.mss = MSS;
        profile.options.timestamps = flag("timestamps", false);
        profile.options.frto = flag("frto", true);
        profile.loss.tail_loss_probe = flag("tlp", true);
        profile.window.slow_start_after_idle = number("slow_start_after_idle", 0) == 1;
        profile.window.pacing = flag("pacing", false);
        if !flag("sack", true) {
            profile.loss.recovery = Recovery::NewReno;
        }
        if let Some(buffer) = entry.setup.get("receive_buffer") {
            profile.connection.receive_buffer = buffer.as_integer().unwrap() as u64 * u64::from(MSS);
        }
        let cc = entry.setup.get("cc").map_or("cubic", |cc| cc.as_str().unwrap());
        let parameters = if flag("ecn", false) {
            vec![("ecn".to_owned(), 1.0)]
        } else {
            Vec::new()
        };
        let written: u64 = entry
            .steps
            .iter()
            .filter(|step| step.kind == "write")
            .map(|step| step.words[0].parse::<u64>().unwrap())
            .sum();
        let header = profile.sizes.header;
        let test = TestConnection {
            profile,
            cc: Algorithm::build(cc, &parameters).unwrap(),
            subflows,
            scheduler: if subflows > 1 {
                Scheduler::Linux
            } else {
                Scheduler::RoundRobin
            },
            bytes: Some((written + NEVER_WRITTEN) * u64::from(MSS)),
            // Only the script writes.
            rate: Some(Rate(1)),
            delays: vec![DELAY; subflows as usize],
            ..TestConnection::new()
        };
        let rtt = number("rtt", 100) as u64 * MS;
        let receives = flag("receiver", false);
        let mut run = test.start_with(!receives, |shared| TestNode::Peer(Peer::new(rtt, shared.hops)));
        let now = if receives {
            run.inject(
                0,
                0,
                Packet {
                    flags: SYN,
                    ..Packet::default()
                },
                true,
            );
            MS
        } else {
            rtt + 2 * (DELAY + serialisation(66))
        };
        run.until(now + SETTLE);
        let mut player = Self {
            run,
            now,
            stated: vec![0; subflows as usize],
            written: 0,
            header,
            checks_data: flag("checks_data", true),
            rtt,
        };
        player.skip_sent();
        player
    }

    /// Leaves out the packets that were sent so far.
    fn skip_sent(&mut self) {
        for (path, stated) in self.stated.iter_mut().enumerate() {
            *stated = self.run.peer(path as u32).seen.len();
        }
    }

    /// Returns the next packet that no step has stated, of the peer on this path.
    fn next(&self, path: u32, wanted: PacketKind) -> Option<(usize, Packet)> {
        let seen = &self.run.peer(path).seen;
        (self.stated[path as usize]..seen.len())
            .map(|i| (i, seen[i]))
            .find(|(_, packet)| kind(packet) == Some(wanted))
    }

    fn play(&mut self, entry: &Entry) -> Result<(), String> {
        for step in &entry.steps {
            let done = match step.kind.as_str() {
                "write" => self.write(step),
                "ack" => self.ack(step),
                "send" => self.expect_data(step),
                "info" => self.expect_info(step),
                "data" => self.data(step),
                "reply" => self.expect_reply(step),
                "join" => self.expect_join(step),
                "open" => self.open(step),
                "prio" => self.set_priority(step),
                kind => panic!("{}: {kind}: no such kind of step", step.text),
            };
            done.map_err(|difference| format!("{}: {difference}", step.text))?;
        }
        Ok(())
    }

    /// Goes to the time of a step at which the script acts. Nothing unexpected may have come before.
    fn act_at(&mut self, step: &Step) -> Result<u64, String> {
        self.now += step.after.0;
        self.run.until(self.now.max(self.run.engine.now()));
        if !self.checks_data {
            self.skip_sent();
        }
        for path in 0..self.stated.len() as u32 {
            if let Some((_, packet)) = self.next(path, PacketKind::Data) {
                return Err(format!("sent {}", self.describe(&packet)));
            }
        }
        Ok(self.run.engine.now().max(self.now))
    }

    fn describe(&self, packet: &Packet) -> String {
        let len = u32::from(packet.size) - self.header;
        let segment = |byte: u32| f64::from(byte) / f64::from(MSS);
        format!("{}-{}", segment(packet.seq), segment(packet.seq + len))
    }

    fn write(&mut self, step: &Step) -> Result<(), String> {
        let at = self.act_at(step)?;
        self.written += step.words[0].parse::<u64>().unwrap();
        self.run.engine.set_timer(0, 0, at, WRITE | self.written);
        self.run.until(at + SETTLE);
        Ok(())
    }

    fn ack(&mut self, step: &Step) -> Result<(), String> {
        let at = self.act_at(step)?;
        let (seq, _) = bytes(&step.words[0]);
        let (lo, hi) = step.option("sack").map_or((0, 0), bytes);
        let mut flags = ACK;
        if step.has("dsack") {
            flags |= DSACK;
        }
        if step.has("ece") {
            flags |= ECE;
        }
        if step.has("echoes-retransmission") {
            flags |= RETRANSMIT;
        }
        let path = step.subflow();
        let chunk = step
            .option("data")
            .map_or(seq / MSS, |data| data.parse().unwrap());
        let slot = self.run.peer(path).slot;
        let ack = Packet {
            slot,
            seq,
            chunk,
            lo,
            hi,
            size: 66,
            flags,
            ..Packet::default()
        };
        self.run.inject(path, at, ack, false);
        self.run.until(at + SETTLE);
        Ok(())
    }

    fn expect_data(&mut self, step: &Step) -> Result<(), String> {
        let (first, last) = (self.now + step.after.0, self.now + step.after.1);
        let path = step.subflow();
        let is_range = |word: &&String| word.starts_with(|c: char| c.is_ascii_digit());
        let ranges = step.words.iter().take_while(is_range);
        let mut at = 0;
        for (mut start, end) in ranges.map(|word| bytes(word)).collect::<Vec<_>>() {
            let first_byte = start;
            while start < end {
                while self.next(path, PacketKind::Data).is_none() {
                    let now = self.run.engine.now();
                    if now > last + TOLERANCE {
                        return Err(format!("no segment {}", start / MSS));
                    }
                    self.run.until(now + SETTLE);
                }
                let (index, packet) = self.next(path, PacketKind::Data).unwrap();
                self.stated[path as usize] = index + 1;
                if packet.seq != start {
                    return Err(format!("sent {}, not {}", self.describe(&packet), start / MSS));
                }
                if let Some(data) = step.option("data")
                    && packet.chunk != data.parse::<u32>().unwrap() + (start - first_byte) / MSS
                {
                    return Err(format!("data {}", packet.chunk));
                }
                let flags = packet.flags;
                if step.has("ect") && flags & ECT == 0 {
                    return Err("not ECN-capable".to_owned());
                }
                if (flags & (ECT | CWR) == ECT | CWR) != step.has("cwr") {
                    return Err(format!("CWR is {}", !step.has("cwr")));
                }
                at = packet.time;
                if !(first.saturating_sub(TOLERANCE)..=last + TOLERANCE).contains(&at) {
                    let late = (at as f64 - first as f64) / MS as f64;
                    return Err(format!("{late:+.1} ms from the stated time"));
                }
                start += u32::from(packet.size) - self.header;
            }
        }
        if step.after.0 > 0 {
            self.now = at;
        }
        Ok(())
    }

    fn expect_info(&mut self, step: &Step) -> Result<(), String> {
        self.now += step.after.0;
        self.run.until(self.now.max(self.run.engine.now()));
        for word in step.words.iter().filter(|word| word.contains('=')) {
            let (name, expected) = word.split_once('=').unwrap();
            let value = self.info(name, step.subflow());
            if value != expected {
                return Err(format!("{name} is {value}"));
            }
        }
        Ok(())
    }

    /// Returns a value of `TCP_INFO`.
    fn info(&self, name: &str, subflow: u32) -> String {
        let window = &self.run.connection().windows()[subflow as usize];
        let subflow = self.run.subflow(subflow as usize);
        let segments = &subflow.segments;
        match name {
            "cwnd" => match subflow.state.prr() {
                Some(prr) => prr.cwnd().to_string(),
                None => window.cwnd.floor().to_string(),
            },
            "ssthresh" => window.ssthresh.floor().to_string(),
            "state" if subflow.state.is_fast_recovery() => "recovery".to_owned(),
            "state" if subflow.state.is_loss_recovery() => "loss".to_owned(),
            "state" if segments.sacked() > 0 => "disorder".to_owned(),
            "state" => "open".to_owned(),
            "unacked" => segments.len().to_string(),
            "sacked" => segments.sacked().to_string(),
            "lost" => segments.lost().to_string(),
            "retrans" => (segments.lost() - segments.lost_unsent()).to_string(),
            _ => panic!("{name}: no such value"),
        }
    }

    fn data(&mut self, step: &Step) -> Result<(), String> {
        let at = self.act_at(step)?;
        let (start, end) = bytes(&step.words[0]);
        let path = step.subflow();
        for seq in (start..end).step_by(MSS as usize) {
            let mut flags = DATA;
            if step.has("ce") {
                flags |= CE;
            }
            if step.has("cwr") {
                flags |= CWR;
            }
            let len = MSS.min(end - seq);
            let packet = Packet {
                slot: self.run.peer(path).slot,
                seq,
                chunk: step
                    .option("data")
                    .map_or(start / MSS, |data| data.parse().unwrap())
                    + (seq - start) / MSS,
                hi: path,
                size: (len + self.header) as u16,
                flags,
                ..Packet::default()
            };
            let now = self.run.engine.now().max(at);
            self.run.inject(path, now, packet, true);
            self.run.until(now + US);
        }
        let now = self.run.engine.now();
        self.run.until(now + SETTLE);
        Ok(())
    }

    fn expect_reply(&mut self, step: &Step) -> Result<(), String> {
        let (first, last) = (self.now + step.after.0, self.now + step.after.1);
        let path = step.subflow();
        while self.next(path, PacketKind::Ack).is_none() {
            let now = self.run.engine.now();
            if now > last + TOLERANCE {
                return Err("no acknowledgement".to_owned());
            }
            self.run.until(now + SETTLE);
        }
        let (index, packet) = self.next(path, PacketKind::Ack).unwrap();
        self.stated[path as usize] = index + 1;
        let block = (packet.lo, packet.hi);
        let sack = step.option("sack").map_or(block, bytes);
        let expected = (bytes(&step.words[0]).0, sack, step.has("dsack"), step.has("ece"));
        let (is_dsack, has_ece) = (packet.flags & DSACK != 0, packet.flags & ECE != 0);
        let got = (packet.seq, block, is_dsack, has_ece);
        if got != expected {
            return Err(format!("acknowledged {got:?}, not {expected:?}"));
        }
        if let Some(data) = step.option("data")
            && packet.chunk != data.parse::<u32>().unwrap()
        {
            return Err(format!("acknowledged data {}", packet.chunk));
        }
        if !(first.saturating_sub(TOLERANCE)..=last + TOLERANCE).contains(&packet.time) {
            let late = (packet.time as f64 - first as f64) / MS as f64;
            return Err(format!("{late:+.1} ms from the stated time"));
        }
        if step.after.0 > 0 {
            self.now = packet.time;
        }
        Ok(())
    }

    /// Expects that the sender joins. The peer completes the handshake by itself.
    fn expect_join(&mut self, step: &Step) -> Result<(), String> {
        let path = step.words[0].parse().unwrap();
        let last = self.now + step.after.1;
        while self.next(path, PacketKind::JoinAck).is_none() {
            let now = self.run.engine.now();
            if now > last + self.rtt + TOLERANCE {
                return Err("no join".to_owned());
            }
            self.run.until(now + SETTLE);
        }
        let (_, syn) = self.next(path, PacketKind::Syn).unwrap();
        let (index, ack) = self.next(path, PacketKind::JoinAck).unwrap();
        self.stated[path as usize] = index + 1;
        self.now = ack.time;
        self.run.until(ack.time + SETTLE);
        let first = (self.now + step.after.0).saturating_sub(self.rtt + TOLERANCE);
        if (first..=last + TOLERANCE).contains(&syn.time) {
            Ok(())
        } else {
            Err("not at the stated time".to_owned())
        }
    }

    /// Joins a receiver, which must confirm it.
    fn open(&mut self, step: &Step) -> Result<(), String> {
        let at = self.act_at(step)?;
        let path: u32 = step.words[0].parse().unwrap();
        let syn = Packet {
            hi: path,
            flags: SYN,
            ..Packet::default()
        };
        self.run.inject(path, at, syn, true);
        self.run.until(at + SETTLE);
        let slot = self.run.peer(path).slot;
        let third = Packet {
            slot,
            flags: JOIN_ACK,
            ..syn
        };
        self.run.inject(path, at + SETTLE, third, true);
        self.run.until(at + 2 * SETTLE);
        let confirmed = self.next(path, PacketKind::JoinConfirmed);
        confirmed
            .map(|_| ())
            .ok_or_else(|| "the join is not confirmed".to_owned())
    }

    /// Makes a subflow a backup, or active.
    fn set_priority(&mut self, step: &Step) -> Result<(), String> {
        let at = self.act_at(step)?;
        let subflow: u64 = step.words[0].parse().unwrap();
        let active = u64::from(step.words[1] == "active");
        self.run
            .engine
            .set_timer(0, 0, at, PRIORITY | subflow << 1 | active);
        self.run.until(at + SETTLE);
        Ok(())
    }
}

/// Weft answers each script of the table as the script states, except those that name a reason why it does not.
#[test]
fn weft_answers_as_public_scripts_state() {
    let entries = table();
    assert!(entries.len() >= 9, "{} scripts", entries.len());
    let (mut results, mut unexpected) = (String::new(), String::new());
    for entry in &entries {
        let difference = Player::new(entry).play(entry).err();
        let text = difference.as_deref().unwrap_or("");
        writeln!(results, "{}\t{text}", entry.name).unwrap();
        if difference.is_some() != entry.differs {
            let what = if entry.differs {
                "agrees, but is said to differ"
            } else {
                text
            };
            writeln!(unexpected, "{}: {what}", entry.name).unwrap();
        }
    }
    if let Ok(file) = std::env::var("WEFT_CONFORMANCE") {
        fs::write(file, results).unwrap();
    }
    assert!(unexpected.is_empty(), "\n{unexpected}");
}
