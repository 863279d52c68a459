//! Reads one license from a row: its number, holder and status, and the values that may be
//! published.

use std::borrow::Cow;

use super::cells::{Read, Row, class_code, date, money};
use super::codes::Code;
use super::holder::{Holder, holder};
use super::joined::Joins;
use super::settings::{Settings, StatusBasis};
use super::table::{Cents, PublishedRow, published_row};
use super::{LICENSE, Reader};
use crate::datasets::placeholders::PLACEHOLDER;
use crate::datasets::vocabulary::{DECLARED, SHARED_VOCABULARY, UNKNOWN, unknown_value};
use pubdata_core::canonical::{address, license_number, line, phone, state};
use pubdata_core::contract::Words;
use pubdata_core::issue::{Issue, Severity};

#[cfg(test)]
mod tests;

published_row! {
    /// A license without the partition columns and the verdict.
    pub(super) struct LicenseRow {
        record_id: Option<String>,
        license_id: Option<String>,
        source_id: Option<String>,
        number: Option<String>,
        number_raw: Option<String>,
        number_normalized: Option<String>,
        number_scheme: Option<String>,
        board: Option<String>,
        profession: Option<String>,
        profession_raw: Option<String>,
        profession_basis: Option<String>,
        license_class: Option<String>,
        classifications: Vec<String>,
        holder_name: Option<String>,
        holder_name_normalized: Option<String>,
        holder_type: Option<String>,
        holder_first: Option<String>,
        holder_middle: Option<String>,
        holder_last: Option<String>,
        holder_suffix: Option<String>,
        business_name: Option<String>,
        dba: Option<String>,
        principals: Vec<String>,
        status: Option<String>,
        status_raw: Option<String>,
        status_basis: Option<String>,
        secondary_status_raw: Option<String>,
        evidence: Option<String>,
        issue_date: Option<String>,
        effective_date: Option<String>,
        expiration_date: Option<String>,
        last_renewed_date: Option<String>,
        suspended_date: Option<String>,
        city: Option<String>,
        address_state: Option<String>,
        zip: Option<String>,
        county: Option<String>,
        phone: Option<String>,
        bond_surety: Option<String>,
        bond_effective_date: Option<String>,
        bond_expiration_date: Option<String>,
        bond_cancelled_date: Option<String>,
        insurance_insurer: Option<String>,
        insurance_effective_date: Option<String>,
        insurance_expiration_date: Option<String>,
        insurance_cancelled_date: Option<String>,
        workers_comp_coverage: Option<String>,
        workers_comp_insurer: Option<String>,
        workers_comp_expiration_date: Option<String>,
        verify_url: Option<String>,
        unknown_values: Vec<String>,
        bond_amount: Cents,
        insurance_amount: Cents,
    }
}

/// A license as published, with the warnings about it.
pub(super) struct License {
    pub(super) state: String,
    pub(super) license_id: String,
    /// Contains pointers to the source's own rows.
    pub(super) row: PublishedRow,
    /// Pointers to the rows from other files that the license is built from.
    pub(super) others: Vec<u64>,
    pub(super) warnings: Vec<Issue>,
}

