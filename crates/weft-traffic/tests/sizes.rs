//! Distributions of sizes: their means, their bounds, and the errors of invalid fields and files.

use std::io::Write;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use weft_spec::SpecError;
use weft_traffic::SizeDistribution;

fn distribution(fields: &str) -> Result<SizeDistribution, SpecError> {
    let mut table: toml::Table = fields.parse().unwrap();
    let kind = table.remove("kind").unwrap();
    SizeDistribution::new(kind.as_str().unwrap(), &table)
}

fn draws(distribution: &SizeDistribution, n: usize) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    (0..n)
        .map(|_| distribution.sample(&mut random).0 as f64)
        .collect()
}

/// Fields, the mean in bytes and the standard deviation of one draw, both computed by hand.
const MEANS: &[(&str, f64, f64)] = &[
    ("kind = \"constant\"\nsize = \"64KB\"", 64e3, 0.0),
    // (b - a) / sqrt(12).
    (
        "kind = \"uniform\"\nmin = \"1KB\"\nmax = \"1MB\"",
        500_500.0,
        288_386.5,
    ),
    ("kind = \"exponential\"\nmean = \"100KB\"", 1e5, 1e5),
    // Shape 3: L = 2/3 mean, variance L^2 * 3 / (4 * 1).
    ("kind = \"pareto\"\nshape = 3.0\nmean = \"300KB\"", 3e5, 173_205.0),
    // Bounded at 100 times the mean: the variance is below E[X^2] = about 3 L^1.5 H^0.5 with L near
    // 0.36 mean.
    (
        "kind = \"pareto\"\nshape = 1.5\nmean = \"1MB\"\nmax = \"100MB\"",
        1e6,
        2.6e6,
    ),
    (
        "kind = \"pareto\"\nshape = 1.0\nmean = \"1MB\"\nmax = \"10MB\"",
        1e6,
        1.7e6,
    ),
    (
        "kind = \"pareto\"\nshape = 0.5\nmean = \"1MB\"\nmax = \"10MB\"",
        1e6,
        2.0e6,
    ),
    // Means by the trapezoidal rule over the files' rows, in packets of 1460 bytes.
    (
        "kind = \"empirical\"\ncdf = \"data-mining\"",
        5117.0 * 1460.0,
        4.4e4 * 1460.0,
    ),
    (
        "kind = \"empirical\"\ncdf = \"web-search\"",
        1140.6 * 1460.0,
        2.8e3 * 1460.0,
    ),
    ("kind = \"empirical\"\npoints = [[10, 0.5], [20, 1]]", 12.5, 3.6),
];

/// The mean of 200,000 draws is within 4 standard errors of the exact mean.
#[test]
fn draws_have_the_mean_that_is_asked_for() {
    for &(fields, mean, deviation) in MEANS {
        let distribution = distribution(fields).unwrap();
        let stated = distribution.mean();
        assert!((stated / mean - 1.0).abs() < 1e-3, "{fields}: {stated}");
        let draws = draws(&distribution, 200_000);
        let found = draws.iter().sum::<f64>() / draws.len() as f64;
        let band = 4.0 * deviation / (draws.len() as f64).sqrt() + 1e-3 * mean;
        assert!(
            (found - mean).abs() <= band,
            "{fields}: {found} and not {mean} ± {band}"
        );
    }
}

