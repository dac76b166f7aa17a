//! Classes of flows: by traffic entry and, if an entry defines size classes, by size.

use std::collections::BTreeMap;

use weft_spec::{Spec, SpecError, Stop, Time, Traffic, TransportSpec, refuse};
use weft_traffic::{Flow, FlowClass, FlowClasses};

/// The origin of the flows of a traffic entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryFlows {
    /// They are static, and their number follows from the fields.
    Fixed,
    /// They are static, and their number depends on the seed.
    Drawn,
    /// They are static, and jitter decides whether some of them open before the end.
    Delayed,
    /// A generator opens them during the run.
    Generated,
}

/// Resolves the classes of one traffic entry, numbered from `first`: those by size, then the
/// default class. Paths of errors are relative to the entry.
pub(crate) fn resolve_classes(
    entry: &Traffic,
    transports: &BTreeMap<String, TransportSpec>,
    first: u32,
) -> Result<FlowClasses, SpecError> {
    let transport = |name: &str, path: String| {
        let found = transports.keys().position(|transport| transport == name);
        found.map(|index| index as u32).ok_or_else(|| {
            if transports.is_empty() {
                return SpecError::conflict(path, "the spec has no transports", "add one to [transports]");
            }
            SpecError::unknown_name(path, name, transports.keys().map(String::as_str))
        })
    };
    let default = FlowClass {
        transport: transport(&entry.transport, "transport".to_owned())?,
        class: first + entry.classes.len() as u32,
    };
    let mut below = Vec::with_capacity(entry.classes.len());
    for (i, (class, number)) in entry.classes.iter().zip(first..).enumerate() {
        let min = below.last().map_or(weft_spec::Size(0), |&(size, _)| size);
        if class.below <= min {
            let path = format!("classes[{i}].below");
            let given = match i {
                0 => class.below.to_string(),
                _ => format!("{} after a class below {min}", class.below),
            };
            return refuse(path, given, format!("a size above {min}"));
        }
        let transport = transport(&class.transport, format!("classes[{i}].transport"))?;
        below.push((
            class.below,
            FlowClass {
                transport,
                class: number,
            },
        ));
    }
    Ok(FlowClasses { below, default })
}

/// The names of the classes of all entries, in order.
#[derive(Clone, Debug)]
pub(crate) struct ClassNames {
    /// Name of each class.
    pub names: Vec<String>,
    /// Path in the spec of the definition of each class.
    paths: Vec<String>,
    /// Index of the traffic entry of each class.
    entries: Vec<usize>,
}

impl ClassNames {
    /// Collects the classes of a spec whose traffic entries have names. Returns an error if two
    /// classes have one name.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        let mut all = Self {
            names: Vec::new(),
            paths: Vec::new(),
            entries: Vec::new(),
        };
        for (i, entry) in spec.traffic.iter().enumerate() {
            for (c, class) in entry.classes.iter().enumerate() {
                let path = format!("traffic[{i}].classes[{c}]");
                let taken = all.names.contains(&class.name)
                    || spec
                        .traffic
                        .iter()
                        .any(|entry| entry.name.as_deref() == Some(&class.name));
                if taken || class.name.trim().is_empty() {
                    let problem = if taken {
                        " is also the name of another class or entry"
                    } else {
                        ""
                    };
                    let given = format!("{:?}{problem}", class.name);
                    return refuse(format!("{path}.name"), given, "a unique name");
                }
                all.names.push(class.name.clone());
                all.paths.push(path);
                all.entries.push(i);
            }
            all.names.push(entry.name.clone().unwrap_or_default());
            all.paths.push(format!("traffic[{i}]"));
            all.entries.push(i);
        }
        Ok(all)
    }

    /// Returns the class and the number of flows that end the experiment.
    pub fn stop(&self, stop: &Stop) -> Result<(u32, u64), SpecError> {
        let found = self.names.iter().position(|name| *name == stop.class);
        let class = found.ok_or_else(|| {
            SpecError::unknown_name("stop.class", &stop.class, self.names.iter().map(String::as_str))
        })?;
        Ok((class as u32, stop.flows))
    }

    /// Checks that enough flows of the class open for the stop condition, if there is one. If enough
    /// may open with another seed, a warning is returned instead of an error. `flows` are the static
    /// flows, `entries` the traffic entries in their order.
    ///
    /// # Errors
    /// Returns an error if the number of flows is too small with every seed.
    pub fn check_stop(
        &self,
        stop: Option<(u32, u64)>,
        flows: &[Flow],
        entries: &[EntryFlows],
        duration: Time,
    ) -> Result<Vec<String>, SpecError> {
        let Some((class, wanted)) = stop else {
            return Ok(Vec::new());
        };
        let entry = self.entries[class as usize];
        if matches!(entries[entry], EntryFlows::Generated) {
            return Ok(Vec::new());
        }
        let of_class = || flows.iter().filter(|flow| flow.class == class);
        let number = of_class().filter(|flow| flow.start < duration).count() as u64;
        if number >= wanted {
            return Ok(Vec::new());
        }
        let name = &self.names[class as usize];
        let has = match number {
            0 => format!("class {name:?} has no flows"),
            1 => format!("class {name:?} has 1 flow"),
            _ => format!("class {name:?} has {number} flows"),
        };
        let depends_on_seed = match entries[entry] {
            EntryFlows::Drawn => true,
            EntryFlows::Delayed => of_class().count() as u64 >= wanted,
            EntryFlows::Fixed | EntryFlows::Generated => false,
        };
        if depends_on_seed {
            return Ok(vec![format!(
                "stop.flows: {wanted}, but {has} with this seed; the run lasts for its whole duration"
            )]);
        }
        let given = format!("{wanted}, but {has} before the end of the experiment");
        Err(match number {
            0 => SpecError::conflict("stop.flows", given, "choose another class"),
            _ => SpecError::new("stop.flows", given, format!("1 to {number}")),
        })
    }

    /// Returns a line for each class without a flow; `seen` is true for each class that has one.
    pub fn warnings(&self, seen: &[bool]) -> Vec<String> {
        let lines = self.names.iter().zip(&self.paths).zip(seen);
        lines
            .filter(|(_, seen)| !**seen)
            .map(|((name, path), _)| format!("{path}: no flow is in class {name:?}"))
            .collect()
    }
}
