//! Bars as inline SVG.

use std::fmt::Write;

use super::html::escape;

/// A group of bars under one label: one value a run, 0 to 100.
pub(super) struct Group {
    pub(super) label: String,
    pub(super) values: Vec<Option<f64>>,
}

/// Colours that are told apart by people who see few, after Okabe and Ito.
pub(super) const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999"];

const LABEL: usize = 150;
const WIDTH: usize = 560;
const BAR: usize = 14;
const GAP: usize = 10;

/// Horizontal bars, grouped by task, with their values beside them.
pub(super) fn bars(groups: &[Group], most: f64, names: &[String]) -> String {
    let each = names.len() * BAR + GAP;
    let height = groups.len() * each + GAP;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {height}\" width=\"{}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">\n",
        LABEL + WIDTH + 60,
        LABEL + WIDTH + 60
    );
    for step in 0..=4 {
        let x = LABEL + WIDTH * step / 4;
        // Writing to a text cannot fail.
        let _ = writeln!(svg, "<line x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{height}\" class=\"grid\"/>");
    }
    for (i, group) in groups.iter().enumerate() {
        let top = i * each + GAP;
        let middle = top + names.len() * BAR / 2 + 4;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>",
            LABEL - 8,
            escape(&group.label)
        );
        for (j, value) in group.values.iter().enumerate() {
            let Some(value) = value.filter(|v| v.is_finite()) else { continue };
            let share = if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
            let length = share * WIDTH as f64;
            let (y, colour) = (top + j * BAR, COLOURS[j % COLOURS.len()]);
            let name = names.get(j).map(|n| escape(n)).unwrap_or_default();
            let _ = writeln!(
                svg,
                "<rect x=\"{LABEL}\" y=\"{y}\" width=\"{length:.1}\" height=\"{}\" fill=\"{colour}\"><title>{name}: \
                 {value:.2}</title></rect><text x=\"{:.1}\" y=\"{}\" class=\"value\">{value:.1}</text>",
                BAR - 2,
                LABEL as f64 + length + 4.0,
                y + BAR - 4,
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
