//! What the registry of each state holds and lacks.

use crate::business::table::Businesses;
use crate::days;
use crate::json::Json;
use crate::place::reach::Reaches;

/// For so long a registry may have no new entity without a question.
const QUIET_DAYS: i64 = 180;

impl Businesses {
    /// Writes the registries by state; each with whom it reaches.
    pub fn write_lists(&self, json: &mut Json, reaches: &Reaches<'_>) {
        for (state, registry) in &*self.index.registries {
            let mut parts = (0..self.rows.parts().len()).filter(|part| self.rows.partition_of(*part, "state") == state);
            let has_officers = parts.any(|part| self.officers.beside(&self.rows.parts()[part]).is_some_and(|part| part.rows > 0));
            let gaps = [(registry.oldest.is_none(), "no dates of formation"), (!has_officers, "no officers")];
            json.object(|json| {
                json.key("list").text(state);
                json.key("name").text(&registry.source_id);
                json.key("state").text(state);
                json.key("records").count(registry.entities);
                json.key("first_date").optional_day(registry.oldest);
                json.key("last_date").optional_day(registry.newest);
                json.key("kinds").texts(registry.types.iter().map(String::as_str));
                json.key("gaps").texts(gaps.into_iter().filter(|(is_so, _)| *is_so).map(|(_, gap)| gap));
                let partition = [("state", state.as_str())];
                json.key("freshness").text(reaches.freshness(&partition, registry.newest.map(days::date), QUIET_DAYS).name());
                reaches.write(json.key("reach"), &partition);
            });
        }
    }
}
