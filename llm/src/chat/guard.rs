//! What keeps a hostile template from exhausting the stack.
//!
//! `{% set ns.x = ns %}` makes a value that contains itself, and a loop over `{% set ns.x = [ns.x] %}` one that is nested
//! without bound; showing or dropping either recurses through all of it. Templates of models keep scalars in namespaces.
//! So each such assignment is rewritten to pass through a filter that lets nothing else through. What nesting is left is
//! bounded by the template's length, and fits on the stack of the thread that renders.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value};

const FILTER: &str = "pocket_voice_scalar";
/// 64 kB of template can nest some 5,000 lists, at well under 2 kB of stack for each.
const STACK: usize = 64 << 20;

/// `source` with every assignment to an attribute guarded.
pub(super) fn guarded(source: &str, syntax: SyntaxConfig) -> Result<String, Error> {
    let tokens = tokenize(source, false, syntax).collect::<Result<Vec<_>, Error>>()?;
    let mut out = String::with_capacity(source.len());
    let mut copied = 0;
    let mut rest = &tokens[..];
    while let Some(start) = rest.iter().position(|(token, _)| matches!(token, Token::BlockStart)) {
        rest = &rest[start + 1..];
        let end = rest.iter().position(|(token, _)| matches!(token, Token::BlockEnd)).unwrap_or(rest.len());
        let (block, after) = rest.split_at(end);
        rest = after;
        let assign = block.iter().position(|(token, _)| matches!(token, Token::Assign));
        let (Some((Token::Ident("set"), _)), Some(assign)) = (block.first(), assign) else { continue };
        let (target, value) = block.split_at(assign);
        let dotted = target.iter().any(|(token, _)| matches!(token, Token::Dot));
        let ([_, (_, first), ..], Some((_, last)), true) = (value, value.last(), dotted) else { continue };
        let (from, to) = (first.start_offset as usize, last.end_offset as usize);
        let piece = |range: std::ops::Range<usize>| {
            source.get(range).ok_or_else(|| Error::new(ErrorKind::SyntaxError, "an assignment lies across letters"))
        };
        out.push_str(piece(copied..from)?);
        out.push_str(&format!("({})|{FILTER}", piece(from..to)?));
        copied = to;
    }
    out.push_str(source.get(copied..).unwrap_or_default());
    Ok(out)
}

/// Adds the filter that [`guarded`] calls.
pub(super) fn install(env: &mut Environment<'_>) {
    env.add_filter(FILTER, |value: Value| -> Result<Value, Error> {
        match value.kind() {
            ValueKind::Undefined | ValueKind::None | ValueKind::Bool | ValueKind::Number | ValueKind::String => {
                Ok(value)
            }
            other => Err(Error::new(ErrorKind::InvalidOperation, format!("a namespace can not hold a {other}"))),
        }
    });
}

/// Runs `render` on a thread with room for what [`guarded`] leaves.
pub(super) fn with_stack<T: Send>(render: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("chat-template".to_owned()).stack_size(STACK);
        let handle = thread.spawn_scoped(scope, render)?;
        handle.join().map_err(|_| std::io::Error::other("the template engine panicked"))
    })
}
