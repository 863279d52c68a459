//! Draws charts as SVG. They print, work without scripts, and take their colours from the style
//! sheet. Every mark that shows a figure links to its record, and every chart has a text that
//! describes it. The page also shows the figures as a table.

use std::fmt::Write;

/// A drawing under construction.
pub struct Svg {
    marks: String,
    class: String,
    width: f64,
    height: f64,
    title: String,
    has_links: bool,
}

/// Start and end of a line.
type Line = ((f64, f64), (f64, f64));

impl Svg {
    /// Creates a drawing with the given size, and a text for readers who cannot see the drawing.
    pub fn new(class: &str, width: f64, height: f64, title: &str) -> Self {
        Self {
            marks: String::new(),
            class: class.to_owned(),
            width,
            height,
            title: escaped(title),
            has_links: false,
        }
    }

    /// Returns the drawing: an image, or a group if it has links. Screen readers skip the contents
    /// of an image.
    pub fn finish(self) -> String {
        let Self {
            marks,
            class,
            width,
            height,
            title,
            has_links,
        } = self;
        let role = if has_links { "group" } else { "img" };
        format!(
            r#"<svg class="chart {class}" viewBox="0 0 {width} {height}" role="{role}" aria-label="{title}">{marks}</svg>"#
        )
    }

    /// Draws `inner` as a link to a record, or without a link if `href` is `None`; `title` is the
    /// tooltip.
    pub fn linked(&mut self, href: Option<&str>, title: &str, inner: impl FnOnce(&mut Self)) {
        self.has_links |= href.is_some();
        match href {
            Some(href) => self
                .marks
                .push_str(&format!("<a href=\"{}\">", escaped(href))),
            None => self.marks.push_str("<g>"),
        }
        self.marks
            .push_str(&format!("<title>{}</title>", escaped(title)));
        inner(self);
        self.marks
            .push_str(if href.is_some() { "</a>" } else { "</g>" });
    }

    /// Draws lines parallel to an axis as one mark.
    pub fn lines(&mut self, class: &str, lines: &[Line]) {
        let _ = write!(self.marks, r#"<path class="{class}" d=""#);
        for ((x1, y1), (x2, y2)) in lines {
            let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(|length| short(*length));
            // Both coordinates are rounded to tenths.
            let _ = if (y1 - y2).abs() < 0.05 {
                write!(self.marks, "M{x1} {y1}H{x2}")
            } else {
                write!(self.marks, "M{x1} {y1}V{y2}")
            };
        }
        self.marks.push_str("\"/>");
    }

    pub fn rectangle(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(r#" class="{class}""#)
        };
        let _ = write!(
            self.marks,
            r#"<rect{class} x="{}" y="{}" width="{}" height="{}"/>"#,
            short(x),
            short(y),
            short(width.max(0.0)),
            short(height.max(0.0))
        );
    }

    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let _ = write!(
            self.marks,
            r#"<circle class="{class}" cx="{}" cy="{}" r="{}"/>"#,
            short(x),
            short(y),
            short(radius)
        );
    }

    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let _ = write!(self.marks, r#"<path class="{class}" d=""#);
        for (number, (x, y)) in points.iter().enumerate() {
            let _ = write!(
                self.marks,
                "{}{} {}",
                if number == 0 { "M" } else { "L" },
                short(*x),
                short(*y)
            );
        }
        self.marks.push_str("\"/>");
    }

    /// Draws text that starts (`start`), ends (`end`) or is centred (`middle`) at a point.
    pub fn text(&mut self, class: &str, anchor: &str, (x, y): (f64, f64), text: &str) {
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(r#" class="{class}""#)
        };
        let anchor = if anchor == "start" {
            String::new()
        } else {
            format!(r#" text-anchor="{anchor}""#)
        };
        let _ = write!(
            self.marks,
            r#"<text{class}{anchor} x="{}" y="{}">{}</text>"#,
            short(x),
            short(y),
            escaped(text)
        );
    }

    /// Draws labels below a chart, each centred on its position.
    pub fn row_of_labels(&mut self, class: &str, y: f64, labels: &[(f64, String)]) {
        let _ = write!(
            self.marks,
            r#"<g class="{class}" text-anchor="middle" transform="translate(0 {})">"#,
            short(y)
        );
        for (x, label) in labels {
            let _ = write!(
                self.marks,
                r#"<text x="{}">{}</text>"#,
                x.round(),
                escaped(label)
            );
        }
        self.marks.push_str("</g>");
    }

    /// Draws labels next to a chart, with each label ending at `x`.
    pub fn column_of_labels(&mut self, class: &str, x: f64, labels: &[(f64, String)]) {
        let _ = write!(
            self.marks,
            r#"<g class="{class}" text-anchor="end" transform="translate({} 0)">"#,
            short(x)
        );
        for (y, label) in labels {
            let _ = write!(
                self.marks,
                r#"<text y="{}">{}</text>"#,
                y.round(),
                escaped(label)
            );
        }
        self.marks.push_str("</g>");
    }

    /// Draws dots as one mark.
    pub fn dots(&mut self, class: &str, points: &[(f64, f64)]) {
        let dots: String = points
            .iter()
            .map(|(x, y)| format!("M{} {}h0", short(*x), short(*y)))
            .collect();
        let _ = write!(self.marks, r#"<path class="{class}" d="{dots}"/>"#);
    }
}

/// Escapes text for HTML.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#x27;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Rounds a length to one decimal place: a tenth of a point on a screen.
fn short(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::Svg;

    #[test]
    fn external_text_is_escaped() {
        let mut svg = Svg::new("bars", 10.0, 10.0, "\"><script>");
        svg.linked(Some("/records/a\"b"), "<b>", |svg| {
            svg.text("label", "start", (0.0, 0.04), "a & 'b'");
        });
        assert_eq!(
            svg.finish(),
            "<svg class=\"chart bars\" viewBox=\"0 0 10 10\" role=\"group\" aria-label=\"&quot;&gt;&lt;script&gt;\">\
             <a href=\"/records/a&quot;b\"><title>&lt;b&gt;</title>\
             <text class=\"label\" x=\"0\" y=\"0\">a &amp; &#x27;b&#x27;</text></a></svg>"
        );
    }
}
