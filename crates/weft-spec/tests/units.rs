//! Quantities with units: accepted and refused text, and the agreement of Display and parse.

use proptest::prelude::*;
use weft_spec::{Mark, QueueSize, Rate, Size, Time};

fn refusal<T: std::str::FromStr<Err = weft_spec::SpecError> + std::fmt::Debug>(text: &str) -> String {
    text.parse::<T>().unwrap_err().to_string()
}

#[test]
fn the_usual_quantities() {
    assert_eq!("10Gbps".parse(), Ok(Rate(10_000_000_000)));
    assert_eq!("2.5Gbps".parse(), Ok(Rate(2_500_000_000)));
    assert_eq!("100 Mbps".parse(), Ok(Rate(100_000_000)));
    assert_eq!("64kbps".parse(), Ok(Rate(64_000)));
    assert_eq!("2us".parse(), Ok(Time::from_us(2)));
    assert_eq!("0.5ms".parse(), Ok(Time::from_us(500)));
    assert_eq!("1.5min".parse(), Ok(Time::from_ms(90_000)));
    assert_eq!("0s".parse(), Ok(Time(0)));
    assert_eq!("128KB".parse(), Ok(Size(128_000)));
    assert_eq!("128kB".parse(), Ok(Size(128_000)));
    assert_eq!("128KiB".parse(), Ok(Size(131_072)));
    assert_eq!("0.5KiB".parse(), Ok(Size(512)));
    assert_eq!("1GiB".parse(), Ok(Size(1 << 30)));
    assert_eq!("100 packets".parse(), Ok(QueueSize::Packets(100)));
    assert_eq!("1 packet".parse(), Ok(QueueSize::Packets(1)));
    assert_eq!("150KB".parse(), Ok(QueueSize::Bytes(150_000)));
    assert_eq!("1.5KB".parse(), Ok(QueueSize::Bytes(1_500)));
    assert_eq!("off".parse(), Ok(Mark::Off));
    assert_eq!("10 packets".parse(), Ok(Mark::At(QueueSize::Packets(10))));
}

/// Spellings of the field, and the units that Display has instead.
#[test]
fn other_spellings_of_units() {
    for (text, shown) in [
        ("2\u{b5}s", "2us"),
        ("2\u{3bc}s", "2us"),
        ("1.5 \u{b5}s", "1500ns"),
    ] {
        assert_eq!(
            text.parse::<Time>().map(|time| time.to_string()),
            Ok(shown.to_owned())
        );
    }
    for (text, shown) in [
        ("1Tbit/s", "1Tbps"),
        ("10Gbit/s", "10Gbps"),
        ("2.5 Gbit/s", "2500Mbps"),
        ("100Mbit/s", "100Mbps"),
        ("64kbit/s", "64kbps"),
        ("10000bit/s", "10kbps"),
    ] {
        assert_eq!(
            text.parse::<Rate>().map(|rate| rate.to_string()),
            Ok(shown.to_owned())
        );
    }
    for text in ["10Gbit", "10 gbit/s", "10GB/s", "10Gbits/s"] {
        assert!(refusal::<Rate>(text).contains("has the unit"), "{text}");
    }
}

#[test]
fn what_is_refused_says_why_and_what_is_allowed() {
    let rate = "a rate with a unit, such as \"10Gbps\" (units: Tbps, Gbps, Mbps, kbps, bps, Kbps)";
    assert_eq!(
        refusal::<Rate>("10"),
        format!("\"10\" is a bare number without a unit; allowed: {rate}")
    );
    assert_eq!(
        refusal::<Rate>("-10Gbps"),
        format!("\"-10Gbps\" is negative; allowed: {rate}")
    );
    assert_eq!(
        refusal::<Rate>("10us"),
        format!("\"10us\" has the unit \"us\"; allowed: {rate}")
    );
    assert_eq!(
        refusal::<Rate>("0Gbps"),
        format!("\"0Gbps\" is less than 10kbps; allowed: {rate}")
    );
    assert_eq!(
        refusal::<Rate>("fast"),
        format!("\"fast\" is not a rate; allowed: {rate}")
    );
    assert_eq!(
        refusal::<Rate>(""),
        format!("\"\" is not a rate; allowed: {rate}")
    );
    assert_eq!(
        refusal::<Rate>("101Tbps"),
        format!("\"101Tbps\" is more than 100Tbps; allowed: {rate}")
    );
    assert_eq!(
        refusal::<Rate>("0.5bps"),
        format!("\"0.5bps\" is not a whole number of bps; allowed: {rate}")
    );
    for text in ["2e-06s", "1e+16s", "5E3 s"] {
        let said = format!("{text:?} has an exponent instead of all digits; allowed: a time with a unit");
        assert!(refusal::<Time>(text).starts_with(&said), "{text}");
    }
    assert!(refusal::<Time>("0.1ps").contains("not a whole number of ps"));
    assert!(refusal::<Time>("1.2.3s").contains("is not a time"));
    assert!(refusal::<Time>("1.s").contains("is not a time"));
    assert!(
        refusal::<Time>("99999999999999999999999999999999999999999999s").contains("is more than 1000000s")
    );
    assert!(refusal::<Time>("2 weeks").contains("has the unit \"weeks\""));
    assert!(refusal::<Size>("128K").contains("has the unit \"K\""));
    assert!(refusal::<QueueSize>("100").contains("such as \"100 packets\""));
    assert!(refusal::<QueueSize>("1.5 packets").contains("not a whole number of packets"));
    assert!(refusal::<QueueSize>("4294967296 packets").contains("is more than 4294967295 packets"));
    assert!(refusal::<Mark>("none").contains("\"off\", or"));
}

