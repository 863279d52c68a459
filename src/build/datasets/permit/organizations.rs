//! Distinguishes firm names from personal names, and splits parties that share one cell.

use std::collections::HashSet;
use std::sync::LazyLock;

use pubdata_core::canonical::name;

/// Words that are never part of a person's name. A name that contains none of these words and no
/// legal form may be a person's. The list omits words that people add to their own names
/// (`CONTRACTOR`, `BUILDER`, `RESIDENCE`).
static ORGANIZATION_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words_of(
        "\
    ACADEMY ADVANCED AFFORDABLE AGENCY ALARM ALARMS ALLIANCE ALLIED AMERICAN APARTMENT APARTMENTS APTS ARCHDIOCESE ARCHITECTS ARCHITECTURE ASPHALT ASSOC \
    ASSOCIATES ASSOCIATION AUTHORITY AWNINGS BAKERY BAPTIST BASEMENTS BOILER BOILERS BROS BROTHERS BUILDERS BUILDING BUILDINGS BUREAU CABINETS CAFE CAPITAL \
    CATHOLIC CENTER CENTERS CENTRE CITY CLIMATE CLINIC CLUB COALITION COLLEGE COMMERCIAL COMMISSION COMMUNICATIONS COMMUNITIES COMMUNITY CONCRETE CONDO CONDOMINIUM \
    CONDOMINIUMS CONGREGATION CONST CONSTR CONSTRUCTION CONSTRUCTIONS CONSTRUCTORS CONSULTANTS CONSULTING CONTRACTING CONTRACTORS COOLING COOPERATIVE \
    CORPORATION COUNCIL COUNTY DELI DEMOLITION DENTAL DEPARTMENT DEPOT DEPT DESIGN DESIGNS DETECTIVE DEVELOPEMENT DEVELOPERS DEVELOPMENT DEVELOPMENTS DINER DIOCESE \
    DISTRICT DRILLING DRYWALL ELECTRIC ELECTRICAL ELEVATOR ELEVATORS ENERGY ENGINEERING ENTERPRISE ENTERPRISES EQUIPMENT EQUITIES EXCAVATING EXCAVATION \
    EXPERTS EXTERIORS FABRICATION FEDERAL FENCE FENCES FENCING FINANCIAL FLOORING FOUNDATION FUND FUNDING FURNACE GENERATOR GENERATORS GLOBAL GOVERNMENT \
    GRADING GROUP GUTTER GUTTERS HABITAT HARDSCAPE HEATING HOA HOLDINGS HOMES HOSPITAL HOTEL HOUSING HVAC IMPROVEMENT IMPROVEMENTS INDUSTRIAL INDUSTRIES \
    INN INSTALLATION INSTALLATIONS INSTALLERS INSULATION INTERIORS INTERNATIONAL INVESTMENT INVESTMENTS INVESTORS IRRIGATION ISLAMIC JEWISH KITCHENS LANDSCAPE LANDSCAPES \
    LANDSCAPING LEASING LIBRARY LIGHTING LOGISTICS LUTHERAN MAINTENANCE MALL MANAGEMENT MARKET MASONRY MECHANICAL MEDICAL METHODIST MINISTRIES MINISTRY \
    MUSEUM NATIONAL NETWORK NETWORKS NYCHA PAINTING PARTNERS PARTNERSHIP PATIOS PAVING PHARMACY PIZZA PLBG PLUMBERS PLUMBING POOLS PRECISION PREFERRED \
    PREMIER PRESBYTERIAN PROFESSIONAL PROPANE PROPERTIES PROTECTION QUALITY RAILROAD RAILWAY REALTORS REALTY REFRIGERATION REHAB RELIABLE REMODEL \
    REMODELERS REMODELING RENOVATION RENOVATIONS RENTALS REPAIR REPAIRS RESORT RESTAURANT RESTAURANTS RESTORATION ROOFERS ROOFING ROOFS ROOTER SCA \
    SCAFFOLDING SCHOOL SCHOOLS SECURITY SEPTIC SERVICES SEWER SHOP SHOPS SIDING SIGNAGE SIGNS SOCIETY SOLUTIONS SONS SPAS SPECIALISTS SPECIALTIES SPRINKLER \
    SPRINKLERS STORES STUDIO STUDIOS SUITES SUNROOMS SUPPLY SYSTEMS TACO TACOS TAQUERIA TECHNOLOGIES TECHNOLOGY TELECOM TOWNHOMES TRANSPORT TRUCKING UNITED \
    UNIVERSITY UTILITIES UTILITY VENTURES VETERINARY WATERPROOFING WELDING WINDOWS WIRELESS WRECKING",
    )
});

