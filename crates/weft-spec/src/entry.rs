//! Registries of the kinds that a `kind` field can name.

use schemars::{Schema, SchemaGenerator};
use toml::Table;

use crate::SpecError;
use crate::unmodelled::unmodelled;

/// An entry of a registry of things of kind `C` (a trait object).
pub struct Entry<C: ?Sized> {
    /// Name in a spec.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Function that returns the JSON Schema of the entry's own fields, an object.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Function that parses and checks the fields; paths of errors are relative to the table.
    pub parse: fn(&Table) -> Result<Parsed<C>, SpecError>,
}

/// The typed fields of an entry.
pub struct Parsed<C: ?Sized> {
    /// All fields, with defaults filled in.
    pub params: Table,
    /// The object that these fields configure.
    pub value: Box<C>,
}

/// Returns a list of entries. Each has a name, the type of its fields and a description. `TYPE.METHOD` calls a method that
/// checks the fields and may fill in others. They are boxed as they are, or with `as KIND` after a conversion.
#[macro_export]
macro_rules! entries {
    ($($name:literal => $type:ident $(. $check:ident)? $(as $kind:ty)?, $about:expr;)+) => {
        &[$($crate::Entry {
            name: $name,
            about: $about,
            schema: <$type as ::schemars::JsonSchema>::json_schema,
            parse: |table| {
                let mut fields: $type = $crate::from_table(table)?;
                $(fields.$check()?;)?
                Ok($crate::Parsed {
                    params: $crate::to_table(&fields),
                    value: Box::new($(<$kind>::from)?(fields)),
                })
            },
        },)+]
    };
}

/// Returns the entry called `name`.
///
/// # Errors
/// Returns an error at `path` that lists all names if there is no such entry.
pub fn find<'a, C: ?Sized>(
    entries: &'a [Entry<C>],
    path: &str,
    name: &str,
) -> Result<&'a Entry<C>, SpecError> {
    entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
        unmodelled(path, name)
            .unwrap_or_else(|| SpecError::unknown_name(path, name, entries.iter().map(|entry| entry.name)))
    })
}
