//! Changes of a profile's fields, as a spec writes them: the fields of all groups side by side.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::Profile;
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
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(SpecError::unknown_field(field, &names));
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