/// Code and detail of the reason why a row does not yield a license.
pub(super) type Refused = (&'static str, String);

/// Collects warnings about cells that cannot be read.
#[derive(Default)]
struct Warnings {
    found: Vec<(&'static str, String)>,
    /// Words that are missing from the declaration's tables, with their columns:
    /// `holder_kind=Tribe`.
    unknown_values: Vec<String>,
}

impl Warnings {
    fn add(&mut self, code: &'static str, detail: String) {
        self.found.push((code, detail));
    }

    fn add_unknown(&mut self, code: &'static str, column: &str, text: &str) {
        self.add(code, format!("{column} is `{text}`"));
        self.unknown_values.push(unknown_value(column, text));
    }

    fn kept<T>(
        &mut self,
        read: Read<T>,
        code: &'static str,
        column: &str,
        text: &str,
    ) -> Option<T> {
        match read {
            Read::Value(value) => Some(value),
            Read::Nothing => None,
            Read::Bad => {
                self.add(code, format!("{column} is `{text}`"));
                None
            }
        }
    }

    fn date(&mut self, row: Row<'_>, column: &str, settings: &Settings) -> Option<String> {
        let text = row.text(column)?;
        self.kept(date(text, &settings.date_formats), "bad_date", column, text)
    }

    fn money(&mut self, row: Row<'_>, column: &str) -> Option<i64> {
        let text = row.text(column)?;
        self.kept(money(text), "bad_money", column, text)
    }
}

/// Reads a row's license. Returns `Ok(None)` if the row has no license with this repeat number.
pub(super) fn license(
    reader: &Reader<'_>,
    row: Row<'_>,
    joins: &Joins<'_>,
    code: &Code<'_>,
) -> Result<Option<License>, Refused> {
    let settings = &reader.settings;
    let Some(number_raw) = number(settings, row) else {
        return if settings.repeats > 0 {
            Ok(None)
        } else {
            Err(("missing_number", "the row has no license number".to_owned()))
        };
    };
    for column in &settings.never_days {
        if let Some(text) = row
            .text(column)
            .filter(|text| matches!(date(text, &settings.date_formats), Read::Value(_)))
        {
            return Err((
                "malformed_record",
                format!("`{column}` is the day `{text}`: cells are out of place"),
            ));
        }
    }
    let Some(state) = settings.state.clone().or_else(|| {
        row.text("license_state")
            .and_then(state::usps)
            .map(str::to_owned)
    }) else {
        return Err((
            "missing_state",
            format!(
                "license {number_raw} is of no known state: `{}`",
                row.text("license_state").unwrap_or_default()
            ),
        ));
    };
    let number_raw = number_raw.as_ref();
    let shown = license_number::display(number_raw);
    let number_normalized = normalized(settings, row, number_raw);
    if number_normalized.is_empty() {
        return Err((
            "missing_number",
            format!("`{number_raw}` is no license number"),
        ));
    }
    let license_id = license_id(settings, row, &state, &number_normalized)?;
    let record_id = format!("{LICENSE}:{license_id}");
    let mut warnings = Warnings::default();
    let joined = joins.for_number(number_raw);
    for (column, text) in row.placeholders() {
        warnings.add(
            PLACEHOLDER,
            format!("{column} is `{text}`, which is a placeholder"),
        );
    }

    let principals = joined.principals(row);
    let Holder {
        name,
        normalized: name_normalized,
        party,
        person,
        business_name,
    } = holder(
        row,
        settings,
        principals.first().map(String::as_str),
        code.kind(),
    )
    .ok_or_else(|| {
        (
            "missing_name",
            format!("license {number_raw} names no holder"),
        )
    })?;
    // A sole owner's telephone number is personal. Unless the holder is known to be an
    // organisation, the number may be a person's.
    let is_organization = party == Some("organization");
    let person = person.unwrap_or_default();

    let expiration_date = warnings.date(row, "expiration_date", settings);
    let (status, status_basis) = status(settings, reader.status_words, row, &mut warnings);
    let status = status.map(|status| reconcile_inactivation(status, row, settings, &mut warnings));
    let (profession, profession_basis) =
        profession(settings, reader.profession_words, row, code, &mut warnings);
    let location = Location::from_row(row);
    let bond = joined.bond(row);
    let insurance = joined.insurance(row);
    let workers_comp = row.text("workers_comp").map(|text| {
        settings.workers_comp.get(text).cloned().unwrap_or_else(|| {
            warnings.add_unknown("unmapped_workers_comp", "workers_comp", text);
            "unknown".to_owned()
        })
    });
    if let Some(kind) = row
        .text("holder_kind")
        .filter(|kind| settings.holder_kind.get(kind).is_none())
    {
        warnings.add_unknown("unmapped_holder_kind", "holder_kind", kind);
    }
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let own = |column: &str| row.text(column).map(str::to_owned);
    let cells = LicenseRow {
        record_id: Some(record_id.clone()),
        license_id: Some(license_id.clone()),
        source_id: Some(reader.source_id.clone()),
        number: Some(shown),
        number_raw: Some(number_raw.to_owned()),
        number_normalized: Some(number_normalized),
        number_scheme: settings.number_scheme.clone(),
        board: own("board").or_else(|| Some(settings.board.clone())),
        profession: Some(profession),
        profession_raw: Some(profession_raw(settings, row)),
        profession_basis: profession_basis.map(str::to_owned),
        license_class: own("license_class"),
        classifications: classifications(settings, row),
        holder_name: Some(name),
        holder_name_normalized: Some(name_normalized),
        holder_type: party.map(str::to_owned),
        holder_first: some(&person.first),
        holder_middle: some(&person.middle),
        holder_last: some(&person.last),
        holder_suffix: some(&person.suffix),
        business_name,
        dba: own("dba"),
        principals,
        status,
        status_raw: own("status"),
        status_basis: Some(status_basis.to_owned()),
        secondary_status_raw: own("secondary_status"),
        evidence: Some(settings.evidence.clone()),
        issue_date: warnings.date(row, "issue_date", settings),
        effective_date: warnings.date(row, "effective_date", settings),
        expiration_date,
        last_renewed_date: warnings.date(row, "last_renewed_date", settings),
        suspended_date: warnings.date(row, "suspended_date", settings),
        city: location.city,
        address_state: location.state,
        zip: location.zip,
        county: own("county"),
        phone: row
            .text("phone")
            .filter(|_| is_organization)
            .and_then(phone::phone),
        bond_surety: bond.text("bond_surety").map(str::to_owned),
        bond_effective_date: warnings.date(bond, "bond_effective_date", settings),
        bond_expiration_date: warnings.date(bond, "bond_expiration_date", settings),
        bond_cancelled_date: warnings.date(bond, "bond_cancelled_date", settings),
        insurance_insurer: insurance.text("insurance_insurer").map(str::to_owned),
        insurance_effective_date: warnings.date(insurance, "insurance_effective_date", settings),
        insurance_expiration_date: warnings.date(insurance, "insurance_expiration_date", settings),
        insurance_cancelled_date: warnings.date(insurance, "insurance_cancelled_date", settings),
        workers_comp_coverage: workers_comp,
        workers_comp_insurer: own("workers_comp_insurer"),
        workers_comp_expiration_date: warnings.date(row, "workers_comp_expiration_date", settings),
        verify_url: own("verify_url").or_else(|| {
            settings
                .verify_url
                .as_deref()
                .and_then(|template| fill(template, row))
        }),
        unknown_values: std::mem::take(&mut warnings.unknown_values),
        bond_amount: Cents(warnings.money(bond, "bond_amount")),
        insurance_amount: Cents(warnings.money(insurance, "insurance_amount")),
    };
    let cells = cells.into_cells();
    let issue = |(code, detail)| {
        reader.finding(code, Severity::Warning, &record_id, detail, row.pointers())
    };
    let others = joined.pointers().chain(code.pointers()).collect();
    let warnings = warnings.found.into_iter().map(issue).collect();
    Ok(Some(License {
        state,
        license_id,
        row: PublishedRow {
            cells,
            pointers: row.pointers().to_vec(),
        },
        others,
        warnings,
    }))
}

/// Returns a row's number. If the row has none, returns the joined text of the columns in
/// `number_from`.
pub(super) fn number<'r>(settings: &Settings, row: Row<'r>) -> Option<Cow<'r, str>> {
    if let Some(number) = row.text("number") {
        return Some(Cow::Borrowed(number));
    }
    let parts: Option<Vec<&str>> = settings
        .number_from
        .iter()
        .map(|column| row.text(column))
        .collect();
    parts
        .filter(|parts| !parts.is_empty())
        .map(|parts| Cow::Owned(parts.concat()))
}