/// Trade words that are also surnames. A name needs two of them to count as a firm.
static TRADE_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words_of(
        "\
    AIR BANK BATH BURGER CHURCH CLEAN COFFEE COMFORT DOOR DOORS DRAIN DRAINS FAST FIRE GARAGE GARAGES GAS GLASS GRILL HEAT HEATER HEATERS HOME HOUSE IRON KITCHEN \
    LODGE OIL PARKS PLAZA POOL POWER PUMP PUMPS ROOF SERVICE SOLAR SPA STEEL STONE STORE TILE TOWERS TREE WATER WINDOW",
    )
});

/// Trade words that are rarely surnames. In a contractor column, a single such word identifies a
/// firm, unless the name also contains a given name.
const PLAIN_TRADE_WORDS: &[&str] = &[
    "AIR", "BATH", "DOOR", "DOORS", "DRAIN", "DRAINS", "GAS", "GRILL", "HEATER", "HEATERS", "OIL",
    "PUMP", "PUMPS", "SOLAR", "SPA", "TILE", "WINDOW",
];

/// Legal forms that also occur in personal names or in individuals' own trusts.
const AMBIGUOUS_FORMS: &[&str] = &["NA", "TRUST"];

/// Given names that are common in the United States.
static GIVEN_NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words_of(
        "\
    AARON ADAM ADRIAN ALAN ALBERT ALEJANDRO ALEX ALEXANDER ALFRED ALICE ALLEN AMANDA AMBER AMY ANA ANDREA ANDREW ANGEL ANGELA ANN ANNA ANNE ANTHONY ANTONIO \
    ARTHUR ASHLEY BARBARA BEN BENJAMIN BERNARD BETTY BEVERLY BILL BILLY BOB BOBBY BRAD BRADLEY BRANDON BRENDA BRIAN BRUCE BRYAN CARL CARLOS CAROL CAROLYN \
    CATHERINE CHAD CHARLES CHERYL CHRIS CHRISTIAN CHRISTINA CHRISTINE CHRISTOPHER CLARENCE CRAIG CRYSTAL CURTIS CYNTHIA DALE DAN DANIEL DANIELLE DANNY \
    DARRELL DAVE DAVID DAWN DEAN DEBORAH DEBRA DENISE DENNIS DEREK DIANA DIANE DIEGO DON DONALD DONNA DORIS DOROTHY DOUG DOUGLAS DUSTIN DWAYNE DYLAN EARL \
    ED EDGAR EDITH EDUARDO EDWARD EDWIN ELENA ELIZABETH ELLEN EMILY EMMA ERIC ERIK ERNEST EUGENE EVAN EVELYN FERNANDO FRANCES FRANCIS FRANCISCO FRANK FRED \
    FREDERICK GABRIEL GARY GENE GEORGE GERALD GLEN GLENN GLORIA GORDON GRACE GREG GREGORY GUY HANNAH HAROLD HARRY HEATHER HECTOR HELEN HENRY HERBERT HOWARD \
    HUGH IAN ISAAC JACK JACKIE JACOB JACQUELINE JAIME JAKE JAMES JAMIE JANE JANET JANICE JASON JAVIER JAY JEAN JEFF JEFFERY JEFFREY JENNIFER JEREMY JERRY \
    JESSE JESSICA JESUS JIM JIMMY JOAN JOE JOEL JOHN JOHNNY JON JONATHAN JORDAN JORGE JOSE JOSEPH JOSHUA JOYCE JUAN JUDITH JUDY JULIA JULIE JUSTIN KAREN \
    KATHERINE KATHLEEN KATHRYN KEITH KELLY KEN KENNETH KEVIN KIM KIMBERLY KRISTEN KURT KYLE LARRY LAURA LAUREN LAWRENCE LEE LEON LEONARD LESLIE LEWIS LINDA \
    LISA LOIS LORI LOUIS LUCAS LUIS LYNN MANUEL MARC MARCUS MARGARET MARIA MARIE MARILYN MARIO MARK MARTHA MARTIN MARVIN MARY MATT MATTHEW MAURICE MEGAN \
    MELANIE MELISSA MELVIN MICHAEL MICHELLE MIGUEL MIKE MITCHELL NANCY NATALIE NATHAN NICHOLAS NICK NICOLE NOAH NORMA NORMAN OLIVIA OSCAR PAM PAMELA PATRICIA \
    PATRICK PAUL PAULA PEDRO PEGGY PETE PETER PHIL PHILIP PHILLIP PHYLLIS RACHEL RALPH RAMON RANDALL RANDY RAUL RAY RAYMOND REBECCA RICARDO RICH RICHARD RICK \
    RICKY ROB ROBERT ROBERTO ROBIN RODNEY ROGER ROLAND RON RONALD RONNIE ROSA ROSE ROY RUBEN RUSSELL RUTH RYAN SAM SAMANTHA SAMUEL SANDRA SARA SARAH SCOTT \
    SEAN SERGIO SETH SHANE SHANNON SHARON SHAWN SHIRLEY SOPHIA STACY STANLEY STEPHANIE STEPHEN STEVE STEVEN STUART SUE SUSAN TAMMY TED TERESA TERRY THEODORE \
    THERESA THOMAS TIFFANY TIM TIMOTHY TINA TODD TOM TONY TRACY TRAVIS TROY TYLER VERONICA VICTOR VICTORIA VINCENT VIRGINIA WALTER WANDA WARREN WAYNE WENDY \
    WESLEY WILLIAM WILLIE ZACHARY",
    )
});

