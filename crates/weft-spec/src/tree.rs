//! Conversion of text to a table and of a table to types, with errors that name the path of the
//! field.

use schemars::JsonSchema;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, forward_to_deserialize_any};
use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use crate::file::BYTE_ORDER_MARK;
use crate::unmodelled::unmodelled;
use crate::{SpecError, Within, list_names, refuse};

/// Reads the text of a spec: TOML, or JSON if it begins with `{` (which no TOML document does). A
/// JSON `null` counts as absent. A byte order mark is left out. A whole number beyond 64 bits becomes a
/// float, so that the type of its field can refuse it with its path and range.
///
/// # Errors
/// Returns a syntax error with line and column, or an error for a JSON `null` in a list.
pub fn read_table(text: &str) -> Result<Table, SpecError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.trim_start().starts_with('{') {
        let UniqueNames(json) = serde_json::from_str(text).map_err(|error| {
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
    let parsed = DeTable::parse(text).map_err(|error| {
        let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        SpecError::new(
            format!("line {line}, column {column}"),
            error.message(),
            "TOML (or JSON)",
        )
    })?;
    Ok(from_de_table(parsed.into_inner()))
}

/// Converts a parsed TOML table.
fn from_de_table(table: DeTable<'_>) -> Table {
    let fields = table.into_iter();
    fields
        .map(|(key, value)| (key.into_inner().into_owned(), from_de_value(value.into_inner())))
        .collect()
}

/// Converts a parsed TOML value.
pub(crate) fn from_de_value(value: DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Boolean(truth) => Value::Boolean(truth),
        DeValue::Datetime(time) => Value::Datetime(time),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).map_or_else(
            |_| Value::Float(large_integer(number.as_str(), number.radix())),
            Value::Integer,
        ),
        // The parser has checked the digits; too large a number becomes infinite, which fields refuse.
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| from_de_value(item.into_inner()))
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(from_de_table(table)),
    }
}

/// Returns the float that is nearest to an integer, whose digits have this radix.
fn large_integer(digits: &str, radix: u32) -> f64 {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, digits.strip_prefix('+').unwrap_or(digits)),
    };
    if radix == 10 {
        return sign * digits.parse().unwrap_or(f64::INFINITY);
    }
    let radix_value = f64::from(radix);
    let digits = digits.chars().filter_map(|digit| digit.to_digit(radix));
    digits.fold(0.0, |sum, digit| sum * radix_value + f64::from(digit))
}

/// A JSON value in which no object has a name twice. RFC 8259, section 4, says that "the names
/// within an object SHOULD be unique", and leaves open how others are read.
struct UniqueNames(Json);

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct JsonVisitor;
        impl<'de> Visitor<'de> for JsonVisitor {
            type Value = Json;
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
                Ok(Json::Null)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut array = Vec::new();
                while let Some(UniqueNames(item)) = items.next_element()? {
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
                    let UniqueNames(value) = fields.next_value()?;
                    object.insert(name, value);
                }
                Ok(object.into())
            }
        }
        from.deserialize_any(JsonVisitor).map(UniqueNames)
    }
}

/// Converts a JSON value to a TOML value.
fn from_json(json: Json) -> Result<Option<Value>, SpecError> {
    Ok(Some(match json {
        Json::Null => return Ok(None),
        Json::Bool(b) => Value::Boolean(b),
        Json::String(s) => Value::String(s),
        Json::Number(n) => n.as_i64().map_or_else(
            || Value::Float(n.as_f64().unwrap_or(f64::INFINITY)),
            Value::Integer,
        ),
        Json::Array(items) => {
            let mut array = Vec::with_capacity(items.len());
            for (i, item) in items.into_iter().enumerate() {
                match from_json(item).within(&format!("[{i}]"))? {
                    Some(value) => array.push(value),
                    None => return refuse(format!("[{i}]"), "null", "a value"),
                }
            }
            Value::Array(array)
        }
        Json::Object(fields) => {
            let mut table = Table::new();
            for (key, field) in fields {
                if let Some(value) = from_json(field).within(&key)? {
                    table.insert(key, value);
                }
            }
            Value::Table(table)
        }
    }))
}

