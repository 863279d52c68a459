//! Finds kinds of work in a description by matching entire words, with one vocabulary for all
//! cities.

use pubdata_core::canonical::name;

/// Tags, each with its words or phrases. The words in a phrase must be contiguous.
const TAGS: &[(&str, &[&str])] = &[
    (
        "solar",
        &[
            "SOLAR",
            "PHOTOVOLTAIC",
            "PHOTOVOLTAICS",
            "PV SYSTEM",
            "PV PANELS",
            "PV MODULES",
        ],
    ),
    (
        "ev_charger",
        &[
            "EV CHARGER",
            "EV CHARGERS",
            "EV CHARGING",
            "EVSE",
            "ELECTRIC VEHICLE",
            "CAR CHARGER",
            "VEHICLE CHARGER",
            "VEHICLE CHARGING",
        ],
    ),
    (
        "adu",
        &[
            "ADU",
            "ADUS",
            "DADU",
            "AADU",
            "JADU",
            "ACCESSORY DWELLING",
            "GRANNY FLAT",
            "IN LAW UNIT",
            "BACKYARD COTTAGE",
        ],
    ),
    (
        "hvac",
        &[
            "HVAC",
            "FURNACE",
            "FURNACES",
            "HEAT PUMP",
            "HEAT PUMPS",
            "AIR CONDITIONING",
            "AIR CONDITIONER",
            "AIR CONDITIONERS",
            "AIR HANDLER",
            "DUCTWORK",
            "MINI SPLIT",
            "CONDENSER",
            "CONDENSING UNIT",
            "ROOFTOP UNIT",
            "BOILER",
            "BOILERS",
            "AC UNIT",
            "AC UNITS",
        ],
    ),
    (
        "roofing",
        &[
            "REROOF",
            "REROOFING",
            "RE ROOF",
            "RE ROOFING",
            "ROOFING",
            "NEW ROOF",
            "REPLACE ROOF",
            "ROOF REPLACEMENT",
            "SHINGLES",
            "TEAR OFF",
        ],
    ),
    (
        "battery",
        &["BATTERY", "BATTERIES", "ENERGY STORAGE", "POWERWALL", "ESS"],
    ),
    ("pool", &["POOL", "POOLS"]),
    ("generator", &["GENERATOR", "GENERATORS"]),
    ("kitchen", &["KITCHEN", "KITCHENS", "KITCHENETTE"]),
    ("bathroom", &["BATHROOM", "BATHROOMS", "BATH", "BATHS"]),
    ("deck", &["DECK", "DECKS", "DECKING"]),
    ("garage", &["GARAGE", "GARAGES", "CARPORT", "CARPORTS"]),
];

/// Returns a description's tags, in table order.
pub(super) fn find(description: &str) -> Vec<&'static str> {
    let words = format!(" {} ", name::words(description).join(" "));
    let has = |entry: &str| {
        words.match_indices(entry).any(|(start, _)| {
            words[..start].ends_with(' ') && words[start + entry.len()..].starts_with(' ')
        })
    };
    TAGS.iter()
        .filter(|(_, entries)| entries.iter().any(|entry| has(entry)))
        .map(|(tag, _)| *tag)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::find;

    /// Descriptions from real permits.
    #[test]
    fn tags_of_real_descriptions() {
        let cases: &[(&str, &[&str])] = &[
            ("Install solar panels.", &["solar"]),
            ("SOLAR PANEL FINAL", &["solar"]),
            ("re-roofing", &["roofing"]),
            (
                "new 1 strory sf res w att garage and cov patio",
                &["garage"],
            ),
            (
                "PROPOSED POOL 10' DIA SPA PER LA CITY STD POOL PLAN.",
                &["pool"],
            ),
            (
                "Construct alterations for accessory dwelling unit in the basement of existing single family residence, per plan.",
                &["adu"],
            ),
            ("EXISTING GAS FURNACE.", &["hvac"]),
            ("RELOCATION OF EXISTING GAS METER", &[]),
            ("Swimming at Liverpool", &[]),
            ("install EV-charger and battery", &["ev_charger", "battery"]),
            ("", &[]),
        ];
        for (description, expected) in cases {
            assert_eq!(find(description), *expected, "{description}");
        }
    }
}