fn normalized(settings: &Settings, row: Row<'_>, number: &str) -> String {
    let mut prefixes = settings.number_prefixes.clone();
    prefixes.extend(
        settings
            .number_prefix_column
            .as_deref()
            .and_then(|column| row.text(column))
            .map(str::to_owned),
    );
    let shown = license_number::display(number);
    let bare = settings
        .number_suffixes
        .iter()
        .find_map(|suffix| shown.strip_suffix(suffix.as_str()))
        .filter(|bare| !bare.is_empty());
    license_number::normalized(bare.unwrap_or(&shown), &prefixes)
}

/// Builds an id such as `TX-tdlr-ba-21907`. Characters that are unsafe in a path are replaced with
/// `-`.
fn license_id(
    settings: &Settings,
    row: Row<'_>,
    state: &str,
    number: &str,
) -> Result<String, Refused> {
    let mut parts = vec![state.to_owned(), settings.source.clone()];
    for column in &settings.id_from {
        let text = row
            .text(column)
            .ok_or_else(|| ("missing_type", format!("license {number} has no {column}, without which it is not known from others of its number")))?;
        parts.push(text.to_lowercase());
    }
    parts.push(number.to_owned());
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '*' | '.' | '_' | '~' | '-');
    Ok(parts
        .join("-")
        .chars()
        .map(|c| if is_safe(c) { c } else { '-' })
        .collect())
}