/// Converts a table to a type. A whole number may be written as a float without a fraction, `2.0`.
///
/// # Errors
/// Returns an error for the first field that is unknown, missing or of a wrong type, or for a number that is not in the
/// range of the type's schema, with its path inside the table.
pub fn from_table<T: DeserializeOwned + JsonSchema>(table: &Table) -> Result<T, SpecError> {
    let schema = schemars::schema_for!(T).to_value();
    let value = T::deserialize(ValueDeserializer(Value::Table(table.clone()))).map_err(|mut error| {
        if error.allowed.is_empty() {
            error.allowed = describe(&schema, &error.path);
        } else if let Some(kind) = NumberKind::from_words(&error.allowed) {
            error.allowed = kind.in_range(&schema, &error);
        }
        error
    })?;
    check_table(&schema, &schema, table)?;
    Ok(value)
}

/// Checks that all numbers of a table are in the ranges of their schemas.
fn check_table(root: &Json, schema: &Json, table: &Table) -> Result<(), SpecError> {
    table.iter().try_for_each(|(key, value)| {
        let property = match &schema["properties"][key] {
            Json::Null => &schema["additionalProperties"],
            property => property,
        };
        check_value(root, property, value).within(key)
    })
}

fn check_value(root: &Json, schema: &Json, value: &Value) -> Result<(), SpecError> {
    let schema = resolve_reference(root, schema);
    match value {
        Value::Integer(number) => check_range(schema, *number as f64, &number.to_string()),
        Value::Float(number) => check_range(schema, *number, &number.to_string()),
        Value::Array(items) => (0..)
            .zip(items)
            .try_for_each(|(i, item)| check_value(root, &schema["items"], item).within(&format!("[{i}]"))),
        Value::Table(table) => check_table(root, schema, table),
        _ => Ok(()),
    }
}

fn check_range(schema: &Json, number: f64, given: &str) -> Result<(), SpecError> {
    let fits = |key: &str, holds: fn(&f64, &f64) -> bool| {
        schema[key].as_f64().is_none_or(|bound| holds(&number, &bound))
    };
    let is_even = schema["multipleOf"] == 2;
    if fits("minimum", f64::ge)
        && fits("exclusiveMinimum", f64::gt)
        && fits("maximum", f64::le)
        && fits("exclusiveMaximum", f64::lt)
        && !(is_even && number % 2.0 != 0.0)
    {
        return Ok(());
    }
    let kind = match &schema["type"] {
        _ if is_even => "even numbers from ",
        Json::String(kind) if kind == "integer" && number.fract() != 0.0 => "a whole number, ",
        _ => "",
    };
    let range = range_in_words(schema).unwrap_or_default();
    refuse("", given, format!("{kind}{range}"))
}

/// Returns the range of a number; `None` if its schema has none.
fn range_in_words(schema: &Json) -> Option<String> {
    let bound = |key: &str| schema[key].as_number().map(shown);
    let (above, below) = (bound("exclusiveMinimum"), bound("exclusiveMaximum"));
    Some(match (bound("minimum"), bound("maximum")) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => above.map_or(format!("at most {max}"), |above| {
            format!("above {above}, up to {max}")
        }),
        (None, None) => format!("above {}, below {}", above?, below?),
    })
}

/// Returns a bound in decimal; 1.0 becomes 1.
fn shown(bound: &serde_json::Number) -> String {
    match bound.as_f64() {
        Some(float) if bound.is_f64() => float.to_string(),
        _ => bound.to_string(),
    }
}

/// Returns `N`, the default of a field.
pub fn default_number<const N: u32>() -> u32 {
    N
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
fn describe(schema: &Json, path: &str) -> String {
    let at = schema_at(schema, path);
    let text = at["description"].as_str().unwrap_or("a value");
    let said = text.split(". ").next().unwrap_or(text).trim_end_matches('.');
    let example = at["examples"][0]
        .as_str()
        .map(|text| format!(", such as {text:?}"))
        .unwrap_or_default();
    format!("add it: {said}{example}")
}

/// Returns the schema of the field at `path`; `null` if it has none.
fn schema_at<'a>(schema: &'a Json, path: &str) -> &'a Json {
    let mut at = schema;
    for key in path.split('.') {
        at = resolve_reference(schema, at);
        let (key, indices) = key.split_once('[').unwrap_or((key, ""));
        if !key.is_empty() {
            at = match &at["properties"][key] {
                Json::Null => &at["additionalProperties"],
                property => property,
            };
        }
        for _ in indices.matches(']') {
            at = &resolve_reference(schema, at)["items"];
        }
    }
    at
}

