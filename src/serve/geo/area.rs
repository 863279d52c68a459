//! Finds the area and the vintage of a request, and builds the geography object.

use crate::answer::{Float, Text};
use crate::geo::estimates::MetricTable;
use crate::geo::geography::{CountyOfZcta, Geography, InternalPoint};
use crate::geo::tables::Geo;
use crate::http::meta::{Coverage, Meta};
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::place::areas::PlaceTable;
use pubdata_core::ids::{CountyFips, Zcta};

/// Kind of area, with the data that depends on the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AreaKind {
    Zcta,
    County,
}

impl AreaKind {
    /// Value of `geography.type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zcta => "zcta",
            Self::County => "county",
        }
    }

    pub fn metric_dataset(self) -> &'static str {
        match self {
            Self::Zcta => "geo.zcta_metric",
            Self::County => "geo.county_metric",
        }
    }

    pub const fn place_dataset(self) -> &'static str {
        match self {
            Self::Zcta => "geo.geography",
            Self::County => "geo.county",
        }
    }

    pub fn metric_tables<'a>(self, geo: &Geo<'a>) -> &'a [MetricTable] {
        match self {
            Self::Zcta => geo.zcta_metrics,
            Self::County => geo.county_metrics,
        }
    }

    pub fn places<'a>(self, geo: &Geo<'a>) -> Option<&'a PlaceTable> {
        match self {
            Self::Zcta => geo.zctas,
            Self::County => geo.counties,
        }
    }
}

/// One area of a release in one vintage.
#[derive(Clone, Copy)]
pub struct Area<'a> {
    pub kind: AreaKind,
    pub code: &'a str,
    /// The vintage's estimates and the area's index in them; `None` if the survey does not cover
    /// the area.
    pub table: &'a MetricTable,
    pub area: Option<usize>,
    /// The area's row in the gazetteer; `None` for an area that only the survey contains.
    pub place: Option<(&'a PlaceTable, usize)>,
}

/// Returns the requested vintage, or the newest.
///
/// # Errors
/// `coverage_unavailable` if the vintage is not published.
pub fn vintage(
    tables: &[MetricTable],
    requested: Option<i64>,
    kind: AreaKind,
) -> Result<&MetricTable> {
    let Some(newest) = tables.last() else {
        return Err(not_published(kind.metric_dataset()));
    };
    let Some(year) = requested else {
        return Ok(newest);
    };
    tables
        .iter()
        .find(|table| i64::from(table.vintage_year) == year)
        .ok_or_else(|| {
            let published: Vec<String> = tables
                .iter()
                .map(|table| table.vintage_year.to_string())
                .collect();
            let message = format!(
                "vintage {year} is not published; published: {}",
                published.join(", ")
            );
            Problem::of_field(Code::CoverageUnavailable, "vintage", message)
        })
}

