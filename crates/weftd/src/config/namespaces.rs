//! Checks of the names of namespaces.

use weft_spec::SpecError;

use super::ALL;
use weft_kernel::path_manager::Namespace;

/// Checks that each name can be one of a namespace, and that none is named twice.
pub(super) fn check_names(names: &[String]) -> Result<(), SpecError> {
    for (i, name) in names.iter().enumerate() {
        let is_path = name.starts_with('/');
        let is_name = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
        if !(is_path || is_name) || name.contains('\0') {
            return Err(refused(i, format!("{name:?}"), NAME));
        }
        let mut others = names.iter().take(i);
        if others.any(|other| Namespace::named(other) == Namespace::named(name)) {
            return Err(refused(i, format!("{name:?} twice"), "each namespace once"));
        }
    }
    Ok(())
}

/// Checks that the files which exist are namespaces. A name without a file is served once `ip netns add` has made it.
pub(super) fn check_files(names: &[String]) -> Result<(), SpecError> {
    for (i, name) in names.iter().enumerate().filter(|(_, name)| *name != ALL) {
        let namespace = Namespace::named(name);
        let path = namespace.path();
        if path.exists() && !namespace.is_namespace() && !namespace.is_placeholder() {
            let given = format!("{name:?}, where {} is not a network namespace", path.display());
            return Err(refused(i, given, NAME));
        }
    }
    Ok(())
}

fn refused(i: usize, given: String, allowed: &str) -> SpecError {
    SpecError::new(format!("namespaces[{i}]"), given, allowed)
}

const NAME: &str = "a name that `ip netns` lists, the absolute path of a network namespace, or \"*\"";
