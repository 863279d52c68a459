//! Charts as SVG: they print, work without scripts, and take their colours from the style sheet. Every mark that stands for a figure leads to its
//! record, every chart has a text that says what it shows, and the page has the figures beside it as a table.

use std::fmt::Write;

/// Writes one drawing.
pub struct Svg(String);

impl Svg {
    /// Begins a drawing of so many units, with what it shows for those who do not see it.
    pub fn new(class: &str, width: f64, height: f64, title: &str) -> Self {
        let mut svg = Self(String::new());
        let _ = write!(svg.0, r#"<svg class="chart {class}" viewBox="0 0 {width} {height}" role="img" aria-label=""#);
        svg.escaped(title);
        svg.0.push_str("\">");
        svg
    }

    /// The whole drawing.
    pub fn finish(mut self) -> String {
        self.0.push_str("</svg>");
        self.0
    }

    /// Draws what `inner` draws as a link to a record, or without one; `title` is shown by a pointer that rests on it.
    pub fn linked(&mut self, href: Option<&str>, title: &str, inner: impl FnOnce(&mut Self)) {
        if let Some(href) = href {
            self.0.push_str("<a href=\"");
            self.escaped(href);
            self.0.push_str("\">");
        } else {
            self.0.push_str("<g>");
        }
        self.0.push_str("<title>");
        self.escaped(title);
        self.0.push_str("</title>");
        inner(self);
        self.0.push_str(if href.is_some() { "</a>" } else { "</g>" });
    }

    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = write!(self.0, r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#, short(x1), short(y1), short(x2), short(y2));
    }

    pub fn rectangle(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let _ = write!(
            self.0,
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}" rx="2"/>"#,
            short(x),
            short(y),
            short(width.max(0.0)),
            short(height.max(0.0))
        );
    }

    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let _ = write!(self.0, r#"<circle class="{class}" cx="{}" cy="{}" r="{}"/>"#, short(x), short(y), short(radius));
    }

    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let _ = write!(self.0, r#"<path class="{class}" d=""#);
        for (number, (x, y)) in points.iter().enumerate() {
            let _ = write!(self.0, "{}{} {}", if number == 0 { "M" } else { "L" }, short(*x), short(*y));
        }
        self.0.push_str("\"/>");
    }

    /// Text that begins (`start`), ends (`end`) or has its middle (`middle`) at a point.
    pub fn text(&mut self, class: &str, anchor: &str, (x, y): (f64, f64), text: &str) {
        let _ = write!(self.0, r#"<text class="{class}" text-anchor="{anchor}" x="{}" y="{}">"#, short(x), short(y));
        self.escaped(text);
        self.0.push_str("</text>");
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
    }
}

/// A length with one decimal, which is a tenth of a point on a screen.
fn short(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::Svg;

    #[test]
    fn what_others_wrote_stays_text() {
        let mut svg = Svg::new("bars", 10.0, 10.0, "\"><script>");
        svg.linked(Some("/records/a\"b"), "<b>", |svg| svg.text("label", "start", (0.0, 0.04), "a & 'b'"));
        assert_eq!(
            svg.finish(),
            "<svg class=\"chart bars\" viewBox=\"0 0 10 10\" role=\"img\" aria-label=\"&quot;&gt;&lt;script&gt;\">\
             <a href=\"/records/a&quot;b\"><title>&lt;b&gt;</title>\
             <text class=\"label\" text-anchor=\"start\" x=\"0\" y=\"0\">a &amp; &#39;b&#39;</text></a></svg>"
        );
    }
}