impl<'a> Area<'a> {
    /// Finds an area by its code.
    ///
    /// # Errors
    /// `invalid_parameter` if the code has the wrong format; `not_found` if the area does not
    /// exist; `coverage_unavailable` if the vintage or the entire dataset is missing.
    pub fn find(
        geo: &Geo<'a>,
        kind: AreaKind,
        code: &'a str,
        requested_vintage: Option<i64>,
        field: &str,
    ) -> Result<Self> {
        let form = match kind {
            AreaKind::Zcta => code.parse::<Zcta>().err(),
            AreaKind::County => code.parse::<CountyFips>().err(),
        };
        if let Some(error) = form {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                field,
                error.to_string(),
            ));
        }
        let tables = kind.metric_tables(geo);
        let table = vintage(tables, requested_vintage, kind)?;
        let area = table.find(code);
        let place = kind
            .places(geo)
            .and_then(|places| places.find(code).map(|row| (places, row)));
        if area.is_some() || place.is_some() {
            return Ok(Self {
                kind,
                code,
                table,
                area,
                place,
            });
        }
        let others: Vec<String> = tables
            .iter()
            .filter(|table| table.find(code).is_some())
            .map(|table| table.vintage_year.to_string())
            .collect();
        let (what, explanation) = match kind {
            AreaKind::Zcta => (
                "ZCTA with the code",
                "ZCTAs are not postal ZIP codes: a ZIP code for post office boxes, a single building or the military has none, and no crosswalk is applied",
            ),
            AreaKind::County => (
                "county with the FIPS code",
                "Codes change: Connecticut has planning regions (09110 to 09190) from vintage 2022 on",
            ),
        };
        let mut message = match geo.is_sample {
            true => {
                format!(
                    "this release is built from samples and has no {what} {code}; a release built from the publishers' files may have it. {explanation}"
                )
            }
            false => format!("there is no {what} {code}. {explanation}"),
        };
        if !others.is_empty() {
            message.push_str(&format!(
                ". It has estimates in vintage {}: select it with `vintage`",
                others.join(", ")
            ));
        }
        Err(Problem::of_field(Code::NotFound, field, message))
    }

    /// Returns the area's name from the gazetteer, or from the survey, or else the area's code.
    pub fn name(&self) -> &'a str {
        let in_survey = || self.area.and_then(|area| self.table.area_name(area));
        self.place
            .map(|(places, row)| places.names.at(row))
            .or_else(in_survey)
            .unwrap_or(self.code)
    }

    /// Returns the geography object.
    pub fn geography(&self, geo: &Geo<'a>) -> Text<'a, Geography<'a>> {
        match (self.place, geo.zcta_geographies) {
            (Some((places, row)), Some(texts))
                if self.kind == AreaKind::Zcta
                    && places.has_same_county(row, texts.vintage_year, self.table.vintage_year) =>
            {
                Text::made(texts.get(row))
            }
            _ => Text::new(&self.geography_fields(geo)),
        }
    }

    /// Builds the fields of the geography object.
    pub fn geography_fields(&self, geo: &Geo<'a>) -> Geography<'a> {
        let place = self.place;
        let state = place.and_then(|(places, row)| places.states.get(row));
        let primary =
            place.and_then(|(places, row)| places.primary_county(row, self.table.vintage_year));
        let (matched_by, primary_county_fips, primary_state_code) = match self.kind {
            AreaKind::Zcta => (
                "exact_zcta_code",
                primary.and_then(|primary| primary.code),
                state,
            ),
            AreaKind::County => (
                "exact_county_fips",
                Some(self.code),
                state.or_else(|| {
                    geo.counties
                        .and_then(|counties| counties.state_of(self.code))
                }),
            ),
        };
        let of_zcta = CountyOfZcta {
            primary_county_name: primary.and_then(|primary| primary.name),
            primary_county_land_share: primary.and_then(|primary| primary.land_share).map(Float),
            primary_county_basis: primary.map(|primary| primary.basis),
        };
        Geography {
            kind: self.kind.name(),
            id: self.code,
            name: self.name(),
            input_code: self.code,
            matched_by,
            land_area_sqmi: place.map(|(places, row)| places.land_area_sqmi(row)),
            primary_county_fips,
            of_zcta: (self.kind == AreaKind::Zcta).then_some(of_zcta),
            primary_state_code,
            internal_point: place.map(|(places, row)| places.internal_point(row)).map(
                |(lat, lon)| InternalPoint {
                    lat: Float(lat),
                    lon: Float(lon),
                },
            ),
            record_id: place.map(|(places, row)| places.record_ids.at(row)),
        }
    }

    /// Adds the datasets, coverage and notices that every answer about this area contains.
    pub fn describe(&self, meta: &mut Meta) {
        let (kind, table) = (self.kind, self.table);
        meta.datasets
            .extend([kind.metric_dataset().into(), kind.place_dataset().into()]);
        let areas = match kind {
            AreaKind::Zcta => "ZCTAs",
            AreaKind::County => "counties",
        };
        let scope = [
            &table.areas().to_string(),
            " ",
            areas,
            " with estimates in vintage ",
            &table.vintage_text,
        ]
        .concat();
        meta.coverage = Some(Coverage {
            geography_type: Some(kind.name()),
            scope,
            ..Coverage::default()
        });
        if kind == AreaKind::Zcta {
            crate::geo::notices::add_zcta_notice(meta);
            meta.notice(
                "PRIMARY_COUNTY_RULE",
                "primary_county_fips is the county with the largest part of the ZCTA's land; in Connecticut, the planning region from vintage 2022 on and the old county before. primary_county_basis names the rule \
                 used, primary_county_land_share the part.",
            );
        }
        if self.area.is_none() {
            crate::geo::notices::add_not_in_survey_notice(meta, self.code, table.vintage_year);
        }
    }
}
