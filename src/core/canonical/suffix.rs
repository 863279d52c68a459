//! Holds the tables of USPS Publication 28: street suffixes (appendix C1), secondary units (C2),
//! directionals and ordinals.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Each line has the standard abbreviation, followed by other spellings.
const SUFFIXES: &[&str] = &[
    "ALY ALLEE ALLEY ALLY",
    "ANX ANEX ANNEX ANNX",
    "ARC ARCADE",
    "AVE AV AVEN AVENU AVENUE AVN AVNUE",
    "BYU BAYOO BAYOU",
    "BCH BEACH",
    "BND BEND",
    "BLF BLUF BLUFF",
    "BLFS BLUFFS",
    "BTM BOT BOTTM BOTTOM",
    "BLVD BOUL BOULEVARD BOULV BLV",
    "BR BRNCH BRANCH",
    "BRG BRDGE BRIDGE",
    "BRK BROOK",
    "BRKS BROOKS",
    "BG BURG",
    "BGS BURGS",
    "BYP BYPA BYPAS BYPASS BYPS",
    "CP CAMP CMP",
    "CYN CANYN CANYON CNYN",
    "CPE CAPE",
    "CSWY CAUSEWAY CAUSWA",
    "CTR CEN CENT CENTER CENTR CENTRE CNTER CNTR",
    "CTRS CENTERS",
    "CIR CIRC CIRCL CIRCLE CRCL CRCLE",
    "CIRS CIRCLES",
    "CLF CLIFF",
    "CLFS CLIFFS",
    "CLB CLUB",
    "CMN COMMON",
    "CMNS COMMONS",
    "COR CORNER",
    "CORS CORNERS",
    "CRSE COURSE",
    "CT COURT",
    "CTS COURTS",
    "CV COVE",
    "CVS COVES",
    "CRK CREEK",
    "CRES CRESCENT CRSENT CRSNT",
    "CRST CREST",
    "XING CROSSING CRSSNG",
    "XRD CROSSROAD",
    "XRDS CROSSROADS",
    "CURV CURVE",
    "DL DALE",
    "DM DAM",
    "DV DIV DIVIDE DVD",
    "DR DRIV DRIVE DRV",
    "DRS DRIVES",
    "EST ESTATE",
    "ESTS ESTATES",
    "EXPY EXP EXPR EXPRESS EXPRESSWAY EXPW",
    "EXT EXTENSION EXTN EXTNSN",
    "EXTS EXTENSIONS",
    "FALL",
    "FLS FALLS",
    "FRY FERRY FRRY",
    "FLD FIELD",
    "FLDS FIELDS",
    "FLT FLAT",
    "FLTS FLATS",
    "FRD FORD",
    "FRDS FORDS",
    "FRST FOREST FORESTS",
    "FRG FORG FORGE",
    "FRGS FORGES",
    "FRK FORK",
    "FRKS FORKS",
    "FT FORT FRT",
    "FWY FREEWAY FREEWY FRWAY FRWY",
    "GDN GARDEN GARDN GRDEN GRDN",
    "GDNS GARDENS GRDNS",
    "GTWY GATEWAY GATEWY GATWAY GTWAY",
    "GLN GLEN",
    "GLNS GLENS",
    "GRN GREEN",
    "GRNS GREENS",
    "GRV GROV GROVE",
    "GRVS GROVES",
    "HBR HARB HARBOR HARBR HRBOR",
    "HBRS HARBORS",
    "HVN HAVEN",
    "HTS HT HEIGHTS",
    "HWY HIGHWAY HIGHWY HIWAY HIWY HWAY",
    "HL HILL",
    "HLS HILLS",
    "HOLW HLLW HOLLOW HOLLOWS HOLWS",
    "INLT INLET",
    "IS ISLAND ISLND",
    "ISS ISLANDS ISLNDS",
    "ISLE ISLES",
    "JCT JCTION JCTN JUNCTION JUNCTN JUNCTON",
    "JCTS JCTNS JUNCTIONS",
    "KY KEY",
    "KYS KEYS",
    "KNL KNOL KNOLL",
    "KNLS KNOLLS",
    "LK LAKE",
    "LKS LAKES",
    "LAND",
    "LNDG LANDING LNDNG",
    "LN LANE",
    "LGT LIGHT",
    "LGTS LIGHTS",
    "LF LOAF",
    "LCK LOCK",
    "LCKS LOCKS",
    "LDG LDGE LODG LODGE",
    "LOOP LOOPS",
    "MALL",
    "MNR MANOR",
    "MNRS MANORS",
    "MDW MEADOW",
    "MDWS MEADOWS MEDOWS",
    "MEWS",
    "ML MILL",
    "MLS MILLS",
    "MSN MISSION MISSN MSSN",
    "MTWY MOTORWAY",
    "MT MNT MOUNT",
    "MTN MNTAIN MNTN MOUNTAIN MOUNTIN MTIN",
    "MTNS MNTNS MOUNTAINS",
    "NCK NECK",
    "ORCH ORCHARD ORCHRD",
    "OVAL OVL",
    "OPAS OVERPASS",
    "PARK PRK PARKS",
    "PKWY PARKWAY PARKWY PKWAY PKY PARKWAYS PKWYS",
    "PASS",
    "PSGE PASSAGE",
    "PATH PATHS",
    "PIKE PIKES",
    "PNE PINE",
    "PNES PINES",
    "PL PLACE",
    "PLN PLAIN",
    "PLNS PLAINS",
    "PLZ PLAZA PLZA",
    "PT POINT",
    "PTS POINTS",
    "PRT PORT",
    "PRTS PORTS",
    "PR PRAIRIE PRR",
    "RADL RAD RADIAL RADIEL",
    "RAMP",
    "RNCH RANCH RANCHES RNCHS",
    "RPD RAPID",
    "RPDS RAPIDS",
    "RST REST",
    "RDG RDGE RIDGE",
    "RDGS RIDGES",
    "RIV RIVER RVR RIVR",
    "RD ROAD",
    "RDS ROADS",
    "RTE ROUTE",
    "ROW",
    "RUE",
    "RUN",
    "SHL SHOAL",
    "SHLS SHOALS",
    "SHR SHOAR SHORE",
    "SHRS SHOARS SHORES",
    "SKWY SKYWAY",
    "SPG SPNG SPRING SPRNG",
    "SPGS SPNGS SPRINGS SPRNGS",
    "SPUR SPURS",
    "SQ SQR SQRE SQU SQUARE",
    "SQS SQRS SQUARES",
    "STA STATION STATN STN",
    "STRA STRAV STRAVEN STRAVENUE STRAVN STRVN STRVNUE",
    "STRM STREAM STREME",
    "ST STREET STRT STR",
    "STS STREETS",
    "SMT SUMIT SUMITT SUMMIT",
    "TER TERR TERRACE",
    "TRWY THROUGHWAY",
    "TRCE TRACE TRACES",
    "TRAK TRACK TRACKS TRK TRKS",
    "TRFY TRAFFICWAY",
    "TRL TRAIL TRAILS TRLS",
    "TUNL TUNEL TUNLS TUNNEL TUNNELS TUNNL",
    "TPKE TRNPK TURNPIKE TURNPK",
    "UPAS UNDERPASS",
    "UN UNION",
    "UNS UNIONS",
    "VLY VALLEY VALLY VLLY",
    "VLYS VALLEYS",
    "VIA VDCT VIADCT VIADUCT",
    "VW VIEW",
    "VWS VIEWS",
    "VLG VILL VILLAG VILLAGE VILLG VILLIAGE",
    "VLGS VILLAGES",
    "VL VILLE",
    "VIS VIST VISTA VST VSTA",
    "WALK WALKS",
    "WALL",
    "WAY WY",
    "WAYS",
    "WL WELL",
    "WLS WELLS",
];

