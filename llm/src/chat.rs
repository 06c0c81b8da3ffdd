//! Messages to tokens through the chat template in the model file.

mod guard;

use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions to the model.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said. Control tokens spelled out in it are removed before it reaches the template.
    pub content: String,
}

impl Message {
    /// Instructions to the model.
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: Role::System, content: content.into() }
    }

    /// Something the person says.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// Something the model said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

/// What a template may be told besides the messages.
#[derive(Debug, Clone, Default)]
pub struct ChatOptions {
    /// End with the beginning of the assistant's next message.
    pub add_generation_prompt: bool,
    /// More template variables, such as `tools`. `enable_thinking` is false unless given here.
    pub variables: BTreeMap<String, serde_json::Value>,
}

/// The model's chat template.
pub struct Chat {
    tokenizer: Arc<Tokenizer>,
    template: Option<String>,
    compiled: OnceLock<std::result::Result<Environment<'static>, String>>,
}

/// Template steps (a step is an instruction or 64 bytes made): a few hundred messages take some ten thousand.
const FUEL: u64 = 2_000_000;
/// Templates of published models have up to some 20 kB.
const MAX_TEMPLATE: usize = 64 << 10;
const NAME: &str = "chat_template";

impl Chat {
    pub(crate) fn new(tokenizer: Arc<Tokenizer>, template: Option<String>) -> Self {
        Self { tokenizer, template, compiled: OnceLock::new() }
    }

    /// The template as the model file has it.
    pub fn template(&self) -> Option<&str> {
        self.template.as_deref()
    }

    /// Token ids of a conversation; with `add_generation_prompt`, ending where the assistant's answer begins.
    ///
    /// # Errors
    /// [`Error::ChatTemplate`] when the model has no template, or its template refuses the messages.
    pub fn render(&self, messages: &[Message], add_generation_prompt: bool) -> Result<Vec<TokenId>> {
        self.render_with(messages, &ChatOptions { add_generation_prompt, ..ChatOptions::default() })
    }

    /// [`Chat::render`] with more for the template.
    ///
    /// # Errors
    /// As [`Chat::render`].
    pub fn render_with(&self, messages: &[Message], options: &ChatOptions) -> Result<Vec<TokenId>> {
        let text = self.text(messages, options)?;
        let ids = self.tokenizer.encode_part(&text)?;
        // Templates that spell out BOS have it already.
        let prefix = self.tokenizer.prefix();
        if ids.starts_with(prefix) { Ok(ids) } else { Ok([prefix, &ids].concat()) }
    }

    /// The text that [`Chat::render_with`] encodes.
    ///
    /// # Errors
    /// As [`Chat::render`].
    pub fn text(&self, messages: &[Message], options: &ChatOptions) -> Result<String> {
        let environment = self.environment()?;
        let messages: Vec<Message> = messages
            .iter()
            .map(|m| Message { role: m.role, content: self.tokenizer.without_control(&m.content) })
            .collect();
        let spelled = |id: Option<TokenId>| {
            id.map(|id| String::from_utf8_lossy(self.tokenizer.token_bytes(id)).into_owned()).unwrap_or_default()
        };
        let mut variables: serde_json::Map<String, serde_json::Value> = serde_json::Map::new();
        variables.insert("enable_thinking".to_owned(), false.into());
        variables.extend(options.variables.clone());
        let known = serde_json::json!({
            "messages": messages,
            "add_generation_prompt": options.add_generation_prompt,
            "bos_token": spelled(self.tokenizer.bos()),
            "eos_token": spelled(self.tokenizer.eos()),
        });
        if let serde_json::Value::Object(known) = known {
            variables.extend(known);
        }
        let rendered = guard::with_stack(|| {
            let template = environment.get_template(NAME).map_err(|e| failure(&e))?;
            template.render(Value::from(Serde(variables))).map_err(|e| failure(&e))
        });
        rendered.map_err(|e| Error::ChatTemplate(e.to_string()))?
    }

    fn environment(&self) -> Result<&Environment<'static>> {
        let compiled = self.compiled.get_or_init(|| {
            let template = self.template.clone().ok_or("the model file has none; use a chat model")?;
            compile(template).map_err(|e| describe(&e))
        });
        compiled.as_ref().map_err(|e| Error::ChatTemplate(e.clone()))
    }
}

/// An environment as Hugging Face's: block trimming, Python's string methods, `raise_exception`, a fixed clock.
fn compile(template: String) -> std::result::Result<Environment<'static>, minijinja::Error> {
    if template.len() > MAX_TEMPLATE {
        let reason = format!("a template of {} bytes", template.len());
        return Err(minijinja::Error::new(ErrorKind::InvalidOperation, reason));
    }
    let mut env = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    let template = guard::guarded(&template, syntax.clone())?;
    env.set_syntax(syntax);
    guard::install(&mut env);
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_fuel(Some(FUEL));
    env.set_recursion_limit(64);
    env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    env.add_function("raise_exception", |message: String| -> std::result::Result<Value, minijinja::Error> {
        Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
    });
    // A stage reads no clock; a date that is always the same also keeps the KV cache valid from day to day.
    env.add_function("strftime_now", |_format: String| "1 January 2026");
    env.add_template_owned(NAME, template)?;
    Ok(env)
}

fn failure(error: &minijinja::Error) -> Error {
    Error::ChatTemplate(describe(error))
}

/// The error with its causes, without the source excerpt, which may hold what the user said.
fn describe(error: &minijinja::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
