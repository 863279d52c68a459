//! Tests the HTTP API in process, on small homes. Folders mirror `src/serve`; shared code is in
//! this folder.

mod admin;
mod bulk;
mod business;
mod coverage;
mod evidence;
mod examples;
mod finder;
mod fixtures;
mod geo;
mod home;
mod http;
mod invitations;
mod license;
mod listening;
mod me;
mod pages;
mod permit;
mod provenance;
mod receipts;
mod records;
mod release;
mod schema;
mod sec;
mod served;
mod shown;
mod snapshot;
mod stream;
mod tax;
mod world;
mod zip_code;

pub use evidence::Fixed;
pub use listening::{Listening, at_an_address};
pub use schema::Survey;
pub use served::Served;
pub use world::{Answer, World, all, collect_record_ids, notices, read, with};
