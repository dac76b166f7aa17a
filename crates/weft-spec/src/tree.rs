//! Conversion of text to a table and of a table to types, with errors that name the path of the
//! field.

use schemars::JsonSchema;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, forward_to_deserialize_any};
use toml::{Table, Value};

use crate::SpecError;
use crate::unmodelled::unmodelled;

/// Reads the text of a spec: TOML, or JSON if it begins with `{` (which no TOML document does). A
/// JSON `null` counts as absent.
///
/// # Errors
/// Returns a syntax error with line and column, or an error for a JSON number that TOML cannot
/// hold.
pub fn read_table(text: &str) -> Result<Table, SpecError> {
    if text.trim_start().starts_with('{') {
        let Json(json) = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or_default().to_owned();
            SpecError::new(
                format!("line {}, column {}", error.line(), error.column()),
                what,
                "JSON with unique names in each object",
            )
        })?;
        return match from_json(json)? {
            Some(Value::Table(table)) => Ok(table),
            _ => Ok(Table::new()),
        };
    }
    text.parse().map_err(|error: toml::de::Error| {
        let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        SpecError::new(
            format!("line {line}, column {column}"),
            error.message(),
            "TOML (or JSON)",
        )
    })
}

/// A JSON value in which no object has a name twice. RFC 8259, section 4, says that "the names
/// within an object SHOULD be unique", and leaves open how others are read.
struct Json(serde_json::Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct JsonVisitor;
        impl<'de> Visitor<'de> for JsonVisitor {
            type Value = serde_json::Value;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON value")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(value.into())
            }
            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(value.into())
            }
            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(value.into())
            }
            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(value.into())
            }
            fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
                Ok(value.into())
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(serde_json::Value::Null)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut array = Vec::new();
                while let Some(Json(item)) = items.next_element()? {
                    array.push(item);
                }
                Ok(array.into())
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                let mut object = serde_json::Map::new();
                while let Some(name) = fields.next_key::<String>()? {
                    if object.contains_key(&name) {
                        return Err(de::Error::custom(format!("{name:?} is given twice")));
                    }
                    let Json(value) = fields.next_value()?;
                    object.insert(name, value);
                }
                Ok(object.into())
            }
        }
        from.deserialize_any(JsonVisitor).map(Json)
    }
}

/// Converts a JSON value to a TOML value.
fn from_json(json: serde_json::Value) -> Result<Option<Value>, SpecError> {
    use serde_json::Value as Parsed;
    Ok(Some(match json {
        Parsed::Null => return Ok(None),
        Parsed::Bool(b) => Value::Boolean(b),
        Parsed::String(s) => Value::String(s),
        Parsed::Number(n) => match (n.as_i64(), n.is_u64(), n.as_f64()) {
            (Some(i), ..) => Value::Integer(i),
            (None, false, Some(f)) if f.is_finite() => Value::Float(f),
            _ => {
                return Err(SpecError::new(
                    "",
                    n.to_string(),
                    format!("numbers up to {}", i64::MAX),
                ));
            }
        },
        Parsed::Array(items) => {
            let mut array = Vec::with_capacity(items.len());
            for (i, item) in items.into_iter().enumerate() {
                match from_json(item).map_err(|error| error.within(&format!("[{i}]")))? {
                    Some(value) => array.push(value),
                    None => return Err(SpecError::new(format!("[{i}]"), "null", "a value")),
                }
            }
            Value::Array(array)
        }
        Parsed::Object(fields) => {
            let mut table = Table::new();
            for (key, field) in fields {
                if let Some(value) = from_json(field).map_err(|error| error.within(&key))? {
                    table.insert(key, value);
                }
            }
            Value::Table(table)
        }
    }))
}

/// Converts a table to a type.
///
/// # Errors
/// Returns an error for the first field that is unknown, missing or of a wrong type, with its path
/// inside the table.
pub fn from_table<T: DeserializeOwned + JsonSchema>(table: &Table) -> Result<T, SpecError> {
    T::deserialize(ValueDeserializer(Value::Table(table.clone()))).map_err(|mut error| {
        if error.allowed.is_empty() {
            error.allowed = describe(schemars::schema_for!(T).as_value(), &error.path);
        }
        error
    })
}

/// Returns the table that [`from_table`] converts to an equal value: every field, defaults
/// included.
///
/// # Panics
/// Never panics for the types of a spec, because each of them becomes a table.
pub fn to_table<T: Serialize>(value: &T) -> Table {
    Table::try_from(value).expect("a spec becomes a TOML table")
}

