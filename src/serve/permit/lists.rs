//! What each list of permits holds and lacks: its days, types, and what cannot be asked of it.

use crate::days;
use crate::json::Json;
use crate::permit::table::{DATES, PermitList, Permits};
use crate::place::reach::Reaches;

/// Types that a reader expects of any city.
const TRADES: [&str; 4] = ["building", "electrical", "mechanical", "plumbing"];

/// For so long a list may have no new permit without a question: a small city has weeks without one.
const QUIET_DAYS: i64 = 30;

impl Permits {
    /// Writes the lists by jurisdiction; each with whom it reaches.
    pub fn write_lists(&self, json: &mut Json, reaches: &Reaches<'_>) {
        for (id, list) in &self.lists {
            // The first kind of date that the list has: few have none of issue.
            let days = list.days.iter().find_map(|days| *days);
            json.object(|json| {
                json.key("list").text(id);
                json.key("name").text(&list.name);
                json.key("state").text(&list.state);
                json.key("records").count(list.permits);
                json.key("first_date").optional_text(days.map(|(first, _)| days::date(first).to_string()).as_deref());
                json.key("last_date").optional_text(days.map(|(_, last)| days::date(last).to_string()).as_deref());
                json.key("kinds").texts(list.types.iter().map(String::as_str));
                json.key("gaps").texts(gaps(list, self.with_license_numbers.contains(id)).iter().map(String::as_str));
                let partition = [("jurisdiction", id.as_str())];
                json.key("freshness").text(reaches.freshness(&partition, days.map(|(_, last)| days::date(last)), QUIET_DAYS).name());
                reaches.write(json.key("reach"), &partition);
            });
        }
    }
}

fn gaps(list: &PermitList, has_numbers: bool) -> Vec<String> {
    let types = TRADES.iter().filter(|kind| !list.types.contains(**kind)).map(|kind| format!("no permits of the type {kind}"));
    let dates = DATES.iter().zip(list.with_date).filter(|(_, count)| *count == 0).map(|(name, _)| format!("no {name}"));
    let share = |lacking: u64, what: &str| {
        (lacking > 0).then(|| if lacking == list.permits { format!("no {what}") } else { format!("no {what} for {lacking} of {} permits", list.permits) })
    };
    let shares = [share(list.without_zip, "ZIP codes"), share(list.permits - list.with_point, "coordinates")];
    let numbers = (!has_numbers).then(|| "no license numbers of contractors".to_owned());
    types.chain(dates).chain(shares.into_iter().flatten()).chain(numbers).collect()
}
