//! What became of one item, as the journal keeps it.

use crate::item::Item;
use crate::json::{Json, Object};
use crate::respond::Reply;
use crate::{Error, Result};

/// One item with its answer, or with what was wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The item's columns; empty where it could not be read.
    pub fields: Object,
    /// The answer.
    pub outcome: std::result::Result<Reply, String>,
}

impl Record {
    /// An item that was answered.
    #[must_use]
    pub fn answered(item: &Item, reply: Reply) -> Self {
        Self { fields: item.fields.clone(), outcome: Ok(reply) }
    }

    /// An item that was not.
    #[must_use]
    pub fn failed(fields: Object, reason: impl Into<String>) -> Self {
        Self { fields, outcome: Err(reason.into()) }
    }

    /// The response, where there is one.
    #[must_use]
    pub fn response(&self) -> Option<&str> {
        self.outcome.as_ref().ok().map(|reply| reply.response.as_str())
    }

    /// As a line of the journal, without its index.
    ///
    /// # Errors
    /// [`Error::Score`] where a number of the reply is not finite.
    pub fn to_entry(&self) -> Result<Object> {
        let mut entry = Object::default();
        entry.set("fields", self.fields.clone());
        match &self.outcome {
            Ok(reply) => {
                let text = serde_json::to_string(reply).map_err(|e| Error::Score(e.to_string()))?;
                entry.set("reply", Json::parse(&text).map_err(|e| Error::Score(e.to_string()))?);
            }
            Err(problem) => entry.set("problem", problem.as_str()),
        }
        Ok(entry)
    }

    /// From a line of the journal; a line of another layout is a failed item.
    #[must_use]
    pub fn from_entry(entry: &Object) -> Self {
        let fields = entry.get("fields").and_then(Json::as_object).cloned().unwrap_or_default();
        let reply = entry.get("reply").map(|reply| serde_json::from_str(&reply.to_string()));
        let outcome = match (reply, entry.text("problem")) {
            (Some(Ok(reply)), _) => Ok(reply),
            (Some(Err(e)), _) => Err(format!("the journal holds a reply of another layout: {e}")),
            (None, problem) => Err(problem.unwrap_or("the journal holds neither reply nor problem").to_owned()),
        };
        Self { fields, outcome }
    }

    /// As VoiceBench's files have it: the columns, then `response`.
    #[must_use]
    pub fn to_line(&self) -> Option<Object> {
        let mut line = self.fields.clone();
        line.set("response", self.response()?);
        Some(line)
    }

    /// From such a line; `None` where it has no `response`.
    #[must_use]
    pub fn from_line(line: &Object) -> Option<Self> {
        let mut fields = line.clone();
        let response = fields.remove("response")?.as_str()?.to_owned();
        fields.remove("score");
        Some(Self { fields, outcome: Ok(Reply { response, ..Reply::default() }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_the_journal() {
        let fields: Object = [("prompt", "你好"), ("reference", "A")].into_iter().collect();
        let reply = Reply { response: "a\n\"b\"".into(), heard: Some("x".into()), total_ms: 12.5, ..Reply::default() };
        let item = Item { index: 3, fields: fields.clone(), audio: None };
        for record in [Record::answered(&item, reply), Record::failed(fields, "no audio")] {
            let entry = record.to_entry().unwrap();
            let Json::Object(read) = Json::parse(&entry.to_string()).unwrap() else { panic!() };
            assert_eq!(Record::from_entry(&read), record);
        }
        assert!(Record::from_entry(&Object::default()).outcome.is_err());
    }
}
