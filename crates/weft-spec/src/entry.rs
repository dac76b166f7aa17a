//! Registries: the kinds that a `kind` field can name.

use schemars::{Schema, SchemaGenerator};
use toml::Table;

use crate::SpecError;

/// One line of a registry of things of kind `C` (a trait object).
pub struct Entry<C: ?Sized> {
    /// Name in a spec.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// JSON Schema of its own fields, an object.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Parses and checks the fields; paths of errors are relative to the table.
    pub parse: fn(&Table) -> Result<Parsed<C>, SpecError>,
}

/// An entry's fields with their types.
pub struct Parsed<C: ?Sized> {
    /// All fields, defaults filled in.
    pub params: Table,
    /// The object that they configure.
    pub value: Box<C>,
}

/// The entry called `name`.
///
/// # Errors
/// There is none: the path is `path`, and all names are listed.
pub fn find<'a, C: ?Sized>(
    entries: &'a [Entry<C>],
    path: &str,
    name: &str,
) -> Result<&'a Entry<C>, SpecError> {
    entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<_> = entries.iter().map(|entry| format!("{:?}", entry.name)).collect();
        SpecError::new(path, format!("{name:?} does not exist"), names.join(", "))
    })
}
