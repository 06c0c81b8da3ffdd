//! Programs by running their tests (HumanEval). Running them is for [`crate::sandbox`].

use super::text;
use crate::Result;
use crate::json::Object;

/// The function to complete, as a request to a chat model.
#[must_use]
pub fn prompt(function: &str) -> String {
    format!(
        "Complete this Python function. Answer with the whole function in one code block.\n```python\n{function}```"
    )
}

/// A whole program: the function, its tests and the call that runs them.
///
/// # Errors
/// [`crate::Error::Score`] naming a column that is missing.
pub fn program(fields: &Object, response: &str) -> Result<String> {
    let (function, test, name) = (text(fields, "prompt")?, text(fields, "test")?, text(fields, "entry_point")?);
    let code = block(response);
    let whole = code.contains(&format!("def {name}"));
    let before = if whole {
        // What stands before the function: imports and helpers that the answer may leave out.
        function.find(&format!("def {name}")).map_or("", |at| &function[..at])
    } else {
        function
    };
    Ok(format!("{before}\n{code}\n{test}\ncheck({name})\n", before = before.trim_end_matches('\n')))
}

/// The first code block, else the text itself.
fn block(response: &str) -> &str {
    let Some(start) = response.find("```") else { return response };
    let after = &response[start + 3..];
    let Some(line) = after.find('\n') else { return response };
    let code = &after[line + 1..];
    code.find("```").map_or(code, |end| &code[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn item() -> Object {
        let json = r#"{"prompt": "import math\n\ndef f(x):\n    \"\"\" doc \"\"\"\n", "test": "def check(c):\n    assert c(1) == 2\n", "entry_point": "f"}"#;
        let Json::Object(fields) = Json::parse(json).unwrap() else { panic!() };
        fields
    }

    #[test]
    fn whole_functions_and_bodies_make_programs() {
        for (response, expected) in [
            ("Here:\n```python\ndef f(x):\n    return x + 1\n```\nDone.", "import math\ndef f(x):\n    return x + 1\n"),
            ("    return x + 1", "doc \"\"\"\n    return x + 1\n"),
            ("```\ndef f(x):\n    return 2", "import math\ndef f(x):\n    return 2\n"),
        ] {
            let program = program(&item(), response).unwrap();
            assert!(program.contains(expected), "{program}");
            assert!(program.ends_with("assert c(1) == 2\n\ncheck(f)\n"), "{program}");
        }
    }
}