/// Returns the description of the field at `path` in the schema: the first sentence and an example.
fn describe(schema: &serde_json::Value, path: &str) -> String {
    let mut at = schema;
    for key in path.split('.') {
        // An optional field is a reference or null.
        let arms = at["anyOf"].as_array();
        at = arms
            .and_then(|arms| arms.iter().find(|arm| arm["$ref"].is_string()))
            .unwrap_or(at);
        if let Some(name) = at["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/")) {
            at = &schema["$defs"][name];
        }
        let (key, index) = key.split_once('[').unwrap_or((key, ""));
        at = match &at["properties"][key] {
            serde_json::Value::Null => &at["additionalProperties"],
            property => property,
        };
        if !index.is_empty() {
            at = &at["items"];
        }
    }
    let text = at["description"].as_str().unwrap_or("a value");
    let said = text.split(". ").next().unwrap_or(text).trim_end_matches('.');
    let example = at["examples"][0]
        .as_str()
        .map(|text| format!(", such as {text:?}"))
        .unwrap_or_default();
    format!("add it: {said}{example}")
}

/// A value whose errors carry the path of their origin.
struct ValueDeserializer(Value);

impl<'de> Deserializer<'de> for ValueDeserializer {
    type Error = SpecError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SpecError> {
        match self.0 {
            Value::String(s) => visitor.visit_string(s),
            Value::Integer(i) => visitor.visit_i64(i),
            Value::Float(f) => visitor.visit_f64(f),
            Value::Boolean(b) => visitor.visit_bool(b),
            Value::Datetime(d) => Err(SpecError::new(
                "",
                format!("the date {d}"),
                "text, a number, a list or a table",
            )),
            Value::Array(items) => visitor.visit_seq(Items {
                left: items.into_iter(),
                next: 0,
            }),
            Value::Table(table) => visitor.visit_map(Fields {
                left: table.into_iter(),
                value: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SpecError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, SpecError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SpecError> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(name.into_deserializer()),
            other => Err(SpecError::new("", print(&other), list_names(variants))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items {
    left: std::vec::IntoIter<Value>,
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Items {
    type Error = SpecError;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, SpecError> {
        let Some(value) = self.left.next() else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        seed.deserialize(ValueDeserializer(value))
            .map(Some)
            .map_err(|error| error.within(&format!("[{index}]")))
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

struct Fields {
    left: <Table as IntoIterator>::IntoIter,
    value: Option<(String, Value)>,
}

impl<'de> de::MapAccess<'de> for Fields {
    type Error = SpecError;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, SpecError> {
        let Some((key, value)) = self.left.next() else {
            return Ok(None);
        };
        self.value = Some((key.clone(), value));
        seed.deserialize(key.into_deserializer()).map(Some)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, SpecError> {
        let Some((key, value)) = self.value.take() else {
            return Err(de::Error::custom("a value without its key"));
        };
        seed.deserialize(ValueDeserializer(value))
            .map_err(|error| error.within(&key))
    }
}

impl de::Error for SpecError {
    /// Restores a [`SpecError`] that passed through another error type.
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::from_serde_error(&message.to_string())
    }
    fn invalid_type(given: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        SpecError::new("", unexpected(&given), type_in_words(&expected.to_string()))
    }
    fn invalid_value(given: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(given, expected)
    }
    fn invalid_length(length: usize, expected: &dyn de::Expected) -> Self {
        SpecError::new(
            "",
            format!("a list of {length}"),
            type_in_words(&expected.to_string()),
        )
    }
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        unmodelled(field, field).unwrap_or_else(|| SpecError::unknown_field(field, expected))
    }
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        unmodelled("", variant).unwrap_or_else(|| {
            SpecError::new("", format!("{variant:?}"), list_names(expected))
                .suggest(variant, expected.iter().copied())
        })
    }
    /// [`from_table`] fills in the remedy from the schema.
    fn missing_field(field: &'static str) -> Self {
        SpecError::conflict(field, "required field is missing", "")
    }
    fn duplicate_field(field: &'static str) -> Self {
        SpecError::conflict(field, "given twice", "remove one of the two")
    }
}

/// Returns names to choose from, as they are written in a spec.
fn list_names(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("{name:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn print(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        other => other.to_string(),
    }
}

fn unexpected(given: &Unexpected<'_>) -> String {
    match given {
        Unexpected::Str(s) => format!("{s:?}"),
        Unexpected::Signed(i) => i.to_string(),
        Unexpected::Unsigned(i) => i.to_string(),
        Unexpected::Float(f) => f.to_string(),
        Unexpected::Bool(b) => b.to_string(),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        other => other.to_string(),
    }
}

/// Translates Rust's names of types to words for users.
fn type_in_words(expected: &str) -> String {
    match expected {
        "u8" => format!("whole numbers from 0 to {}", u8::MAX),
        "u16" => format!("whole numbers from 0 to {}", u16::MAX),
        "u32" => format!("whole numbers from 0 to {}", u32::MAX),
        "u64" | "usize" => format!("whole numbers from 0 to {}", i64::MAX),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") || other.starts_with("map ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}