/// Follows a reference; that of an optional field is an arm of `anyOf`.
fn resolve_reference<'a>(schema: &'a Json, at: &'a Json) -> &'a Json {
    let arms = at["anyOf"].as_array();
    let arm = arms
        .and_then(|arms| arms.iter().find(|arm| arm["$ref"].is_string()))
        .unwrap_or(at);
    match arm["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/")) {
        Some(name) => &schema["$defs"][name],
        None => at,
    }
}

/// The kinds of numbers in a spec.
#[derive(Clone, Copy, PartialEq)]
enum NumberKind {
    /// A whole number, in an integer of Rust.
    Integer,
    /// Any number.
    Float,
}

impl NumberKind {
    const ALL: [Self; 2] = [Self::Integer, Self::Float];

    /// Returns the description without a range, which stands in an error until [`from_table`] adds it.
    fn words(self) -> &'static str {
        match self {
            Self::Integer => "a whole number",
            Self::Float => "a number",
        }
    }

    fn from_words(words: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.words() == words)
    }

    /// Returns the description with the range that the schema has for the field of the error. If the
    /// schema has no upper bound, that of the integer type is shown to those who exceed it.
    fn in_range(self, schema: &Json, error: &SpecError) -> String {
        let at = schema_at(schema, &error.path);
        let name = match self {
            Self::Integer => "integer",
            Self::Float => "number",
        };
        let has_type = |schema: &Json| match &schema["type"] {
            Json::String(one) => one == name,
            Json::Array(several) => several.iter().any(|one| one == name),
            _ => false,
        };
        let arms = at["anyOf"].as_array().map_or(&[][..], Vec::as_slice);
        let Some(at) = std::iter::once(at).chain(arms).find(|schema| has_type(schema)) else {
            return self.words().to_owned();
        };
        let mut at = at.clone();
        let given: Option<f64> = error.given.parse().ok();
        let exceeds = |min: f64| given.is_some_and(|given| given >= min && given.fract() == 0.0);
        if at["maximum"].is_null() && at["minimum"].as_f64().is_some_and(exceeds) {
            match at["format"].as_str() {
                Some("uint8") => at["maximum"] = u8::MAX.into(),
                Some("uint16") => at["maximum"] = u16::MAX.into(),
                Some("uint32") => at["maximum"] = u32::MAX.into(),
                Some("uint64" | "uint") => at["maximum"] = i64::MAX.into(),
                _ => {}
            }
        }
        match range_in_words(&at) {
            Some(range) => format!("{}, {range}", self.words()),
            None => self.words().to_owned(),
        }
    }
}

/// Implements the methods of a deserialiser that read integers: a float without a fraction is one.
macro_rules! forward_integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SpecError> {
            match self.0 {
                Value::Float(number) if let Some(whole) = whole_number(number) => visitor.visit_i64(whole),
                other => ValueDeserializer(other).deserialize_any(visitor),
            }
        }
    )*};
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
            Value::Datetime(d) => refuse("", format!("the date {d}"), "text, a number, a list or a table"),
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
            other => refuse("", print(&other), list_names(variants)),
        }
    }

    forward_integers! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 }
    forward_integers! { deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Returns the integer that a float without a fraction stands for.
pub fn whole_number(number: f64) -> Option<i64> {
    // -2^63 to 2^63, which is not an i64 itself.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    (fits && number.fract() == 0.0).then_some(number as i64)
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
            .within(&format!("[{index}]"))
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
        seed.deserialize(ValueDeserializer(value)).within(&key)
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
        SpecError::unknown_field(field, expected)
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
        // A number beyond 64 bits has more digits than a float holds.
        Unexpected::Float(f) if f.abs() >= i64::MAX as f64 => format!("{f:e}"),
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
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "usize" => {
            NumberKind::Integer.words().to_owned()
        }
        "f64" => NumberKind::Float.words().to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") || other.starts_with("map ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}
