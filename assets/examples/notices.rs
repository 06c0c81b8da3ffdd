//! Prints THIRD_PARTY_NOTICES.md: `cargo run --release -p pocket-voice-assets --example notices > THIRD_PARTY_NOTICES.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

const MIT: &str = r#"Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."#;

const BSD: &str = r#"Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE."#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("# Third-party notices\n");
    println!(
        "Pocket Voice is licensed under MIT or Apache-2.0, at your choice. This file names what others made: the models and"
    );
    println!(
        "the runtime library that `pocket-voice models fetch` brings onto the user's machine, and the Rust libraries that are"
    );
    println!(
        "compiled into the program. It is printed by `cargo run --release -p pocket-voice-assets --example notices`.\n"
    );
    models()?;
    libraries()?;
    println!("## Licence texts\n");
    println!(
        "### MIT\n\n{MIT}\n\n### BSD-2-Clause\n\n{BSD}\n\n### Apache-2.0\n\nSee [LICENSE-APACHE](LICENSE-APACHE), which is the unchanged text.\n"
    );
    println!(
        "### CC0-1.0\n\nThe makers waived their rights as far as the law allows; the full text is at creativecommons.org/publicdomain/zero/1.0/legalcode."
    );
    Ok(())
}

fn models() -> assets::Result<()> {
    println!("## Models and runtime\n");
    println!(
        "None of these lie in this repository. Where a package brings a licence file, it is kept beside the model.\n"
    );
    let catalogue = assets::Catalogue::built_in()?;
    for model in catalogue.models() {
        let members = model.files.iter().flat_map(|file| file.sources.iter().flatten());
        let keys: BTreeSet<&str> = members.map(|member| member.package.as_str()).collect();
        let packages: BTreeSet<String> = keys
            .iter()
            .filter_map(|key| catalogue.package(key))
            .map(|package| format!("{} {}", package.name, package.version))
            .collect();
        println!("### {}\n\n{}\n", model.id, model.about);
        println!("- licence: {}", model.licence);
        println!("- notice: {}", model.notice);
        println!("- upstream: {}", model.home);
        println!("- brought by: {}\n", packages.into_iter().collect::<Vec<_>>().join(", "));
    }
    println!("### What a user may add\n");
    for model in catalogue.user_models() {
        println!("- {} ({}); licence: {}", model.about, model.add.join(", "), model.licence);
    }
    println!();
    Ok(())
}

/// Everything reachable from the program through normal dependencies, on any platform; cargo may download some of it.
fn libraries() -> Result<(), Box<dyn std::error::Error>> {
    let output = Command::new(env!("CARGO")).args(["metadata", "--format-version", "1"]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes: BTreeMap<String, Vec<Value>> =
        list(&metadata["resolve"]["nodes"]).iter().map(|node| (text(&node["id"]), list(&node["deps"]))).collect();
    let packages = list(&metadata["packages"]);
    let mut to_visit: Vec<String> = packages
        .iter()
        .filter(|package| package["name"] == "pocket-voice")
        .map(|package| text(&package["id"]))
        .collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = to_visit.pop() {
        if linked.insert(id.clone()) {
            let normal = |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            to_visit.extend(nodes.get(&id).into_iter().flatten().filter(normal).map(|dep| text(&dep["pkg"])));
        }
    }
    println!("## Rust libraries\n\n| library | licence | authors |\n| --- | --- | --- |");
    let mut rows = BTreeSet::new();
    for package in
        packages.iter().filter(|package| linked.contains(&text(&package["id"])) && !package["source"].is_null())
    {
        let authors: Vec<String> = list(&package["authors"])
            .iter()
            .map(|author| text(author).split(" <").next().unwrap_or_default().to_owned())
            .collect();
        let licence = package["license"].as_str().unwrap_or("see its licence file");
        rows.insert(format!("| {} | {} | {} |", text(&package["name"]), licence, authors.join(", ")));
    }
    for row in rows {
        println!("{}", row.replace("  ", " "));
    }
    println!(
        "\nLibraries under MPL-2.0 are used as they are published, unmodified; their source is what cargo downloads."
    );
    println!(
        "\nwhisper-rs-sys, where listed, compiles whisper.cpp and ggml: Copyright (c) 2023-2026 The ggml authors, MIT.\n"
    );
    Ok(())
}