/// Words for things named after the person who owns them: `SMITH'S RESIDENCE`.
const HOME_WORDS: &[&str] = &[
    "ADDITION",
    "BARN",
    "DECK",
    "GARAGE",
    "HOME",
    "HOUSE",
    "KITCHEN",
    "POOL",
    "PROPERTY",
    "RESIDENCE",
    "SHED",
];

fn words_of(list: &'static str) -> HashSet<&'static str> {
    list.split_ascii_whitespace().collect()
}

/// Kind of party that a column names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamesOf {
    /// Contractors and others who practise a trade.
    Trade,
    /// Any party, including owners and applicants.
    Anyone,
}

/// Returns true if a name is certainly a firm's. In a contractor column, a single plain trade word
/// is enough.
pub(super) fn is_organization(text: &str, names: NamesOf) -> bool {
    let name = name::organization(text);
    let words: Vec<&str> = name.normalized.split(' ').collect();
    if name
        .designator
        .is_some_and(|form| !AMBIGUOUS_FORMS.contains(&form))
        || words.iter().any(|word| ORGANIZATION_WORDS.contains(*word))
    {
        return true;
    }
    let has_given_name = words.iter().any(|word| GIVEN_NAMES.contains(*word));
    let of_trade = words
        .iter()
        .filter(|word| TRADE_WORDS.contains(**word))
        .count();
    let is_plain = words.iter().any(|word| PLAIN_TRADE_WORDS.contains(word));
    let is_named_of = of_trade > 0 && words.contains(&"OF");
    // `EXAMPLE, JANE` and `JANE Q EXAMPLE` are persons, regardless of surname.
    let is_like_last_and_first = text.contains(',') || words.iter().any(|word| word.len() == 1);
    let is_numbered =
        words.len() > 1 && words[0].len() > 1 && words[0].bytes().any(|byte| byte.is_ascii_digit());
    let is_possessive = words.len() > 1
        && !text.contains(',')
        && starts_with_possessive(text)
        && !HOME_WORDS.contains(&words[1]);
    of_trade > 1
        || (of_trade > 0 && name.designator.is_some())
        || is_possessive
        || is_named_of
        || (!has_given_name
            && (is_numbered
                || (is_plain
                    && names == NamesOf::Trade
                    && words.len() > 1
                    && !is_like_last_and_first)))
}

