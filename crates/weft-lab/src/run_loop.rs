//! A run in slices: finished rows are written, the stop condition is checked, and progress is
//! measured.

use std::time::Instant;

use weft_run::{ActiveRun, Error, Progress, ResultWriter};
use weft_spec::Time;

use crate::probes::MAX_SAMPLES;
use crate::slices::Slices;
use crate::throughput::ThroughputRecorders;

/// Minimum number of rows for a row group of their own.
const ROW_GROUP: usize = 1 << 16;

/// Interval of simulated time at which the stop condition is checked.
const STOP_CHECK_INTERVAL: Time = Time::from_ms(1);

/// A run and the slices that are left of it.
pub(crate) struct RunLoop {
    /// The run in progress.
    pub run: Box<dyn ActiveRun>,
    /// Time at which the stop condition was met.
    pub stopped: Option<Time>,
    /// Recorders of throughput.
    pub throughput: ThroughputRecorders,
    slices: Slices,
    duration: Time,
    /// Class and number of flows that end the run.
    stop: Option<(u32, u64)>,
    /// Start of the execution.
    began: Instant,
}

/// The result of a slice.
pub(crate) enum Step {
    /// The run goes on.
    Continue,
    /// The run goes on, or has met its stop condition; progress must be reported.
    Report(Progress),
    /// The run has reached its end.
    End,
}

impl RunLoop {
    /// Starts at the beginning of a run.
    pub fn new(
        run: Box<dyn ActiveRun>,
        throughput: ThroughputRecorders,
        duration: Time,
        stop: Option<(u32, u64)>,
        began: Instant,
    ) -> Self {
        let slices = Slices::new(duration, run.slice_granularity());
        let slices = match stop {
            Some(_) => slices.with_checkpoints(STOP_CHECK_INTERVAL.min(Time(duration.0 / 1_000))),
            None => slices,
        };
        Self {
            run,
            throughput,
            stopped: None,
            slices,
            duration,
            stop,
            began,
        }
    }

    /// Runs one slice, and writes the rows that have finished if there are enough.
    pub fn step(&mut self, writer: &mut ResultWriter) -> Result<Step, Error> {
        let Some(end) = self.slices.next() else {
            return Ok(Step::End);
        };
        let before = Instant::now();
        let now = self.run_until(end)?;
        self.slices.advance_to(now);
        check_traces(self.run.sample_rows() + self.throughput.rows())?;
        if let Some((class, number)) = self.stop
            && self.slices.at_checkpoint()
            && self.run.completed_flows(class) >= number
        {
            self.stopped = self.run.nth_completion(class, number);
        }
        if writer.folder.is_some() && self.run.finished_rows() >= ROW_GROUP {
            let finished = self.run.take_finished();
            self.throughput.on_taken(&finished.flows);
            writer.write_finished(&finished)?;
        }
        let report = self.slices.record_elapsed(before.elapsed());
        if !report && self.stopped.is_none() {
            return Ok(Step::Continue);
        }
        Ok(Step::Report(Progress {
            fraction: now.seconds() / self.duration.seconds(),
            simulated: now,
            packet_hops: self.run.packet_hops(),
            wall_seconds: self.began.elapsed().as_secs_f64(),
        }))
    }

    /// Records throughput up to the time that the run has reached.
    pub fn finish_throughput(&mut self) {
        self.throughput.finish(self.slices.now(), &*self.run);
    }

    /// Runs up to `end`, or as far as the run gets, and stops where throughput is recorded.
    fn run_until(&mut self, end: Time) -> Result<Time, Error> {
        while let Some(stop) = self.throughput.next_stop().filter(|&stop| stop <= end) {
            let now = self.run.run_until(stop)?;
            if now < stop {
                return Ok(now);
            }
            self.throughput.record(now, &*self.run);
        }
        self.run.run_until(end)
    }
}

/// Returns an error if the traces need more memory than allowed. The number of changes is known
/// only during the run.
fn check_traces(rows: usize) -> Result<(), Error> {
    if rows as u128 <= MAX_SAMPLES {
        return Ok(());
    }
    Err(Error::CannotRun(format!(
        "probes: more than {MAX_SAMPLES} changes, samples, latencies and packets; record fewer flows or links, set an interval, or shorten the run"
    )))
}
