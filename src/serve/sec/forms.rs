//! Form types: which are periodic reports, and what those are that are asked for most.

/// Forms of periodic reports: annual and quarterly, for a changed fiscal year, and their amendments.
pub const PERIODIC: &[&str] = &["10-K", "10-K/A", "10-KT", "10-KT/A", "10-Q", "10-Q/A", "10-QT", "10-QT/A"];

/// What form types are, for those that are asked for most. Source: SEC, "EDGAR Filer Manual", volume II, submission types.
const DESCRIPTIONS: [(&str, &str); 24] = [
    ("10-K", "Annual report"),
    ("10-KT", "Annual report for a transition period"),
    ("10-Q", "Quarterly report"),
    ("10-QT", "Quarterly report for a transition period"),
    ("11-K", "Annual report of employee stock plans"),
    ("13F-HR", "Holdings of institutional investment managers"),
    ("144", "Proposed sale of securities"),
    ("20-F", "Annual report of a foreign private issuer"),
    ("3", "Initial statement of beneficial ownership"),
    ("4", "Changes in beneficial ownership"),
    ("40-F", "Annual report of a Canadian issuer"),
    ("424B2", "Prospectus"),
    ("424B5", "Prospectus"),
    ("5", "Annual changes in beneficial ownership"),
    ("6-K", "Report of a foreign private issuer"),
    ("8-K", "Current report"),
    ("ARS", "Annual report to security holders"),
    ("D", "Exempt offering of securities"),
    ("DEF 14A", "Definitive proxy statement"),
    ("S-1", "Registration of securities"),
    ("S-3", "Registration of securities, short form"),
    ("S-8", "Registration of securities of employee plans"),
    ("SC 13D", "Beneficial ownership of more than five percent"),
    ("SC 13G", "Beneficial ownership of more than five percent, passive"),
];

/// What a form type is, amendments included; none for one that is rarely asked for.
pub fn description_of(form: &str) -> Option<&'static str> {
    DESCRIPTIONS.iter().find(|(known, _)| *known == form.trim_end_matches("/A")).map(|(_, description)| *description)
}
