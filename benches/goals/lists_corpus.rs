//! Makes a table of permits (Philadelphia's columns) and one of credentials (Washington's) of any
//! size. SYNTHETIC: numbers, streets and parties are made up; types, statuses and credentials are
//! words that the two publishers use, in equal shares. The same number of records makes the same
//! bytes.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::corpus::{folder, remove};

const MARKER: &str = ".pubdata-mirror";

const PERMITS: &str = "phl.carto.com/api/v2/sql@format=csv&q=SELECT+*,ST_Y(the_geom)+AS+lat,ST_X(the_geom)+AS+lng,(permitissuedate+AT+TIME+ZONE+%27EST5EDT%27)::date+AS+issued,(permitcompleteddate+AT+TIME+ZONE+%27EST5EDT%27)::date+AS+completed+FROM+permits";
const PERMIT_COLUMNS: &str = "cartodb_id,the_geom,the_geom_webmercator,objectid,permitnumber,addressobjectid,parcel_id_num,permittype,permitdescription,commercialorresidential,typeofwork,approvedscopeofwork,permitissuedate,status,applicanttype,contractorname,contractoraddress1,contractoraddress2,mostrecentinsp,opa_account_num,address,unit_type,unit_num,zip,censustract,council_district,opa_owner,systemofrecord,geocode_x,geocode_y,permitcompleteddate,numberofstories,numberofunits,occupancytype,usecategories,lat,lng,issued,completed";
/// A type and its description.
const TYPES: [(&str, &str); 8] = [
    ("Building", "BUILDING PERMIT"),
    ("Residential Building", "RESIDENTIAL BUILDING PERMIT"),
    ("Electrical", "ELECTRICAL PERMIT"),
    ("Plumbing", "PLUMBING PERMIT"),
    ("Mechanical / Fuel Gas", "MECHANICAL / FUEL GAS PERMIT"),
    ("Fire Suppression", "FIRE SUPPRESSION PERMIT"),
    ("General", "GENERAL PERMIT"),
    ("BP_ALTER", "ALTERATION PERMIT"),
];
const WORKS: [&str; 5] = [
    "New Construction",
    "Addition and/or Alteration",
    "Interior Alterations",
    "Full Demolition",
    "MAJOR",
];
const STATUSES: [&str; 8] = [
    "Issued",
    "COMPLETED",
    "Completed",
    "Expired",
    "ABANDONED",
    "Refused",
    "Amendment Application Incomplete",
    "Ready For Issue",
];

const CREDENTIALS: &str = "data.wa.gov/api/views/qxh8-f4bd/rows.csv@accessType=DOWNLOAD";
const CREDENTIAL_COLUMNS: &str = "CredentialNumber,LastName,FirstName,MiddleName,CredentialType,Status,BirthYear,CEDueDate,FirstIssueDate,LastIssueDate,ExpirationDate,ActionTaken";
const CREDENTIAL_TYPES: [(&str, &str); 6] = [
    ("MD.MD", "Physician And Surgeon License"),
    ("RN.RN", "Registered Nurse License"),
    ("NC.NC", "Nursing Assistant Certification"),
    ("VA.VA", "Veterinarian License"),
    ("MA.MA", "Massage Therapist License"),
    ("PH.PH", "Pharmacist License"),
];
const STANDINGS: [&str; 5] = [
    "Active",
    "ACTIVE",
    "Expired",
    "Active With Conditions",
    "Active Provisional",
];

/// Returns a mirror with a table of this many permits.
pub fn permits(records: u64) -> Result<PathBuf> {
    mirror("permits", PERMITS, PERMIT_COLUMNS, records, &|number| {
        let ((kind, described), work, status) = (
            pick(&TYPES, number),
            pick(&WORKS, number / 8),
            pick(&STATUSES, number / 40),
        );
        let (street, house, unit) = (
            number % 997,
            100 + number / 997 % 9_000,
            if number.is_multiple_of(4) { "2B" } else { "" },
        );
        let party = if number.is_multiple_of(3) {
            format!("SYNTHETIC BUILDERS {} LLC", number % 5_000)
        } else {
            String::new()
        };
        let (month, day) = (1 + number % 12, 1 + number % 28);
        format!(
            "{number},,,,SP-2099-{number:08},,,{kind},{described},Residential,{work},SYNTHETIC WORK {street},2026-{month:02}-{day:02} 05:00:00+00,{status},,{party},,,,990000001,\
             {house} N SYNTHETIC{street} ST,,{unit},19199-{:04},,,,ECLIPSE,,,,,1,,,39.96,-75.16,2026-{month:02}-{day:02},",
            number % 10_000
        )
    })
}

/// Returns a mirror with a table of this many credentials.
pub fn credentials(records: u64) -> Result<PathBuf> {
    mirror(
        "credentials",
        CREDENTIALS,
        CREDENTIAL_COLUMNS,
        records,
        &|number| {
            let ((prefix, credential), standing) = (
                pick(&CREDENTIAL_TYPES, number),
                pick(&STANDINGS, number / 6),
            );
            let (month, day) = (1 + number % 12, 1 + number % 28);
            format!(
                "{prefix}.9{number:08},SYNTHETIC{},SAM,S,{credential},{standing},1970,,{month:02}/{day:02}/2010,{month:02}/{day:02}/2025,{month:02}/{day:02}/2099,No",
                number % 20_000
            )
        },
    )
}

fn pick<T: Copy>(of: &[T], number: u64) -> T {
    of[(number % of.len() as u64) as usize]
}

fn mirror(
    name: &str,
    file: &str,
    columns: &str,
    records: u64,
    line: &dyn Fn(u64) -> String,
) -> Result<PathBuf> {
    let mirror = folder().join(format!("{name}-{records}"));
    if mirror.join(MARKER).is_file() {
        return Ok(mirror);
    }
    println!("  making a table of {records} synthetic {name}");
    remove(&mirror)?;
    write(&mirror.join(file), columns, records, line)?;
    fs::write(
        mirror.join("SYNTHETIC.md"),
        "The records on this mirror are synthetic: see benches/goals/lists_corpus.rs.\n",
    )?;
    fs::write(mirror.join(MARKER), "# Synthetic records.\nsample = true\n")?;
    Ok(mirror)
}

fn write(path: &Path, columns: &str, records: u64, line: &dyn Fn(u64) -> String) -> Result<()> {
    fs::create_dir_all(path.parent().ok_or("a file is in a folder")?)?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(file, "{columns}")?;
    (0..records).try_for_each(|number| writeln!(file, "{}", line(number)))?;
    Ok(file.flush()?)
}