/// Returns true if the first word is a possessive: `LOU'S DINER`.
fn starts_with_possessive(text: &str) -> bool {
    let first = text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_uppercase();
    first.len() > 3 && (first.ends_with("'S") || first.ends_with("\u{2019}S"))
}

/// A party named in a cell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Party {
    pub(super) name: String,
    pub(super) is_organization: bool,
}

/// Maximum number of words in a person's name.
const MAX_NAME_WORDS: usize = 4;

/// Splits a cell into parties, firms first. `Booker Mechanical, LLC - Ann Example` and `EXAMPLE,
/// ANN, PRESTIGE PLUMBING LLC` each name a firm and a person; `A3 ELECTRIC LLC, B4 ELECTRIC LLC`
/// names two firms. A name that does not certainly contain several parties stays one party.
pub(super) fn parties(text: &str, names: NamesOf) -> Vec<Party> {
    let party = |name: &str| Party {
        name: name.to_owned(),
        is_organization: is_organization(name, names),
    };
    by_marks(text).or_else(|| by_commas(text)).map_or_else(
        || vec![party(text)],
        |(firms, persons)| {
            let of_kind = |names: Vec<String>, is_organization: bool| {
                names.into_iter().map(move |name| Party {
                    name,
                    is_organization,
                })
            };
            of_kind(firms, true)
                .chain(of_kind(persons, false))
                .collect()
        },
    )
}

/// Firms and persons in a cell.
type Named = (Vec<String>, Vec<String>);

/// Splits the parties at a hyphen or slash, or at `c/o` and `DBA`.
fn by_marks(text: &str) -> Option<Named> {
    const OTHER_NAMES: [&str; 3] = [" DBA ", " D/B/A ", " T/A "];
    let upper = text.to_ascii_uppercase();
    for mark in OTHER_NAMES
        .into_iter()
        .chain([" C/O: ", " C/O ", " - ", " \u{2013} ", "/"])
    {
        let Some(start) = upper
            .find(mark)
            .filter(|start| text.is_char_boundary(*start))
        else {
            continue;
        };
        let sides = [&text[..start], &text[start + mark.len()..]].map(str::trim);
        // `A/C` is a single word.
        let is_one_word = mark == "/"
            && [sides[0].split(' ').next_back(), sides[1].split(' ').next()]
                .into_iter()
                .flatten()
                .any(|word| word.len() < 2);
        if is_one_word {
            continue;
        }
        let are_firms = sides.map(|side| is_organization(side, NamesOf::Trade));
        let are_persons = sides.map(may_be_full_name);
        let (firm, other) = match (are_firms, are_persons) {
            ([true, false], [_, true]) => (sides[0], Some(sides[1])),
            ([false, true], [true, _]) => (sides[1], Some(sides[0])),
            // Text after a legal form and a hyphen is a branch or a surname.
            ([true, false], _) if has_form(sides[0]) && mark != "/" => (sides[0], None),
            ([true, true], _) if OTHER_NAMES.contains(&mark) => {
                return Some((vec![text.to_owned()], Vec::new()));
            }
            ([true, true], _) if sides.iter().all(|side| has_form(side)) => {
                return Some((sides.map(str::to_owned).to_vec(), Vec::new()));
            }
            _ => continue,
        };
        return Some((
            vec![firm.to_owned()],
            other.map(str::to_owned).into_iter().collect(),
        ));
    }
    None
}

/// Returns true if a name ends in a legal form that no person's name contains.
fn has_form(text: &str) -> bool {
    name::organization(text)
        .designator
        .is_some_and(|form| !AMBIGUOUS_FORMS.contains(&form))
}

