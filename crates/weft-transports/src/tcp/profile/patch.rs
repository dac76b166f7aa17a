//! Changes of a profile's fields, as a spec writes them: the fields of all groups side by side.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::Profile;
use super::groups::{
    AckSettings, ConnectionSettings, HandshakeSettings, JoinSettings, LossSettings, MarkSettings,
    RecoveryOptions, RtoSettings, SegmentSizes, WindowSettings,
};
use weft_spec::{SpecError, from_table, to_table};

/// Settings that differ from those of a profile: any fields of [`Profile`]'s groups, unchecked until
/// they are applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProfilePatch(pub Table);

impl ProfilePatch {
    /// Returns `base` with these settings.
    ///
    /// # Errors
    /// Returns an error for an unknown field, a wrong type or a value out of range.
    pub fn apply(&self, base: &Profile) -> Result<Profile, SpecError> {
        let known = to_table(base);
        if let Some(field) = self.0.keys().find(|field| !known.contains_key(*field)) {
            return Err(self.unknown_field(field));
        }
        let profile = Profile {
            sizes: self.apply_to(&base.sizes)?,
            window: self.apply_to(&base.window)?,
            rto: self.apply_to(&base.rto)?,
            loss: self.apply_to(&base.loss)?,
            options: self.apply_to(&base.options)?,
            acks: self.apply_to(&base.acks)?,
            marks: self.apply_to(&base.marks)?,
            handshake: self.apply_to(&base.handshake)?,
            joins: self.apply_to(&base.joins)?,
            connection: self.apply_to(&base.connection)?,
        };
        profile.check()?;
        Ok(profile)
    }

    /// Returns a group with the settings that belong to it.
    fn apply_to<G: Serialize + DeserializeOwned + JsonSchema>(&self, base: &G) -> Result<G, SpecError> {
        let mut fields = to_table(base);
        for (field, value) in &mut fields {
            if let Some(given) = self.0.get(field) {
                value.clone_from(given);
            }
        }
        from_table(&fields)
    }

    /// Returns the error about a field that no group has. It lists the fields of all groups.
    fn unknown_field(&self, field: &str) -> SpecError {
        let rejections = [
            self.reject::<SegmentSizes>(field),
            self.reject::<WindowSettings>(field),
            self.reject::<RtoSettings>(field),
            self.reject::<LossSettings>(field),
            self.reject::<RecoveryOptions>(field),
            self.reject::<AckSettings>(field),
            self.reject::<MarkSettings>(field),
            self.reject::<HandshakeSettings>(field),
            self.reject::<JoinSettings>(field),
            self.reject::<ConnectionSettings>(field),
        ];
        if let Some(error) = rejections.iter().find(|error| !error.is_unknown_field()) {
            return error.clone();
        }
        let lists = rejections.iter().map(|error| error.allowed.as_str());
        let names: Vec<&str> = lists.flat_map(|list| list.split(", ")).collect();
        SpecError::unknown_field(field, &names)
    }

    /// Returns the error of a group about a field that it does not have.
    fn reject<G: DeserializeOwned + JsonSchema>(&self, field: &str) -> SpecError {
        let given = self.0[field].clone();
        match from_table::<G>(&Table::from_iter([(field.to_owned(), given)])) {
            Err(error) => error,
            Ok(_) => unreachable!("a group has several required fields"),
        }
    }
}

/// The schema of [`Profile`] with every field optional.
impl JsonSchema for ProfilePatch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ProfilePatch".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Profile::json_schema(generator);
        schema.remove("required");
        schema.insert("additionalProperties".into(), false.into());
        schema.insert(
            "description".into(),
            "Settings that differ from the profile's.".into(),
        );
        schema
    }
}
