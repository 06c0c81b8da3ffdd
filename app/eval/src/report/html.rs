//! One page with tables and charts, without script, font or picture from anywhere else.

use std::fmt::Write;

use super::chart::{COLOURS, Group, bars};
use super::{Row, head, parts, rows, task, task_names};
use crate::scores::Scores;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#222;background:#fff}table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #ccc;padding:.3rem .6rem;\
text-align:left;vertical-align:top}th{background:#f3f3f3}svg{max-width:100%;height:auto}svg text{font:12px system-ui,\
sans-serif;fill:currentColor}.grid{stroke:#ddd}.bad{color:#b00020;font-weight:600}.key span{display:inline-block;\
width:.8em;height:.8em;margin:0 .4em 0 1em}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}\
th{background:#262626}td,th{border-color:#444}.grid{stroke:#333}.bad{color:#ff8a80}}";

/// Text as HTML has it.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page.
#[must_use]
pub fn html(runs: &[Scores]) -> String {
    let names = head(runs);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Evaluation</title><style>{STYLE}</style></head><body>\n<h1>Evaluation</h1>\n"
    );
    for run in runs {
        if let Some(why) = &run.rejected {
            // Writing to a text cannot fail.
            let _ = writeln!(page, "<p class=\"bad\">{}: no result, {}</p>", escape(&run.name), escape(why));
        }
    }
    let key: String = names
        .iter()
        .enumerate()
        .map(|(i, name)| format!("<span style=\"background:{}\"></span>{}", COLOURS[i % COLOURS.len()], escape(name)))
        .collect();
    let _ = writeln!(page, "<p class=\"key\">{key}</p>");
    let scores: Vec<Group> = task_names(runs)
        .into_iter()
        .map(|name| Group { values: runs.iter().map(|run| task(run, &name)?.score).collect(), label: name })
        .chain([
            Group { label: "nine tasks".into(), values: runs.iter().map(|run| run.composite).collect() },
            Group {
                label: crate::voicebench::JUDGE_FREE.into(),
                values: runs.iter().map(|run| run.judge_free.as_ref().map(|mean| mean.value)).collect(),
            },
        ])
        .filter(|group| group.values.iter().any(Option::is_some))
        .collect();
    let _ = writeln!(page, "<h2>Scores, 0 to 100</h2>\n{}", bars(&scores, 100.0, &names));
    let delays: Vec<Group> = task_names(runs)
        .into_iter()
        .map(|name| Group {
            values: runs.iter().map(|run| Some(task(run, &name)?.first_token_ms?.p50)).collect(),
            label: name,
        })
        .filter(|group| group.values.iter().any(Option::is_some))
        .collect();
    let most = delays.iter().flat_map(|g| g.values.iter().flatten()).copied().fold(0.0, f64::max);
    if most > 0.0 {
        let _ = writeln!(page, "<h2>First token, ms, median</h2>\n{}", bars(&delays, most, &names));
    }
    table(&mut page, &names, &rows(runs));
    for name in task_names(runs) {
        let _ = writeln!(page, "<h2>{}</h2>", escape(&name));
        table(&mut page, &names, &parts(runs, &name));
        let notes: Vec<String> = runs
            .iter()
            .flat_map(|run| {
                task(run, &name).map(|t| t.notes.as_slice()).unwrap_or_default().iter().map(move |n| (run, n))
            })
            .map(|(run, note)| format!("<li>{}: {}</li>", escape(&run.name), escape(note)))
            .collect();
        if !notes.is_empty() {
            let _ = writeln!(page, "<ul>{}</ul>", notes.concat());
        }
    }
    page.push_str("</body></html>\n");
    page
}

fn table(page: &mut String, head: &[String], rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let cells = |tag: &str, cells: &[String]| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let _ = writeln!(page, "<table><tr><th></th>{}</tr>", cells("th", head));
    for row in rows {
        let _ = writeln!(page, "<tr><th>{}</th>{}</tr>", escape(&row.name), cells("td", &row.cells));
    }
    page.push_str("</table>\n");
}
