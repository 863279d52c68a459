//! Permits to the frames of their two contracts.

use polars::prelude::*;

use super::contact::Contact;
use super::rows::Permit;
use super::settings::Settings;
use super::{CONTACT, PERMIT};
use crate::normalise::pointer_column;
use pubdata_core::contract::LIST_SEPARATOR;
use pubdata_core::error::Result;

/// A permit and the places of the rows it was made from.
pub(super) type Located = (Permit, Vec<u64>);

/// Where all rows of a table are from.
pub(super) struct Feed<'a> {
    pub(super) source_id: &'a str,
    pub(super) bucket: &'a str,
}

pub(super) fn texts<'a, T: 'a>(name: &str, items: &'a [T], value: impl Fn(&'a T) -> Option<&'a str>) -> Column {
    StringChunked::from_iter_options(name.into(), items.iter().map(value)).into_column()
}

fn made<T>(name: &str, items: &[T], value: impl Fn(&T) -> Option<String>) -> Column {
    StringChunked::from_iter_options(name.into(), items.iter().map(value)).into_column()
}

fn whole<T>(name: &str, items: &[T], value: impl Fn(&T) -> Option<i64>) -> Column {
    items.iter().map(value).collect::<Int64Chunked>().with_name(name.into()).into_column()
}

fn degrees<T>(name: &str, items: &[T], value: impl Fn(&T) -> Option<f64>) -> Column {
    items.iter().map(value).collect::<Float64Chunked>().with_name(name.into()).into_column()
}

pub(super) fn constant(name: &str, text: &str, height: usize) -> Column {
    StringChunked::full(name.into(), text, height).into_column()
}

/// The frame of `permit.permit`.
pub(super) fn permits(items: &[Located], settings: &Settings, feed: &Feed<'_>) -> Result<DataFrame> {
    let height = items.len();
    let scheme = settings.parcel.as_ref().map(|parcel| parcel.scheme.as_str());
    macro_rules! text {
        ($name:literal, $($field:tt)+) => {
            texts($name, items, |(permit, _)| permit.$($field)+.as_deref())
        };
    }
    let columns = vec![
        made("record_id", items, |(permit, _)| Some(format!("{PERMIT}:{}", permit.permit_id))),
        constant("jurisdiction", &settings.jurisdiction.id, height),
        constant("jurisdiction_name", &settings.jurisdiction.name, height),
        constant("source_id", feed.source_id, height),
        constant("bucket", feed.bucket, height),
        constant("state", &settings.jurisdiction.state, height),
        texts("permit_id", items, |(permit, _)| Some(&permit.permit_id)),
        text!("permit_number", permit_number),
        texts("type", items, |(permit, _)| Some(&permit.kind)),
        text!("type_raw", type_raw),
        text!("sub_type_raw", sub_type_raw),
        texts("type_basis", items, |(permit, _)| permit.type_basis),
        text!("work_class", work_class),
        text!("work_class_raw", work_class_raw),
        text!("property_class", property_class),
        text!("property_class_raw", property_class_raw),
        text!("description", description),
        texts("status", items, |(permit, _)| Some(&permit.status)),
        text!("status_detail", status_detail),
        text!("status_raw", status_raw),
        texts("status_basis", items, |(permit, _)| permit.status_basis),
        text!("status_date", status_date),
        text!("applied_date", applied_date),
        text!("issued_date", issued_date),
        text!("completed_date", completed_date),
        text!("expires_date", expires_date),
        whole("job_value", items, |(permit, _)| permit.job_value),
        whole("fees", items, |(permit, _)| permit.fees),
        whole("square_feet", items, |(permit, _)| permit.square_feet),
        whole("housing_units", items, |(permit, _)| permit.housing_units),
        whole("renewals", items, |(permit, _)| permit.renewals),
        text!("line1", location.line1),
        text!("line2", location.line2),
        text!("city", location.city),
        text!("address_state", location.state),
        text!("zip", location.zip),
        text!("address_normalized", location.normalized),
        text!("address_key", location.key),
        degrees("lat", items, |(permit, _)| permit.coordinates.map(|(lat, _)| lat)),
        degrees("lon", items, |(permit, _)| permit.coordinates.map(|(_, lon)| lon)),
        texts("parcel_scheme", items, |(permit, _)| permit.location.parcel.as_ref().and(scheme)),
        text!("parcel", location.parcel),
        text!("property_id", location.property_id),
        made("tags", items, |(permit, _)| Some(permit.tags.join(LIST_SEPARATOR))),
        text!("source_url", source_url),
        made("unknown_values", items, |(permit, _)| Some(permit.unknown_values.join(LIST_SEPARATOR))),
        pointer_column(items.iter().map(|(_, pointers)| pointers.as_slice())),
    ];
    Ok(DataFrame::new(height, columns)?)
}

/// The frame of `permit.contact`.
pub(super) fn contacts(permits: &[Located], settings: &Settings, feed: &Feed<'_>) -> Result<DataFrame> {
    type Party<'a> = (i32, &'a Contact, &'a Permit, &'a [u64]);
    let items: Vec<Party<'_>> = permits
        .iter()
        .flat_map(|(permit, pointers)| permit.contacts.iter().zip(1..).map(move |(contact, seq)| (seq, contact, permit, pointers.as_slice())))
        .collect();
    let height = items.len();
    let items = items.as_slice();
    macro_rules! text {
        ($name:literal, $field:ident) => {
            texts($name, items, |(_, contact, ..)| contact.$field.as_deref())
        };
    }
    let columns = vec![
        made("record_id", items, |(seq, _, permit, _)| Some(format!("{CONTACT}:{}:{seq}", permit.permit_id))),
        constant("jurisdiction", &settings.jurisdiction.id, height),
        constant("source_id", feed.source_id, height),
        constant("bucket", feed.bucket, height),
        texts("permit_id", items, |(_, _, permit, _)| Some(&permit.permit_id)),
        items.iter().map(|(seq, ..)| Some(*seq)).collect::<Int32Chunked>().with_name("seq".into()).into_column(),
        texts("role", items, |(_, contact, ..)| Some(&contact.role)),
        text!("role_raw", role_raw),
        text!("name", name),
        text!("name_normalized", name_normalized),
        text!("license_number", license_number),
        text!("license_number_normalized", license_number_normalized),
        text!("license_type_raw", license_type_raw),
        text!("license_state", license_state),
        text!("license_scheme", license_scheme),
        text!("other_license_number", other_license_number),
        text!("other_license_number_normalized", other_license_number_normalized),
        text!("other_license_scheme", other_license_scheme),
        text!("phone", phone),
        made("unknown_values", items, |(_, contact, ..)| Some(contact.unknown_values.join(LIST_SEPARATOR))),
        pointer_column(items.iter().map(|(.., pointers)| *pointers)),
    ];
    Ok(DataFrame::new(height, columns)?)
}