/// Quantiles of 100,000 draws: (fields, size, fraction of draws at or below it), computed by hand.
#[test]
fn draws_follow_the_curve() {
    let table = [
        ("kind = \"empirical\"\ncdf = \"data-mining\"", 1460.0, 0.5),
        ("kind = \"empirical\"\ncdf = \"data-mining\"", 267.0 * 1460.0, 0.9),
        (
            "kind = \"empirical\"\ncdf = \"web-search\"",
            26.0 * 1460.0,
            0.3 + 0.1 * 7.0 / 14.0,
        ),
        ("kind = \"uniform\"\nmin = \"1KB\"\nmax = \"3KB\"", 2000.0, 0.5),
        (
            "kind = \"exponential\"\nmean = \"1MB\"",
            1e6,
            1.0 - (-1.0_f64).exp(),
        ),
        // L = mean / 3; P(X > 4 L) = 4^-1.5.
        (
            "kind = \"pareto\"\nshape = 1.5\nmean = \"192MB\"",
            256e6,
            1.0 - 0.125,
        ),
    ];
    for (fields, size, share) in table {
        let draws = draws(&distribution(fields).unwrap(), 100_000);
        let found = draws.iter().filter(|&&drawn| drawn <= size).count() as f64 / 1e5;
        assert!(
            (found - share).abs() < 0.008,
            "{fields}: {found} at or below {size}, not {share}"
        );
    }
}

