//! Empirical distributions of sizes: cumulative distributions from the literature.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, conflict, list_names, read_text, refuse};

use crate::sizes::{MAX_SIZE, SizeSampler};

/// The workloads of the package, by name.
pub const WORKLOADS: &[(&str, &str)] = &[
    ("data-mining", include_str!("../data/data-mining.cdf")),
    ("web-search", include_str!("../data/web-search.cdf")),
];

/// Cumulative distribution of sizes, linear between its points: the workload or file `cdf`, or
/// `points`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Empirical {
    /// Name of a workload, "data-mining" or "web-search", or path of a file, relative to the spec's
    /// folder. Each line of the file is a point: a size and a cumulative probability, as a fraction
    /// or in percent. A comment states the unit: "# size in bytes" or "# size in packets of 1460
    /// bytes".
    cdf: Option<String>,
    /// Unit of the file's sizes, if the file does not state it: "1B", or "1460B" for packets.
    unit: Option<Size>,
    /// Points instead of a file: [size in bytes, cumulative probability as a fraction]. A resolved spec has
    /// the points of its file here.
    points: Option<Vec<[f64; 2]>>,
    #[serde(skip)]
    curve: Vec<[f64; 2]>,
}

/// Maximum size of a file in bytes, enough for a curve of ten thousands of points.
const MAX_CDF_BYTES: u64 = 1 << 20;

impl SizeSampler for Empirical {
    fn check(&mut self) -> Result<(), SpecError> {
        if let Some(points) = &self.points {
            if self.cdf.is_some() || self.unit.is_some() {
                let field = if self.cdf.is_some() { "cdf" } else { "unit" };
                return conflict(field, "given together with points", "remove one of the two");
            }
            let position = |i: usize| format!("points[{i}]");
            check(points, position, "points")
                .map_err(|(path, given, allowed)| SpecError::new(path, given, allowed))?;
            if let Some([_, last]) = points.last().filter(|[_, last]| *last != 1.0) {
                return refuse("points", format!("ends at {last}"), "1 at the end");
            }
            self.curve.clone_from(points);
            return Ok(());
        }
        let Some(name) = &self.cdf else {
            return conflict(
                "cdf",
                "required field is missing",
                "set cdf to a workload or a file, or set points",
            );
        };
        self.unit.map_or(Ok(()), |unit| unit.above_zero("unit"))?;
        if let Some((_, text)) = WORKLOADS.iter().find(|(workload, _)| workload == name) {
            self.curve = read(text, self.unit).map_err(|error| error.into_spec_error("cdf", name))?;
            return Ok(());
        }
        let text = read_text(name, MAX_CDF_BYTES).map_err(|error| {
            let allowed = format!(
                "a file of at most {MAX_CDF_BYTES} bytes of text, or a workload: {}",
                list_names(WORKLOADS.iter().map(|(name, _)| name))
            );
            SpecError::new("cdf", format!("{name:?}: {error}"), allowed)
        })?;
        self.curve = read(&text, self.unit).map_err(|error| error.into_spec_error("cdf", name))?;
        // The points are part of the resolved spec, because the file may change.
        self.points = Some(self.curve.clone());
        (self.cdf, self.unit) = (None, None);
        Ok(())
    }

    fn mean(&self) -> f64 {
        let first = self.curve.first().map_or(0.0, |[size, p]| size * p);
        let between = |pair: &[[f64; 2]]| (pair[1][1] - pair[0][1]) * f64::midpoint(pair[0][0], pair[1][0]);
        first + self.curve.windows(2).map(between).sum::<f64>()
    }

    /// Returns the size at which the curve passes a uniform random number.
    fn sample(&self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        let u: f64 = rng.random();
        let above = self.curve.partition_point(|&[_, p]| p <= u);
        match (above.checked_sub(1).map(|i| self.curve[i]), self.curve.get(above)) {
            (None, Some(&[size, _])) | (Some([size, _]), None) => size,
            (Some([from, p]), Some(&[to, q])) => from + (to - from) * (u - p) / (q - p),
            (None, None) => 0.0,
        }
    }
}

/// An error in a file, with its position.
struct ParseError {
    line: Option<usize>,
    given: String,
    allowed: String,
}

impl ParseError {
    fn into_spec_error(self, field: &str, file: &str) -> SpecError {
        let line = self.line.map(|line| format!(", line {line}")).unwrap_or_default();
        SpecError::new(field, format!("{file:?}{line}: {}", self.given), self.allowed)
    }
}

