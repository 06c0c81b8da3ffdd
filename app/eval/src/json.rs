//! JSON values with the order of their keys, written byte for byte as Python's `json.dumps` writes them by default.
//!
//! VoiceBench's scripts pass files from step to step that way: `", "` and `": "` between parts, every character beyond
//! ASCII as `\uXXXX`, floats by their shortest representation.

use std::fmt::{self, Write};

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value whose objects keep their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number without fraction or exponent.
    Int(i128),
    /// Any other number; NaN and infinities are written as Python does.
    Float(f64),
    /// Text.
    Str(String),
    /// `[...]`
    Array(Vec<Json>),
    /// `{...}`
    Object(Object),
}

/// Keys and values in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object(Vec<(String, Json)>);

impl Object {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The text of a key; `None` where it is absent or not text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Json::as_str)
    }

    /// Sets a key: in its place where it exists, else at the end, as a Python dict does.
    pub fn set(&mut self, key: &str, value: impl Into<Json>) {
        let value = value.into();
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<String>, V: Into<Json>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut object = Self::default();
        for (key, value) in pairs {
            object.set(&key.into(), value);
        }
        object
    }
}

impl Json {
    /// Reads one value.
    ///
    /// # Errors
    /// Where and why the text is not JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Text, where it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// A number, where it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// A whole number, where it is one; floats without fraction count, as data frames make them of integers.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => i64::try_from(*value).ok(),
            Self::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(*value as i64),
            _ => None,
        }
    }

    /// A list, where it is one.
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }

    /// An object, where it is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// What Python's `bool()` says of it.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Array(values) => !values.is_empty(),
            Self::Object(object) => !object.is_empty(),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write_float(f, *value),
            Self::Str(text) => write_str(f, text),
            Self::Array(values) => {
                f.write_char('[')?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_char(']')
            }
            Self::Object(object) => object.fmt(f),
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        for (i, (key, value)) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write_str(f, key)?;
            write!(f, ": {value}")?;
        }
        f.write_char('}')
    }
}

fn write_str(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            ' '..='~' => f.write_char(c)?,
            _ => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(f, "\\u{unit:04x}")?;
                }
            }
        }
    }
    f.write_char('"')
}

/// `float.__repr__`: shortest digits; an exponent below 1e-4 and from 1e16 on, of at least two digits.
fn write_float(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    if value.is_nan() {
        return f.write_str("NaN");
    }
    if value.is_infinite() {
        return f.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
        return write!(f, "{digits}e{sign}{exponent:0>2}");
    }
    let text = format!("{value}");
    f.write_str(&text)?;
    if text.contains('.') { Ok(()) } else { f.write_str(".0") }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Int(value.into())
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Self {
        Self::Int(value as i128)
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(values: Vec<T>) -> Self {
        Self::Array(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Int(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Int(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Str(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::Str(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut object = Object::default();
        while let Some((key, value)) = map.next_entry::<String, Json>()? {
            object.set(&key, value);
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line is what Python 3.11 printed for `json.dumps(json.loads(line))` of itself.
    #[test]
    fn python_lines_come_back_byte_for_byte() {
        for line in [
            r#"{"prompt": "What\u2019s up?", "b": 1, "a": [1.0, 0.5, -2, null, true], "empty": {}, "list": []}"#,
            r#"{"emoji": "\ud83d\ude00", "tab": "\t\b\f\r\n\"\\/", "del": "\u007f", "zh": "\u4f60\u597d"}"#,
            r#"[1e+16, 1.5e-05, 0.0001, 1e-10, 123456789012345.6, 1e+100, -0.0, 18446744073709551615]"#,
        ] {
            assert_eq!(Json::parse(line).unwrap().to_string(), line);
        }
    }

    #[test]
    fn setting_a_key_keeps_its_place() {
        let Json::Object(mut object) = Json::parse(r#"{"a": 1, "response": "x", "b": 2}"#).unwrap() else { panic!() };
        object.set("response", "y");
        object.set("score", vec!["5", "4"]);
        assert_eq!(object.to_string(), r#"{"a": 1, "response": "y", "b": 2, "score": ["5", "4"]}"#);
    }

    #[test]
    fn python_truth() {
        for (text, truth) in [
            ("0", false),
            ("0.0", false),
            ("\"\"", false),
            ("[]", false),
            ("null", false),
            ("\"0\"", true),
            ("-1", true),
        ] {
            assert_eq!(Json::parse(text).unwrap().is_truthy(), truth, "{text}");
        }
    }
}
