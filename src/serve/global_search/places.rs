//! Searches ZIP codes, ZCTAs, counties and states, and the metrics of a ZCTA.

use super::hit::{EXACT, FEW, Found, Hit, Matched, joined, path};
use super::query::SearchQuery;
use crate::geo::area::{Area, AreaKind};
use crate::geo::metric::format_estimate;
use crate::geo::tables::Geo;
use crate::http::endpoint::Call;
use crate::place::areas::PlaceTable;
use crate::place::zips::Zips;
use pubdata_core::canonical::name::{comparable, words};
use pubdata_core::canonical::state::{all, by_fips, name, usps};

const ZCTAS: &str = AreaKind::Zcta.place_dataset();
const COUNTIES: &str = AreaKind::County.place_dataset();

/// Scores for a county matched by its name without the word for its kind, and by the start of its
/// name.
const WITHOUT_KIND_SCORE: i32 = 9_700;
const PREFIX_SCORE: i32 = 8_500;

/// Score of a ZIP code by its city.
const CITY_SCORE: i32 = 9_500;

/// Finds ZIP codes by code or city.
pub fn find_zips(call: &Call<'_>, query: &SearchQuery<'_>, found: &mut Found) {
    let Some(zips) = found.searches("zip.zip", call.release.table::<Zips>()) else {
        return;
    };
    let Some(code) = query.five_digits() else {
        return add_city(found, zips, query);
    };
    found.read_as("zip", code);
    if let Some(row) = zips.find(code) {
        found.add(zip(zips, row, EXACT, "zip"));
    }
}

/// Finds the ZIP codes of a city. If no state is given, takes one ZIP code from each state with
/// such a city before a second one from any state.
fn add_city(found: &mut Found, zips: &Zips, query: &SearchQuery<'_>) {
    let in_state = query
        .with_state
        .map(|(state, rest)| zips.of_city(state, rest))
        .filter(|rows| !rows.is_empty());
    let of_states: Vec<&[u32]> = match in_state {
        Some(rows) => vec![rows],
        None => all()
            .map(|state| zips.of_city(state, query.text))
            .filter(|rows| !rows.is_empty())
            .collect(),
    };
    if of_states.is_empty() {
        return;
    }
    found.read_as("city", query.text);
    let most = of_states
        .iter()
        .map(|rows| rows.len())
        .max()
        .unwrap_or_default();
    let in_turn =
        (0..most).flat_map(|place| of_states.iter().filter_map(move |rows| rows.get(place)));
    in_turn
        .take(FEW)
        .for_each(|row| found.add(zip(zips, *row as usize, CITY_SCORE, "city")));
}

fn zip(zips: &Zips, row: usize, score: i32, label: &'static str) -> Hit {
    let code = zips.codes.at(row);
    let place = joined([Some(zips.cities.at(row)), zips.states.get(row)]);
    Hit {
        kind: "zip",
        title: format!("ZIP code {code}"),
        subtitle: joined([Some("ZIP code"), Some(place.as_str())]),
        id: code.to_owned(),
        path: path("/v1/zip/", code),
        page: path("/zip/", code),
        matched: Matched::new(score, label),
        record_id: Some(zips.provenance.record_id(row).to_owned()),
    }
}

/// Finds ZCTAs, counties and states, and metrics of a ZCTA.
pub fn find_areas(call: &Call<'_>, query: &SearchQuery<'_>, found: &mut Found) {
    let geo = Geo::from_release(call.release);
    if let Some(zctas) = found.searches(ZCTAS, geo.zctas) {
        if let Some(code) = query.five_digits() {
            add_zcta(found, zctas, code);
        }
        add_metrics(found, &geo, zctas, query);
    }
    if let Some(counties) = found.searches(COUNTIES, geo.counties) {
        add_state(found, counties, query);
        if let Some(row) = query
            .five_digits()
            .filter(|code| query.text == *code)
            .and_then(|code| counties.find(code))
        {
            found.read_as("county", query.text);
            found.add(county(counties, row, EXACT, "fips"));
        }
        add_counties(found, counties, query);
    }
}

fn add_zcta(found: &mut Found, zctas: &PlaceTable, code: &str) {
    found.read_as("zcta", code);
    let Some(row) = zctas.find(code) else { return };
    found.add(Hit {
        kind: "zcta",
        title: zctas.names.at(row).to_owned(),
        subtitle: joined([Some("ZIP Code Tabulation Area"), zctas.states.get(row)]),
        id: code.to_owned(),
        path: path("/v1/geo-demographics/locations/", code),
        page: path("/zip/", code),
        matched: Matched::new(EXACT, "zcta"),
        record_id: Some(zctas.record_ids.at(row).to_owned()),
    });
}