#[test]
fn bounds_hold() {
    let pareto = distribution("kind = \"pareto\"\nshape = 1.2\nmean = \"1MB\"\nmax = \"20MB\"").unwrap();
    assert!(draws(&pareto, 100_000).iter().all(|&size| size <= 20e6));
    let uniform = distribution("kind = \"uniform\"\nmin = \"2B\"\nmax = \"4B\"").unwrap();
    let drawn = draws(&uniform, 1_000);
    assert!(
        [2.0, 3.0, 4.0].iter().all(|size| drawn.contains(size))
            && drawn.iter().all(|s| (2.0..=4.0).contains(s))
    );
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn from_file(text: &str, beside: &str) -> Result<SizeDistribution, SpecError> {
    let file = file(text);
    distribution(&format!(
        "kind = \"empirical\"\ncdf = '{}'\n{beside}",
        file.path().display()
    ))
}

/// Different notations give one curve, with a mean of 3500 bytes.
#[test]
fn files_say_their_unit_and_whether_they_are_in_percent() {
    let table = [
        ("# size in bytes\n1000 0\n6000 1\n", ""),
        (
            "# columns: size in packets of 1000 bytes, cumulative probability\n1 0\n6 1\n",
            "",
        ),
        ("# bytes, percent\n1000, 0\n6000, 100\n", ""),
        ("1 0\n6 1", "unit = \"1000B\""),
        ("# size in packets of 1460 bytes\n1\t0\n6\t1", "unit = \"1KB\""),
    ];
    for (text, beside) in table {
        let distribution = from_file(text, beside).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(
            (distribution.mean() - 3500.0).abs() < 1e-9,
            "{text}: {}",
            distribution.mean()
        );
        // The resolved spec contains the points, so it does not depend on the file.
        let resolved = toml::Value::try_from(&distribution).unwrap();
        let points = resolved["points"].as_array().unwrap();
        assert_eq!((points.len(), resolved.get("cdf")), (2, None));
    }
}

/// Text, fields in addition to `cdf`, and the error after the file's name.
const FILES: &[(&str, &str, &str)] = &[
    (
        "1 0\n6 1\n",
        "",
        ": no unit of its sizes; allowed: a line \"# size in bytes\" or",
    ),
    (
        "# size in packets\n1 0\n6 1\n",
        "",
        ": no unit of its sizes; allowed:",
    ),
    (
        "# bytes\n1 0\n5 0.5\n4 0.6\n6 1",
        "",
        ", line 4: (4, 0.6) after (5, 0.5) does not rise; allowed: sizes and",
    ),
    (
        "# bytes\n1 0\n\n5 0.5\n6 0.4\n7 1",
        "",
        ", line 5: (6, 0.4) after (5, 0.5) does not rise",
    ),
    (
        "# bytes\n1 0\n1 0\n7 1",
        "",
        ", line 3: (1, 0) after (1, 0) does not rise",
    ),
    (
        "# bytes\n1 0\n6 0.99",
        "",
        ", line 3: ends at 0.99; allowed: 1 (or 100, in percent) at the end",
    ),
    (
        "# bytes\n1 0\n6 99",
        "",
        ", line 3: ends at 99; allowed: 1 (or 100",
    ),
    (
        "# bytes\n1 0\n6 x",
        "",
        ", line 3: \"6 x\" is not a size and a probability; allowed: two numbers",
    ),
    (
        "# bytes\n1 0 1",
        "",
        ", line 2: \"1 0 1\" is not a size and a probability",
    ),
    (
        "# bytes\n-1 0\n6 1",
        "",
        ", line 2: size -1, probability 0; allowed: numbers from 0",
    ),
    ("# bytes\n6 1", "", ": 1 points; allowed: at least 2 points"),
    ("", "unit = \"1B\"", ": 0 points; allowed: at least 2 points"),
];

#[test]
fn bad_files_are_refused_by_line() {
    for &(text, beside, expected) in FILES {
        let error = from_file(text, beside).unwrap_err().to_string();
        let (_, said) = error
            .split_once('"')
            .and_then(|(_, rest)| rest.split_once('"'))
            .unwrap();
        assert!(
            error.starts_with("cdf: \"") && said.starts_with(expected),
            "{text}\n  {error}\nnot\n  {expected}"
        );
    }
}

const REFUSALS: &[(&str, &str)] = &[
    (
        "kind = \"zipf\"",
        "kind: \"zipf\" does not exist; allowed: \"constant\", \"uniform\", \"exponential\", \"pareto\"",
    ),
    (
        "kind = \"uniform\"\nmin = \"2KB\"\nmax = \"1KB\"",
        "max: 1KB; allowed: at least min, 2KB",
    ),
    (
        "kind = \"uniform\"\nmin = \"0B\"\nmax = \"1KB\"",
        "min: 0B; allowed: a size above 0",
    ),
    (
        "kind = \"exponential\"",
        "mean: required field is missing; add it: Mean size",
    ),
    (
        "kind = \"exponential\"\nmean = \"0B\"",
        "mean: 0B; allowed: a size above 0",
    ),
    (
        "kind = \"pareto\"\nshape = 1.0\nmean = \"1KB\"",
        "shape: 1 without max has an infinite mean; allowed: a number above 1",
    ),
    (
        "kind = \"pareto\"\nshape = 0\nmean = \"1KB\"",
        "shape: 0; allowed: 0.01 to 100",
    ),
    (
        "kind = \"pareto\"\nshape = 2\nmean = \"1KB\"\nmax = \"1KB\"",
        "max: 1KB; allowed: a size above the mean, 1KB",
    ),
    (
        "kind = \"pareto\"\nshape = 2\nmean = 1000",
        "mean: 1000 is a bare number without a unit; allowed: a size",
    ),
    (
        "kind = \"empirical\"",
        "cdf: required field is missing; set cdf to a workload or a file, or set points",
    ),
    (
        "kind = \"empirical\"\ncdf = \"cache\"",
        "cdf: \"cache\": No such file or directory (os error 2); allowed: a file of at most 1048576 bytes of text, or a workload: \"data-mining\", \"web-search\"",
    ),
    (
        "kind = \"empirical\"\npoints = [[1, 0], [2, 0.5]]",
        "points: ends at 0.5; allowed: 1 at the end",
    ),
    (
        "kind = \"empirical\"\npoints = [[1, 0.5], [2, 0.4]]",
        "points[1]: (2, 0.4) after (1, 0.5) does not rise",
    ),
    (
        "kind = \"empirical\"\ncdf = \"web-search\"\npoints = [[1, 0], [2, 1]]",
        "cdf: given together with points; remove",
    ),
];

#[test]
fn refusals_name_the_field_what_was_given_and_what_is_allowed() {
    for (fields, expected) in REFUSALS {
        let got = distribution(fields).unwrap_err().to_string();
        assert!(
            got.starts_with(expected),
            "{fields} gives\n  {got}\nnot\n  {expected}"
        );
    }
}