/// Splits the parties at commas.
fn by_commas(text: &str) -> Option<Named> {
    let mut segments: Vec<String> = Vec::new();
    for segment in text
        .split(',')
        .map(str::trim)
        .filter(|segment| !segment.is_empty())
    {
        let words = name::words(segment);
        let is_form = words.iter().all(|word| name::is_legal_form(word))
            || matches!(words.as_slice(), [word] if matches!(word.as_str(), "JR" | "SR" | "II" | "III" | "IV"));
        match segments.last_mut() {
            Some(last) if is_form => last.push_str(&format!(", {segment}")),
            _ => segments.push(segment.to_owned()),
        }
    }
    if segments.len() > 1 && segments.iter().all(|segment| has_form(segment)) {
        return Some((segments, Vec::new()));
    }
    let firms: Vec<usize> = (0..segments.len())
        .filter(|place| is_organization(&segments[*place], NamesOf::Anyone))
        .collect();
    let [place] = firms.as_slice() else {
        return None;
    };
    // The person is named before or after the firm.
    let is_at_an_end = *place == 0 || place + 1 == segments.len();
    let firm = segments.remove(*place);
    let person = segments.join(", ");
    let are_words = segments.len() > 1 || person.split_whitespace().count() > 1;
    (is_at_an_end && are_words && may_be_full_name(&person)).then(|| (vec![firm], vec![person]))
}