/// Finds the metrics named by the words next to a ZCTA code.
fn add_metrics(found: &mut Found, geo: &Geo<'_>, zctas: &PlaceTable, query: &SearchQuery<'_>) {
    let all = words(query.text);
    let Some(code) = all
        .iter()
        .find(|word| word.len() == 5 && zctas.find(word).is_some())
    else {
        return;
    };
    let named: Vec<String> = all
        .iter()
        .filter(|word| *word != code)
        .map(|word| word.to_lowercase())
        .collect();
    if named.is_empty() {
        return;
    }
    let Ok(area) = Area::find(geo, AreaKind::Zcta, code, None, "q") else {
        return;
    };
    for (metric, key) in geo.metric_keys.iter().enumerate() {
        let is_meant = named.iter().all(|word| {
            word.len() > 2 && key.split('_').any(|known| known.starts_with(word.as_str()))
        });
        if !is_meant {
            continue;
        }
        found.read_as("metric", &format!("{key} {code}"));
        let figures = area
            .estimate(metric)
            .map(|estimate| format_estimate(&estimate))
            .unwrap_or_default();
        found.add(Hit {
            kind: "metric",
            title: format!("{} of ZCTA {code}", key.replace('_', " ")),
            subtitle: joined([
                Some(figures.as_str()),
                Some(area.table.vintage_text.as_str()),
            ]),
            id: format!("{code}:{key}"),
            path: format!("/v1/geo-demographics/locations/{code}/demographics?metric={key}"),
            page: path("/zip/", code),
            matched: Matched::new(EXACT, "metric"),
            record_id: area.area.map(|_| area.record_id(key)),
        });
    }
}

fn add_state(found: &mut Found, counties: &PlaceTable, query: &SearchQuery<'_>) {
    let Some(state) = usps(query.text).or_else(|| by_fips(query.text)) else {
        return;
    };
    found.read_as("state", state);
    let count = (0..counties.codes.len())
        .filter(|row| counties.states.get(*row) == Some(state))
        .count();
    if count == 0 {
        return;
    }
    found.add(Hit {
        kind: "state",
        title: written(name(state).unwrap_or(state)),
        subtitle: joined([
            Some("state"),
            Some(state),
            Some(format!("{count} counties").as_str()),
        ]),
        id: state.to_owned(),
        path: format!("/v1/geo-demographics/states/{state}/counties"),
        page: path("/state/", state),
        matched: Matched::new(EXACT, "state"),
        record_id: None,
    });
}

/// Returns a state's name in title case.
fn written(name: &str) -> String {
    let word = |word: &str| match word {
        "OF" | "THE" => word.to_lowercase(),
        _ if word.contains('.') => word.to_owned(),
        _ => word
            .chars()
            .take(1)
            .chain(word.chars().skip(1).flat_map(char::to_lowercase))
            .collect(),
    };
    name.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Finds counties by name, with or without their state.
fn add_counties(found: &mut Found, counties: &PlaceTable, query: &SearchQuery<'_>) {
    let in_state = query
        .with_state
        .map(|(state, rest)| (Some(state), comparable(rest)));
    let mut named: Vec<(i32, usize, &'static str)> = Vec::new();
    for (state, name) in in_state.into_iter().chain([(None, query.compared.clone())]) {
        if name.len() < 3 {
            continue;
        }
        for (known, row) in counties.beginning(&name) {
            if state.is_some_and(|state| counties.states.get(row) != Some(state)) {
                continue;
            }
            let rest = &known[name.len()..];
            let (score, label) = match rest {
                "" => (EXACT, "name"),
                _ if rest
                    .strip_prefix(' ')
                    .is_some_and(|kind| !kind.contains(' ')) =>
                {
                    (WITHOUT_KIND_SCORE, "name_without_suffix")
                }
                _ => (PREFIX_SCORE, "name_prefix"),
            };
            named.push((score, row, label));
        }
    }
    if !named.is_empty() {
        found.read_as("county", query.text);
    }
    named.sort_by_key(|(score, row, _)| (-score, *row));
    named.dedup_by_key(|(_, row, _)| *row);
    named
        .into_iter()
        .take(FEW)
        .for_each(|(score, row, label)| found.add(county(counties, row, score, label)));
}

fn county(counties: &PlaceTable, row: usize, score: i32, label: &'static str) -> Hit {
    let fips = counties.codes.at(row);
    Hit {
        kind: "county",
        title: joined([Some(counties.names.at(row)), counties.states.get(row)])
            .replace(" · ", ", "),
        subtitle: joined([Some("county"), Some(fips)]),
        id: fips.to_owned(),
        path: path("/v1/geo-demographics/counties/", fips),
        page: path("/county/", fips),
        matched: Matched::new(score, label),
        record_id: Some(counties.record_ids.at(row).to_owned()),
    }
}