/// Unit designators that require a number or letter. `TOWER` is not in the standard but occurs in
/// source files.
const NUMBERED_UNITS: &[&str] = &[
    "APT APARTMENT",
    "BLDG BUILDING",
    "DEPT DEPARTMENT",
    "FL FLOOR FLR",
    "HNGR HANGER HANGAR",
    "LOT",
    "RM ROOM",
    "SLIP",
    "SPC SPACE",
    "STE SUITE",
    "STOP",
    "TRLR TRAILER",
    "UNIT",
    "OFC OFFICE",
    "PH PENTHOUSE",
    "TOWER TWR",
    "PIER",
    "KEY",
];

/// Unit designators that stand alone, without a number.
const PLAIN_UNITS: &[&str] = &[
    "BSMT BASEMENT",
    "FRNT FRONT",
    "LBBY LOBBY",
    "LOWR LOWER",
    "OFC OFFICE",
    "PH PENTHOUSE",
    "REAR",
    "SIDE",
    "UPPR UPPER",
];

const DIRECTIONALS: &[&str] = &[
    "N NORTH",
    "S SOUTH",
    "E EAST",
    "W WEST",
    "NE NORTHEAST",
    "NW NORTHWEST",
    "SE SOUTHEAST",
    "SW SOUTHWEST",
];