/// Returns true if a text may be a person's full name, which has at least two words that consist
/// only of letters.
fn may_be_full_name(text: &str) -> bool {
    let words = text.split_whitespace().count();
    let is_of_name = |c: char| {
        c.is_alphabetic()
            || c.is_whitespace()
            || matches!(c, ',' | '.' | '\'' | '\u{2019}' | '-' | '&')
    };
    let is_joint = |word: &str| {
        matches!(
            word.to_uppercase().as_str(),
            "OF" | "THE" | "AND" | "FOR" | "AT" | "BY" | "IN"
        )
    };
    (2..=MAX_NAME_WORDS).contains(&words)
        && text.chars().all(is_of_name)
        && !text.split_whitespace().any(is_joint)
        && !is_organization(text, NamesOf::Anyone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names from real permits; persons are invented.
    #[test]
    fn persons_are_not_taken_for_organizations() {
        let persons = [
            "TEST NILS E",
            "IDA EXAMA",
            "ludwg samphampton",
            "SAMPI, KONRAD PIA",
            "FAKEE ENNO",
            "WANDA FAKETON",
            "NADIA DUMMWOOD",
            "ROSA PARKS",
            "FRANK CHURCH",
            "JOHN ROOF",
            "TRAN THI NA",
            "EXAMPLE FAMILY TRUST",
            "Carl & Edith Sample",
            "SAMPLE'S RESIDENCE",
            "JOHN EXAMPLE CONTRACTOR",
        ];
        for person in persons {
            assert!(!is_organization(person, NamesOf::Anyone), "{person}");
            assert!(!is_organization(person, NamesOf::Trade), "{person}");
        }
        let organizations = [
            "BULLEY & ANDREWS, L.L.C.",
            "NYC SCHOOL CONSTRUCTION AUTHORIT",
            "JACKSON BUILDERS",
            "SEATTLE UNIVERSITY",
            "A.D.T. INC.",
            "ROOF DETECTIVE",
            "FAST WATER HEATER",
            "Taco Palenque",
            "PROFESSIONAL PLUMBING",
            "BANK OF AMERICA",
            "84 LUMBER",
            "LOU'S DINER",
        ];
        for organization in organizations {
            assert!(
                is_organization(organization, NamesOf::Anyone),
                "{organization}"
            );
        }
        assert!(
            !is_organization("EXAMINGLY, FLORIAN J HOUSE MOVERS", NamesOf::Trade)
                && !is_organization("FLORIAN J ROOF", NamesOf::Trade)
        );
        assert!(
            !is_organization("ODUYA STONE", NamesOf::Trade)
                && !is_organization("EXAMINA CHURCH", NamesOf::Trade)
        );
        assert!(
            is_organization("TITAN SOLAR", NamesOf::Trade)
                && !is_organization("TITAN SOLAR", NamesOf::Anyone)
        );
    }

    /// Cells from East Baton Rouge, Honolulu and Miami-Dade; persons are invented.
    #[test]
    fn firms_and_persons_of_one_cell_are_told_apart() {
        let cases: [(&str, &[&str], &[&str]); 24] = [
            (
                "Booker Mechanical, LLC - Martin Dowell",
                &["Booker Mechanical, LLC"],
                &["Martin Dowell"],
            ),
            (
                "PIONEER CONSTRUCTION & SERVICES, INC. - Oscar Tesdale Jr.",
                &["PIONEER CONSTRUCTION & SERVICES, INC."],
                &["Oscar Tesdale Jr."],
            ),
            (
                "Martin Dowell - Booker Mechanical, LLC",
                &["Booker Mechanical, LLC"],
                &["Martin Dowell"],
            ),
            (
                "DELANOY, MARTIN V., PRESTIGE PLUMBING LLC",
                &["PRESTIGE PLUMBING LLC"],
                &["DELANOY, MARTIN V."],
            ),
            (
                "Martin Delanoy, PRESTIGE PLUMBING LLC",
                &["PRESTIGE PLUMBING LLC"],
                &["Martin Delanoy"],
            ),
            (
                "PRESTIGE PLUMBING, LLC, Martin Delanoy",
                &["PRESTIGE PLUMBING, LLC"],
                &["Martin Delanoy"],
            ),
            (
                "LAKE VISTA CONDO/MARIA ALDERSON",
                &["LAKE VISTA CONDO"],
                &["MARIA ALDERSON"],
            ),
            (
                "A3 ELECTRIC LLC, R TESDALE LLC",
                &["A3 ELECTRIC LLC", "R TESDALE LLC"],
                &[],
            ),
            (
                "AMKO CONSTRUCTION  c/o: Oscar Tesdale",
                &["AMKO CONSTRUCTION"],
                &["Oscar Tesdale"],
            ),
            (
                "OSCAR TESDALE DBA AMKO CONSTRUCTION",
                &["AMKO CONSTRUCTION"],
                &["OSCAR TESDALE"],
            ),
            (
                "JONES CONSTRUCTION, OSCAR MARK TESDALE DBA",
                &["JONES CONSTRUCTION"],
                &["OSCAR MARK TESDALE DBA"],
            ),
            (
                "EN BLUM, LLC DBA BASIN POOL DESIGNS",
                &["EN BLUM, LLC DBA BASIN POOL DESIGNS"],
                &[],
            ),
            (
                "NVR, INC. T/A RYAN HOMES",
                &["NVR, INC. T/A RYAN HOMES"],
                &[],
            ),
            ("SURF AVENUE L/CAL LLC", &["SURF AVENUE L/CAL LLC"], &[]),
            (
                "DOMINO A LLC/DOMINO B LLC",
                &["DOMINO A LLC", "DOMINO B LLC"],
                &[],
            ),
            ("ERNST GROUP, LLC THE", &["ERNST GROUP, LLC THE"], &[]),
            (
                "JPMORGAN CHASE BANK, N.A.",
                &["JPMORGAN CHASE BANK, N.A."],
                &[],
            ),
            ("ROTO EXAMPLE LLC - DAYTON", &["ROTO EXAMPLE LLC"], &[]),
            ("ADJUSTABLE FORMS, INC.", &["ADJUSTABLE FORMS, INC."], &[]),
            (
                "B&G CONSTRUCTION & RESTORATION, INC.",
                &["B&G CONSTRUCTION & RESTORATION, INC."],
                &[],
            ),
            (
                "EXAMPLE, SAMPLE & ASSOCIATES",
                &["EXAMPLE, SAMPLE & ASSOCIATES"],
                &[],
            ),
            ("A/C HEATING SERVICES", &["A/C HEATING SERVICES"], &[]),
            (
                "HEATING/COOLING SPECIALISTS",
                &["HEATING/COOLING SPECIALISTS"],
                &[],
            ),
            ("DELANOY, MARTIN V.", &[], &["DELANOY, MARTIN V."]),
        ];
        for (text, firms, persons) in cases {
            let parties = parties(text, NamesOf::Trade);
            let of_kind = |is_organization: bool| {
                parties
                    .iter()
                    .filter(|party| party.is_organization == is_organization)
                    .map(|party| party.name.as_str())
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                (of_kind(true).as_slice(), of_kind(false).as_slice()),
                (firms, persons),
                "{text}"
            );
        }
    }
}
