//! Helpers that run an experiment and read its tables.

use std::ops::ControlFlow;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use weft_lab::{Experiment, RunOptions, RunResult};

/// Parses a spec with changes, such as "duration=1s".
pub fn parse<S: AsRef<str>>(text: &str, changes: &[S]) -> Experiment {
    let changes: Vec<_> = changes.iter().map(|change| change.as_ref().to_owned()).collect();
    Experiment::parse(text, &changes).unwrap()
}

/// Parses a spec with changes, and checks that the resolved spec is an equal experiment.
pub fn resolved<S: AsRef<str>>(text: &str, changes: &[S]) -> Experiment {
    let experiment = parse(text, changes);
    let again = Experiment::parse(&experiment.spec().to_string(), &[]).unwrap();
    assert_eq!(again.spec(), experiment.spec());
    experiment
}

pub fn run_with(experiment: &Experiment, options: RunOptions) -> RunResult {
    experiment.run(options, |_| ControlFlow::Continue(())).unwrap()
}

/// Runs an experiment with a trace hash.
pub fn run_on(experiment: &Experiment, threads: usize) -> RunResult {
    let options = RunOptions {
        threads: Some(threads),
        trace_hash: true,
    };
    run_with(experiment, options)
}

pub fn table<'a>(run: &'a RunResult, name: &str) -> &'a RecordBatch {
    &run.tables.iter().find(|(table, _)| *table == name).unwrap().1
}

pub fn numbers(table: &RecordBatch, column: &str) -> Vec<Option<f64>> {
    let column = table.column_by_name(column).unwrap();
    column.as_primitive::<Float64Type>().iter().collect()
}

pub fn counts<'a>(table: &'a RecordBatch, column: &str) -> &'a [u64] {
    let column = table.column_by_name(column).unwrap();
    column.as_primitive::<UInt64Type>().values()
}

/// Returns the indices of a column without nulls.
pub fn indices<'a>(table: &'a RecordBatch, column: &str) -> &'a [u32] {
    let column = table.column_by_name(column).unwrap();
    column.as_primitive::<UInt32Type>().values()
}

/// Returns the indices of a column with nulls.
pub fn optional_indices(table: &RecordBatch, column: &str) -> Vec<Option<u32>> {
    let column = table.column_by_name(column).unwrap();
    column.as_primitive::<UInt32Type>().iter().collect()
}

pub fn texts(table: &RecordBatch, column: &str) -> Vec<String> {
    let column = table.column_by_name(column).unwrap().as_string::<i32>();
    column.iter().flatten().map(str::to_owned).collect()
}