const ORDINALS: &[&str] = &[
    "1ST FIRST",
    "2ND SECOND",
    "3RD THIRD",
    "4TH FOURTH",
    "5TH FIFTH",
    "6TH SIXTH",
    "7TH SEVENTH",
    "8TH EIGHTH",
    "9TH NINTH",
    "10TH TENTH",
    "11TH ELEVENTH",
    "12TH TWELFTH",
    "13TH THIRTEENTH",
    "14TH FOURTEENTH",
    "15TH FIFTEENTH",
    "16TH SIXTEENTH",
    "17TH SEVENTEENTH",
    "18TH EIGHTEENTH",
    "19TH NINETEENTH",
    "20TH TWENTIETH",
    "30TH THIRTIETH",
    "40TH FORTIETH",
    "50TH FIFTIETH",
    "60TH SIXTIETH",
    "70TH SEVENTIETH",
    "80TH EIGHTIETH",
    "90TH NINETIETH",
];

const TENS: &[&str] = &[
    "TWENTY", "THIRTY", "FORTY", "FIFTY", "SIXTY", "SEVENTY", "EIGHTY", "NINETY",
];

/// Words that introduce a numbered road without another name: `COUNTY ROAD 5`.
const ROAD_OWNERS: &str = "COUNTY CO STATE US FARM RANCH TOWNSHIP INTERSTATE";

type Spellings = HashMap<&'static str, &'static str>;

/// Maps each spelling, including the abbreviation itself, to the abbreviation.
fn spellings(table: &[&'static str]) -> Spellings {
    let words = |line: &&'static str| {
        line.split(' ')
            .map(|word| (word, line.split(' ').next().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    table.iter().flat_map(words).collect()
}

static SUFFIX: LazyLock<Spellings> = LazyLock::new(|| spellings(SUFFIXES));
static NUMBERED_UNIT: LazyLock<Spellings> = LazyLock::new(|| spellings(NUMBERED_UNITS));
static PLAIN_UNIT: LazyLock<Spellings> = LazyLock::new(|| spellings(PLAIN_UNITS));
static DIRECTIONAL: LazyLock<Spellings> = LazyLock::new(|| spellings(DIRECTIONALS));
static ORDINAL: LazyLock<Spellings> = LazyLock::new(|| spellings(ORDINALS));

pub(super) fn suffix(word: &str) -> Option<&'static str> {
    SUFFIX.get(word).copied()
}

pub(super) fn numbered_unit(word: &str) -> Option<&'static str> {
    NUMBERED_UNIT.get(word).copied()
}

pub(super) fn plain_unit(word: &str) -> Option<&'static str> {
    PLAIN_UNIT.get(word).copied()
}

pub(super) fn directional(word: &str) -> Option<&'static str> {
    DIRECTIONAL.get(word).copied()
}

pub(super) fn is_road_owner(word: &str) -> bool {
    ROAD_OWNERS.split(' ').any(|owner| owner == word)
}

/// Converts `FIRST` to `1ST`.
pub(super) fn ordinal(word: &str) -> Option<&'static str> {
    ORDINAL.get(word).copied()
}

/// Converts `TWENTY` and `FIRST` to `21ST`.
pub(super) fn compound_ordinal(tens: &str, unit: &str) -> Option<String> {
    let tens = TENS.iter().position(|word| *word == tens)? + 2;
    let unit = ordinal(unit)?;
    (unit.len() == 3).then(|| format!("{tens}{unit}"))
}

/// Converts `47` to `47TH`.
pub(super) fn with_ordinal_ending(number: &str) -> String {
    let ending = match (
        number.ends_with("11") || number.ends_with("12") || number.ends_with("13"),
        number.as_bytes().last(),
    ) {
        (false, Some(b'1')) => "ST",
        (false, Some(b'2')) => "ND",
        (false, Some(b'3')) => "RD",
        _ => "TH",
    };
    format!("{number}{ending}")
}

/// Returns whether the word is an ordinal in digits: `1ST`, `22ND`, ….
pub(super) fn is_ordinal(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && matches!(&word[digits.len()..], "ST" | "ND" | "RD" | "TH")
}