/// Returns the status that the source states, and the basis for it. Returns no status if it follows
/// from the expiration date and the query date.
fn status(
    settings: &Settings,
    words: &Words,
    row: Row<'_>,
    warnings: &mut Warnings,
) -> (Option<String>, &'static str) {
    let basis = settings.status_basis.as_str();
    let unknown = (Some(UNKNOWN.to_owned()), basis);
    let text = match settings.status_basis {
        StatusBasis::DerivedFromExpiration => return (None, basis),
        StatusBasis::ImpliedByDataset => return (Some("active".to_owned()), basis),
        StatusBasis::Source => row.text("status"),
    };
    let Some(text) = text else { return unknown };
    let second = row.text("secondary_status");
    let both = second.and_then(|second| settings.status.get(&format!("{text}/{second}")));
    if let Some(own) = both.or_else(|| settings.status.get(text)) {
        return (Some(own.clone()), basis);
    }
    // The source's table decides for a pair of texts, unless each text alone has the same meaning.
    let is_same = |shared: &str| {
        second.is_none_or(|second| {
            words
                .get(second)
                .is_some_and(|other| other.is_empty() || other == shared)
        })
    };
    match (words.get(text), second) {
        (Some(shared), _) if is_same(shared) => match shared {
            "" => unknown,
            shared => (Some(shared.to_owned()), SHARED_VOCABULARY),
        },
        (Some(_), Some(second)) => {
            warnings.add_unknown("unmapped_status", "status", &format!("{text}/{second}"));
            unknown
        }
        _ => {
            warnings.add_unknown("unmapped_status", "status", text);
            unknown
        }
    }
}

/// Returns the status. Returns `unknown` with a warning if an `active` license was inactivated and
/// has not been reactivated since, because the source then contradicts itself.
fn reconcile_inactivation(
    status: String,
    row: Row<'_>,
    settings: &Settings,
    warnings: &mut Warnings,
) -> String {
    let inactivated = warnings.date(row, "inactivated_date", settings);
    let reactivated = warnings.date(row, "reactivated_date", settings);
    match inactivated.filter(|day| status == "active" && reactivated.is_none_or(|back| back < *day))
    {
        Some(day) => {
            warnings.add("inactive_by_date", format!("the status is active, but the license was inactivated on {day} and not reactivated since"));
            "unknown".to_owned()
        }
        None => status,
    }
}

/// Returns the profession for the row's first known text, and the basis for it. For lookups in the
/// source's own table, the publisher's code descriptions come after the row's texts. For the shared
/// vocabulary, the descriptions replace the row's texts, because a bare code is not a word.
fn profession(
    settings: &Settings,
    words: &Words,
    row: Row<'_>,
    code: &Code<'_>,
    warnings: &mut Warnings,
) -> (String, Option<&'static str>) {
    let own = |text: &str| settings.profession.get(text).map(String::as_str);
    let texts = || {
        settings
            .profession_from
            .iter()
            .filter_map(|column| row.text(column))
    };
    let parts = |text: &str| -> Vec<String> {
        let is_classes = settings
            .class_separator
            .is_some_and(|separator| text.contains(separator));
        let separator = settings
            .class_separator
            .filter(|_| is_classes)
            .unwrap_or('\u{1f}');
        text.split(separator)
            .map(|part| class_code(part, settings.class_is_padded))
            .collect()
    };
    let declared = || {
        texts().find_map(|text| own(text).or_else(|| parts(text).iter().find_map(|part| own(part))))
    };
    if let Some(declared) = declared().or_else(|| agreed(code.texts(), own)) {
        return (
            declared.to_owned(),
            Some(DECLARED).filter(|_| declared != UNKNOWN),
        );
    }
    let shared = match code.texts() {
        [] => texts()
            .filter_map(|text| words.get(text))
            .reduce(|first, next| if first.is_empty() { next } else { first }),
        stood_for => agreed(stood_for, |text| words.get(text)),
    };
    match (shared, &settings.profession_default) {
        (Some(shared), _) if !shared.is_empty() => (shared.to_owned(), Some(SHARED_VOCABULARY)),
        (_, Some(default)) => (default.clone(), Some(DECLARED)),
        (Some(_), None) => (UNKNOWN.to_owned(), None),
        (None, None) => {
            let unknown = if code.texts().is_empty() {
                texts().collect()
            } else {
                code.texts().to_vec()
            };
            warnings.add_unknown("unmapped_profession", "profession", &unknown.join(", "));
            (UNKNOWN.to_owned(), None)
        }
    }
}