#[test]
fn display_takes_the_shortest_exact_form() {
    assert_eq!(Time::from_us(1_500).to_string(), "1500us");
    assert_eq!(Time(0).to_string(), "0s");
    assert_eq!(Time(1).to_string(), "1ps");
    assert_eq!(Size(131_072).to_string(), "128KiB");
    assert_eq!(Size(128_000).to_string(), "128KB");
    assert_eq!(Size(1 << 20).to_string(), "1MiB");
    assert_eq!(Size(0).to_string(), "0B");
    assert_eq!(Rate(10_000_000_000).to_string(), "10Gbps");
    assert_eq!(QueueSize::Packets(1).to_string(), "1 packet");
    assert_eq!(Mark::Off.to_string(), "off");
}

proptest! {
    #[test]
    fn time_round_trips(n in 0..=1_000_000_000_000_000_000u64) { prop_assert_eq!(Time(n).to_string().parse(), Ok(Time(n))); }

    #[test]
    fn rate_round_trips(n in 10_000..=100_000_000_000_000u64) { prop_assert_eq!(Rate(n).to_string().parse(), Ok(Rate(n))); }

    #[test]
    fn size_round_trips(n in 0..=1_000_000_000_000_000_000u64) { prop_assert_eq!(Size(n).to_string().parse(), Ok(Size(n))); }

    #[test]
    fn amount_round_trips(packets: bool, n: u32) {
        let amount = if packets { QueueSize::Packets(n) } else { QueueSize::Bytes(n.into()) };
        prop_assert_eq!(amount.to_string().parse(), Ok(amount));
    }

    /// Decimals are exact: N.F microseconds are N million and F picoseconds.
    #[test]
    fn decimals_are_exact(whole in 0u64..1_000_000, fraction in 0u64..1_000_000) {
        let text = format!("{whole}.{fraction:06}us");
        prop_assert_eq!(text.parse(), Ok(Time(whole * 1_000_000 + fraction)));
    }

    /// Any text is accepted or refused, and an error quotes the text on one line.
    #[test]
    fn any_text_is_answered(text in "(?s).{0,15}") {
        for refusal in [
            text.parse::<Time>().err(), text.parse::<Rate>().err(), text.parse::<Size>().err(),
            text.parse::<QueueSize>().err(), text.parse::<Mark>().err(),
        ].into_iter().flatten() {
            let line = refusal.to_string();
            prop_assert!(!line.contains('\n') && line.contains("; allowed: "));
            let quoted = format!("{text:?}");
            prop_assert!(line.contains(&quoted));
        }
    }

    /// Nearly valid text: numbers of any length with any unit are parsed or refused.
    #[test]
    fn near_misses_are_answered(text in "-?[0-9]{0,30}\\.?[0-9]{0,45} ?(s|us|ps|min|Gbps|TiB|KB|packets?|)") {
        let _ = (text.parse::<Time>(), text.parse::<Rate>(), text.parse::<Size>(), text.parse::<QueueSize>());
    }

    /// The published pattern and the parser agree on valid text (apart from ranges).
    #[test]
    fn what_parses_matches_the_pattern(text in "[0-9]{1,3}(\\.[0-9]{1,3})? {0,2}(s|ms|us|ns|min)") {
        prop_assert!(text.parse::<Time>().is_ok());
    }
}