/// Reads the points of a file: sizes in bytes, probabilities as fractions. `unit` overrides the
/// unit in the file.
fn read(text: &str, unit: Option<Size>) -> Result<Vec<[f64; 2]>, ParseError> {
    let (mut points, mut lines, mut said) = (Vec::new(), Vec::new(), None);
    for (number, line) in (1..).zip(text.lines()) {
        let (data, comment) = line.split_once('#').unwrap_or((line, ""));
        said = said.or_else(|| unit_in(comment));
        let fields: Vec<&str> = data
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|field| !field.is_empty())
            .collect();
        if fields.is_empty() {
            continue;
        }
        let numbers: Vec<f64> = fields.iter().filter_map(|field| field.parse().ok()).collect();
        let (2, &[size, p]) = (fields.len(), numbers.as_slice()) else {
            // The workloads of Homa (Montazeri et al., SIGCOMM 2018) begin with their mean.
            let allowed = if points.is_empty() && matches!(numbers[..], [_]) && fields.len() == 1 {
                "two numbers in a line, and comments after #; write # before the number if it is the mean"
            } else {
                "two numbers in a line, and comments after #"
            };
            return Err(ParseError {
                line: Some(number),
                given: format!("{:?} is not a size and a probability", data.trim()),
                allowed: allowed.into(),
            });
        };
        points.push([size, p]);
        lines.push(number);
    }
    let unit = unit.map(|unit| unit.0 as f64).or(said).ok_or_else(|| ParseError {
        line: None,
        given: "no unit of its sizes".into(),
        allowed: "a line \"# size in bytes\" or \"# size in packets of 1460 bytes\" in it, or unit = \"1B\" or \"1460B\" \
                  next to it"
            .into(),
    })?;
    for point in &mut points {
        point[0] *= unit;
    }
    check(&points, |i| lines[i].to_string(), "").map_err(|(line, given, allowed)| ParseError {
        line: line.parse().ok(),
        given,
        allowed,
    })?;
    let whole = match points.last() {
        Some([_, 1.0]) => 1.0,
        Some([_, 100.0]) => 100.0,
        last => {
            let given = format!("ends at {}", last.map_or(0.0, |[_, p]| *p));
            let allowed = "1 (or 100, in percent) at the end".into();
            return Err(ParseError {
                line: lines.last().copied(),
                given,
                allowed,
            });
        }
    };
    Ok(points.into_iter().map(|[size, p]| [size, p / whole]).collect())
}

/// Returns the bytes of a unit, if a comment names it: "packets of N bytes", or "bytes".
fn unit_in(comment: &str) -> Option<f64> {
    let words: Vec<&str> = comment
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let has = |wanted: [&str; 2], at: usize| words.get(at..at + 2).is_some_and(|found| found == wanted);
    for (i, word) in words.iter().enumerate() {
        if has(["packets", "of"], i) && matches!(words.get(i + 3), Some(&("bytes" | "B"))) {
            return words[i + 2].parse().ok().filter(|&bytes: &f64| bytes > 0.0);
        }
        if *word == "packets" {
            return None;
        }
        if *word == "bytes" {
            return Some(1.0);
        }
    }
    None
}

/// Checks that the points are a curve that rises from point to point. An error has the position,
/// the given value and the allowed ones.
fn check(
    points: &[[f64; 2]],
    position: impl Fn(usize) -> String,
    none: &str,
) -> Result<(), (String, String, String)> {
    if points.len() < 2 {
        let given = format!("{} points", points.len());
        return Err((none.to_owned(), given, "at least 2 points".into()));
    }
    for (i, &[size, p]) in points.iter().enumerate() {
        if !(size >= 0.0 && size.is_finite() && p >= 0.0 && p.is_finite()) {
            let given = format!("size {size}, probability {p}");
            return Err((position(i), given, "numbers from 0".into()));
        }
        if size > MAX_SIZE {
            let given = format!("size {size:e} in bytes");
            return Err((position(i), given, "at most 1e12 bytes, 1TB".into()));
        }
        let Some(&[before, q]) = i.checked_sub(1).map(|i| &points[i]) else {
            continue;
        };
        if size < before || p < q || (size == before && p == q) {
            let given = format!("({size}, {p}) after ({before}, {q}) does not rise");
            return Err((
                position(i),
                given,
                "sizes and probabilities that rise from line to line".into(),
            ));
        }
    }
    Ok(())
}