/// Returns the meaning that all texts share. Returns `None` if their meanings differ, or if any
/// text's meaning is unknown.
fn agreed<'t>(texts: &[&str], meaning: impl Fn(&str) -> Option<&'t str>) -> Option<&'t str> {
    let first = meaning(texts.first()?)?;
    texts
        .iter()
        .all(|text| meaning(text) == Some(first))
        .then_some(first)
}

/// Returns the license type as published.
fn profession_raw(settings: &Settings, row: Row<'_>) -> String {
    let own = row.text("profession");
    own.or_else(|| {
        settings
            .profession_from
            .iter()
            .find_map(|column| row.text(column))
    })
    .unwrap_or_default()
    .to_owned()
}

fn classifications(settings: &Settings, row: Row<'_>) -> Vec<String> {
    let describe = |code: String, text: Option<&str>| {
        let description =
            text.or_else(|| settings.class_description.get(&code).map(String::as_str));
        description.map_or_else(
            || code.clone(),
            |description| format!("{code}={description}"),
        )
    };
    let mut found: Vec<String> = Vec::new();
    if let Some(cell) = row.text("classes") {
        let separator = settings.class_separator.unwrap_or('\u{1f}');
        let codes = cell
            .split(separator)
            .map(|code| class_code(code, settings.class_is_padded))
            .filter(|code| !code.is_empty());
        found.extend(codes.map(|code| describe(code, None)));
    }
    for (code, text) in [
        ("class_code", "class_text"),
        ("class_code_2", "class_text_2"),
    ] {
        let (code, text) = (row.text(code), row.text(text));
        // Some boards repeat the code before its description.
        let text = code
            .and_then(|code| text?.strip_prefix(code))
            .map(str::trim)
            .filter(|bare| !bare.is_empty())
            .or(text);
        found.extend(code.map(|code| describe(class_code(code, settings.class_is_padded), text)));
    }
    let mut listed = Vec::new();
    found.into_iter().for_each(|class| {
        if !listed.contains(&class) {
            listed.push(class);
        }
    });
    listed
}

/// A holder's location, without the street.
#[derive(Default)]
struct Location {
    city: Option<String>,
    state: Option<String>,
    zip: Option<String>,
}

impl Location {
    fn from_row(row: Row<'_>) -> Self {
        let own = |column: &str| row.text(column).map(str::to_owned);
        if let Some(line) = row.text("city_state_zip") {
            // Add a dummy street, so that the parser does not mistake the city for a street.
            let parsed = line::parse_line(&format!("1 A ST, {line}"));
            let some = |text: String| (!text.is_empty()).then_some(text);
            return Self {
                city: some(parsed.city),
                state: some(parsed.state),
                zip: some(parsed.zip),
            };
        }
        let zip = row.text("zip").and_then(|text| {
            let is_foreign = text.chars().any(char::is_alphabetic);
            address::zip(text)
                .map(|(five, _)| five)
                .or_else(|| is_foreign.then(|| text.to_uppercase()))
        });
        let state = row
            .text("address_state")
            .map(|text| state::usps(text).unwrap_or(text).to_owned());
        Self {
            city: own("city"),
            state,
            zip,
        }
    }
}

/// Replaces `{column}` with the row's cells. Returns `None` if a cell is empty.
fn fill(template: &str, row: Row<'_>) -> Option<String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (column, behind) = after.split_once('}')?;
        filled.push_str(before);
        filled.push_str(&row.text(column)?.replace(' ', "%20"));
        rest = behind;
    }
    filled.push_str(rest);
    Some(filled)
}
