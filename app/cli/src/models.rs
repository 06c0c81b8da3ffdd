//! `models`: what is in the models directory, and how to change it.

use std::path::Path;

use anyhow::{Context as _, bail};
use assets::{Listing, Placing, Role, State, Store};
use pocket_voice::alone;

use crate::args::{Common, Models};
use crate::interrupt;
use crate::output::{self, Out, plain};

pub(crate) fn run(common: &Common, action: &Models, out: &Out) -> anyhow::Result<()> {
    let store = Store::open()?;
    match action {
        Models::List => list(common, &store, out),
        Models::Fetch { ids, profile } => fetch(common, &store, ids, profile.as_deref(), out),
        Models::Verify { ids } => verify(&store, ids, out),
        Models::Add { what, link } => add(common, &store, what, *link, out),
        Models::Remove { id } => {
            store.remove(id)?;
            out.line(format_args!("{id} is removed"))
        }
    }
}

fn list(common: &Common, store: &Store, out: &Out) -> anyhow::Result<()> {
    let listings = store.list()?;
    if let Some(path) = &common.json {
        let models: Vec<_> = listings.iter().map(as_json).collect();
        let report = serde_json::json!({ "version": 1, "directory": store.root(), "models": models });
        output::json(path, &report, out)?;
        if path == Path::new("-") {
            return Ok(());
        }
    }
    out.line(format_args!("Models in {}", store.root().display()))?;
    for model in &listings {
        let profiles = if model.profiles.is_empty() { "your own".into() } else { model.profiles.join(", ") };
        out.line(format_args!("\n{} ({}; {profiles}): {}", model.id, model.role, state(&model.state)))?;
        out.line(format_args!("    {}", plain(&model.about)))?;
        out.line(format_args!(
            "    {} on disk, {} to download, licence {}",
            output::size(model.size),
            output::size(model.download),
            model.licence
        ))?;
        if !model.from.is_empty() {
            out.line(format_args!("    from {}", plain(&model.from.join(", or "))))?;
        }
    }
    for wanted in store.catalogue().user_models() {
        let there = listings.iter().any(|model| model.profiles.is_empty() && model.role == wanted.role);
        if !there {
            out.line(format_args!(
                "\nnot here ({}; {}): {}\n    licence {}\n    bring it with: pocket-voice models add {}",
                wanted.role,
                wanted.profiles.join(", "),
                wanted.about,
                wanted.licence,
                wanted.add.join(" or ")
            ))?;
        }
    }
    let missing = listings.iter().any(|m| !m.profiles.is_empty() && m.state == State::Missing);
    if missing {
        out.remark("\n`pocket-voice models fetch` brings what is missing");
    }
    Ok(())
}

fn fetch(common: &Common, store: &Store, ids: &[String], profile: Option<&str>, out: &Out) -> anyhow::Result<()> {
    let progress = if out.quiet() { fetch::Progress::Quiet } else { fetch::Progress::Auto };
    let options = fetch::Options {
        convert: Some(&alone::derive),
        progress,
        cancel: Some(interrupt::flag()),
        ..fetch::Options::default()
    };
    let profile = profile.unwrap_or(assets::DEFAULT_PROFILE);
    let summary = if ids.is_empty() {
        fetch::profile(store, profile, &options)?
    } else {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        fetch::models(store, &ids, &options)?
    };
    if let Some(path) = &common.json {
        let report = serde_json::json!({
            "version": 1,
            "fetched": summary.fetched,
            "present": summary.present,
            "downloaded_bytes": summary.downloaded,
        });
        output::json(path, &report, out)?;
    }
    let directory = store.root().display();
    if summary.fetched.is_empty() {
        out.remark(format_args!("all {} models are in {directory} and whole", summary.present.len()));
    } else {
        let (fetched, size) = (summary.fetched.join(", "), output::size(summary.downloaded));
        out.remark(format_args!("brought {fetched} to {directory}: {size} downloaded"));
    }
    if ids.is_empty() {
        for wanted in store.catalogue().user_models() {
            let needed = wanted.profiles.iter().any(|p| p == profile);
            if needed && !store.list()?.iter().any(|m| m.profiles.is_empty() && m.role == wanted.role) {
                let add = wanted.add.join(" or ");
                out.remark(format_args!("still yours to bring: {}; pocket-voice models add {add}", wanted.about));
            }
        }
    }
    Ok(())
}

fn verify(store: &Store, ids: &[String], out: &Out) -> anyhow::Result<()> {
    let ids: Vec<String> = if ids.is_empty() {
        let there = |model: &Listing| !matches!(model.state, State::Missing | State::Unsupported(_));
        store.list()?.into_iter().filter(there).map(|model| model.id).collect()
    } else {
        ids.to_vec()
    };
    if ids.is_empty() {
        bail!("there are no models in {}; `pocket-voice models fetch` brings them", store.root().display());
    }
    let mut wrong = Vec::new();
    for id in ids {
        if interrupt::happened() {
            bail!("interrupted");
        }
        let found = store.verify(&id, &mut |_| {})?;
        out.line(format_args!("{id}: {}", state(&found)))?;
        if found != State::Whole {
            wrong.push(id);
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let commands: Vec<String> = wrong.iter().map(|id| store.command_for(id)).collect();
    bail!("{} not whole; repair with: {}", wrong.join(", "), commands.join("; "))
}

fn add(common: &Common, store: &Store, what: &str, link: bool, out: &Out) -> anyhow::Result<()> {
    let id = if what.starts_with("hf:") {
        let progress = if out.quiet() { fetch::Progress::Quiet } else { fetch::Progress::Auto };
        let options = fetch::Options { progress, cancel: Some(interrupt::flag()), ..fetch::Options::default() };
        fetch::hugging_face(store, what, &options)?
    } else {
        let placing = if link { Placing::Link } else { Placing::Copy };
        store.add(Path::new(what), placing, None, &mut |_| {})?
    };
    let manifest = store.manifest(&id)?.with_context(|| format!("{id} vanished after it was added"))?;
    let flag = match manifest.role {
        Role::Llm => "--llm",
        Role::Asr => "--asr",
        _ => "--voice",
    };
    if let Some(path) = &common.json {
        output::json(path, &serde_json::json!({ "version": 1, "id": id, "role": manifest.role }), out)?;
    }
    out.line(format_args!("{id} is added; use it with {flag} {id}"))
}

/// A state in a few words.
fn state(state: &State) -> String {
    match state {
        State::Missing => "missing".into(),
        State::Whole => "whole".into(),
        State::Incomplete(files) => format!("incomplete, without {}", files.join(", ")),
        State::Damaged(problems) => format!("damaged: {}", problems.join("; ")),
        State::Unsupported(reason) => format!("not for this machine: {reason}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn as_json(model: &Listing) -> serde_json::Value {
    serde_json::json!({
        "id": model.id,
        "role": model.role,
        "profiles": model.profiles,
        "about": model.about,
        "licence": model.licence,
        "from": model.from,
        "state": state(&model.state),
        "whole": model.state == State::Whole,
        "bytes": model.size,
        "download_bytes": model.download,
    })
}
