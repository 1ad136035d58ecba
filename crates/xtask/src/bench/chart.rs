//! A bar chart as SVG: groups of bars on a logarithmic axis.

use std::fmt::Write as _;

/// One contender's bars: a value for each group, NaN where there is none.
pub(super) struct Bars {
    pub(super) name: &'static str,
    pub(super) values: Vec<f64>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 40.0;
const COLOURS: [&str; 4] = ["#2563eb", "#9ca3af", "#f59e0b", "#10b981"];

/// Values below 1 are drawn as 1.
pub(super) fn chart(title: &str, groups: &[String], bars: &[Bars]) -> String {
    let largest = bars.iter().flat_map(|bars| &bars.values).copied().fold(1.0, f64::max);
    let decades = largest.log10().ceil().max(1.0);
    let plot = HEIGHT - TOP - BOTTOM;
    let y = |value: f64| TOP + plot * (1.0 - value.max(1.0).log10() / decades);
    let group_width = (WIDTH - LEFT - 20.0) / groups.len().max(1) as f64;
    let bar_width = group_width * 0.8 / bars.len().max(1) as f64;

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{title}</text>\n"
    );
    let mut line = |text: String| {
        // Writing into a string can't fail.
        let _ = writeln!(svg, "{text}");
    };
    for decade in 0..=decades as i32 {
        let value = 10_f64.powi(decade);
        let at = y(value);
        line(format!(
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e5e7eb\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            LEFT - 6.0,
            at + 4.0
        ));
    }
    for (index, bars) in bars.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let legend = LEFT + 180.0 * index as f64;
        line(format!(
            "<rect x=\"{legend}\" y=\"34\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"44\">{}</text>",
            legend + 18.0,
            bars.name
        ));
        for (group, value) in bars.values.iter().enumerate() {
            let left = LEFT + group_width * (group as f64 + 0.1) + bar_width * index as f64;
            let top = y(*value);
            let shown = if value.is_nan() { "–".to_owned() } else { format!("{value:.0}") };
            line(format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{bar_width:.1}\" height=\"{:.1}\" \
                 fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{shown}</text>",
                HEIGHT - BOTTOM - top,
                left + bar_width / 2.0,
                top - 4.0
            ));
        }
    }
    for (group, label) in groups.iter().enumerate() {
        let middle = LEFT + group_width * (group as f64 + 0.5);
        line(format!(
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            HEIGHT - BOTTOM + 20.0
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_ten_times_as_large_is_one_decade_higher() {
        let bars = [Bars { name: "one", values: vec![10.0, 100.0] }];
        let svg = chart("t", &["a".to_owned(), "b".to_owned()], &bars);
        // Two decades on 240 points: the smaller bar ends half-way, the larger at the top.
        assert!(svg.contains("height=\"120.0\"") && svg.contains("height=\"240.0\""), "{svg}");
    }
}
