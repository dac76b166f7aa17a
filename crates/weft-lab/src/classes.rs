//! Classes of flows: by traffic entry and, where an entry says so, by size.

use std::collections::BTreeMap;

use weft_spec::{Spec, SpecError, Stop, Traffic, TransportSpec};
use weft_traffic::{FlowClass, FlowClasses};

/// The classes of one traffic entry, numbered from `first` on: those by size, then the rest. Paths of errors are relative
/// to the entry.
pub(crate) fn resolve_classes(
    entry: &Traffic,
    transports: &BTreeMap<String, TransportSpec>,
    first: u32,
) -> Result<FlowClasses, SpecError> {
    let transport = |name: &str, path: String| {
        let found = transports.keys().position(|transport| transport == name);
        found.map(|index| index as u32).ok_or_else(|| {
            let names: Vec<_> = transports.keys().map(|name| format!("{name:?}")).collect();
            let allowed = if names.is_empty() {
                "nothing: there are no transports".into()
            } else {
                names.join(", ")
            };
            SpecError::new(path, format!("{name:?} does not exist"), allowed)
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
            let allowed = format!("above {min}: classes are in order of rising size");
            return Err(SpecError::new(path, class.below.to_string(), allowed));
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

/// The classes of all entries, in order.
#[derive(Clone, Debug)]
pub(crate) struct ClassNames {
    /// Names.
    pub names: Vec<String>,
    /// Where a spec makes each.
    paths: Vec<String>,
}

impl ClassNames {
    /// Of a spec whose traffic entries have names. No two classes have the same name.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        let mut all = Self {
            names: Vec::new(),
            paths: Vec::new(),
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
                        " is the name of another class or entry"
                    } else {
                        ""
                    };
                    let given = format!("{:?}{problem}", class.name);
                    return Err(SpecError::new(format!("{path}.name"), given, "a unique name"));
                }
                all.names.push(class.name.clone());
                all.paths.push(path);
            }
            all.names.push(entry.name.clone().unwrap_or_default());
            all.paths.push(format!("traffic[{i}]"));
        }
        Ok(all)
    }

    /// Class and number of flows that end the experiment.
    pub fn stop(&self, stop: &Stop) -> Result<(u32, u64), SpecError> {
        if stop.flows == 0 {
            return Err(SpecError::new("stop.flows", "0", "at least 1"));
        }
        let found = self.names.iter().position(|name| *name == stop.class);
        let class = found.ok_or_else(|| {
            let names: Vec<_> = self.names.iter().map(|name| format!("{name:?}")).collect();
            SpecError::new(
                "stop.class",
                format!("{:?} does not exist", stop.class),
                names.join(", "),
            )
        })?;
        Ok((class as u32, stop.flows))
    }

    /// A line for each class without a flow; `seen` says for each class whether it has one.
    pub fn warnings(&self, seen: &[bool]) -> Vec<String> {
        let lines = self.names.iter().zip(&self.paths).zip(seen);
        lines
            .filter(|(_, seen)| !**seen)
            .map(|((name, path), _)| format!("{path}: no flow is in class {name:?}"))
            .collect()
    }
}
