//! The key-value section: typed look-ups that say which key is missing or wrong.

use super::reader::Reader;
use crate::error::{Error, Result};
use crate::mapped::Bytes;
use std::collections::HashMap;
use std::path::PathBuf;

/// Keys by name.
pub(crate) struct Metadata {
    path: PathBuf,
    values: HashMap<String, Value>,
}

/// A value; arrays and strings are views into the file.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Uint(u64),
    Int(i64),
    Float(f64),
    Bool(bool),
    String(Bytes),
    Numbers(Vec<f64>),
    Strings(Vec<Bytes>),
}

impl Metadata {
    pub(super) fn parse(r: &mut Reader, count: u64) -> Result<Self> {
        let mut values = HashMap::new();
        for i in 0..count {
            let key = r.string(&format!("metadata key {i}"))?;
            let kind = r.u32(&key)?;
            let value = value(r, kind, &key)?;
            if values.contains_key(&key) {
                return Err(r.malformed(&key, "appears twice"));
            }
            values.insert(key, value);
        }
        Ok(Self { path: r.path().to_owned(), values })
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    pub(super) fn uint(&self, key: &str) -> Result<Option<u64>> {
        match self.get(key) {
            None => Ok(None),
            Some(&Value::Uint(x)) => Ok(Some(x)),
            Some(&Value::Int(x)) if x >= 0 => Ok(Some(x.unsigned_abs())),
            Some(_) => Err(self.wrong(key, "a number that is not negative")),
        }
    }

    pub(super) fn float(&self, key: &str) -> Result<Option<f64>> {
        match self.get(key) {
            None => Ok(None),
            Some(&Value::Float(x)) if x.is_finite() => Ok(Some(x)),
            Some(&Value::Uint(x)) => Ok(Some(x as f64)),
            Some(&Value::Int(x)) => Ok(Some(x as f64)),
            Some(_) => Err(self.wrong(key, "a finite number")),
        }
    }

    pub(super) fn bool(&self, key: &str) -> Result<Option<bool>> {
        match self.get(key) {
            None => Ok(None),
            Some(&Value::Bool(x)) => Ok(Some(x)),
            Some(_) => Err(self.wrong(key, "a boolean")),
        }
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<&str>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(bytes)) => {
                std::str::from_utf8(bytes).map(Some).map_err(|_| self.wrong(key, "UTF-8 text"))
            }
            Some(_) => Err(self.wrong(key, "a string")),
        }
    }

    pub(super) fn strings(&self, key: &str) -> Result<Option<&[Bytes]>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Strings(strings)) => Ok(Some(strings)),
            Some(_) => Err(self.wrong(key, "an array of strings")),
        }
    }

    pub(super) fn numbers(&self, key: &str) -> Result<Option<&[f64]>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Numbers(numbers)) => Ok(Some(numbers)),
            Some(_) => Err(self.wrong(key, "an array of numbers")),
        }
    }

    pub(super) fn missing(&self, key: &str) -> Error {
        Error::malformed(&self.path, key, "is missing")
    }

    fn wrong(&self, key: &str, expected: &str) -> Error {
        Error::malformed(&self.path, key, format!("is not {expected}"))
    }
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;

fn value(r: &mut Reader, kind: u32, key: &str) -> Result<Value> {
    match kind {
        STRING => Ok(Value::String(r.string_bytes(key)?)),
        ARRAY => array(r, key),
        _ => scalar(r, kind, key),
    }
}

fn scalar(r: &mut Reader, kind: u32, key: &str) -> Result<Value> {
    Ok(match kind {
        0 => Value::Uint(r.u8(key)?.into()),
        1 => Value::Int(r.u8(key)?.cast_signed().into()),
        2 => Value::Uint(r.u16(key)?.into()),
        3 => Value::Int(r.u16(key)?.cast_signed().into()),
        4 => Value::Uint(r.u32(key)?.into()),
        5 => Value::Int(r.u32(key)?.cast_signed().into()),
        6 => Value::Float(f32::from_bits(r.u32(key)?).into()),
        7 => match r.u8(key)? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            other => return Err(r.malformed(key, format!("{other} is no boolean"))),
        },
        10 => Value::Uint(r.u64(key)?),
        11 => Value::Int(r.u64(key)?.cast_signed()),
        12 => Value::Float(f64::from_bits(r.u64(key)?)),
        other => return Err(r.malformed(key, format!("has the unknown value type {other}"))),
    })
}

/// Arrays of strings or numbers. Memory stays within 32 bytes a file byte: an element takes at least one.
fn array(r: &mut Reader, key: &str) -> Result<Value> {
    let kind = r.u32(key)?;
    let count = r.u64(key)?;
    match kind {
        STRING => {
            let mut strings = Vec::new();
            for _ in 0..count {
                strings.push(r.string_bytes(key)?);
            }
            Ok(Value::Strings(strings))
        }
        ARRAY => Err(Error::unsupported(r.path(), key, "an array of arrays")),
        _ => {
            let mut numbers = Vec::new();
            for _ in 0..count {
                numbers.push(match scalar(r, kind, key)? {
                    Value::Uint(x) => x as f64,
                    Value::Int(x) => x as f64,
                    Value::Float(x) => x,
                    Value::Bool(x) => f64::from(u8::from(x)),
                    Value::String(_) | Value::Numbers(_) | Value::Strings(_) => {
                        return Err(r.malformed(key, "mixes types"));
                    }
                });
            }
            Ok(Value::Numbers(numbers))
        }
    }
}
