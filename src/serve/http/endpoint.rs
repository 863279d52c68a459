//! Defines what an endpoint declares, what its handler receives and what it returns. Each request
//! has one pinned release and one answer, which is written to one buffer.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::response::Response;
use futures_util::future::BoxFuture;
use jiff::civil::Date;

use super::auth::Client;
use super::components::Data;
use super::meta::Meta;
use super::parameters::{Kind, Parameter};
use super::problem::Result;
use super::query::Query;
use super::service::Service;
use crate::json::Json;
use crate::release::loaded::{Load, Release};
use crate::release::part_reader::PartReader;
use pubdata_core::contract::Contracts;
use pubdata_store::Scope;

/// Group of related datasets, with the data that they keep in memory and the endpoints that answer
/// from this data.
pub struct Family {
    /// Heading for the family's endpoints in the OpenAPI document.
    pub tag: Tag,
    pub load: Load,
    pub endpoints: &'static [Endpoint],
    pub placeholders: &'static [Placeholder],
}

/// Heading in the OpenAPI document.
pub struct Tag {
    pub name: &'static str,
    pub description: &'static str,
}

/// An operation of the API.
pub struct Endpoint {
    pub method: &'static str,
    pub path: &'static str,
    pub operation_id: &'static str,
    pub summary: &'static str,
    pub access: Access,
    pub parameters: &'static [Parameter],
    /// Schema of the request body.
    pub body: Option<Data>,
    /// Schema of `data`.
    pub data: Data,
    pub cache_policy: CachePolicy,
    pub handler: Handler,
}

impl Endpoint {
    /// Reports whether the answer is a document of an external format, without an envelope.
    pub fn is_document(&self) -> bool {
        matches!(self.handler, Handler::Document(_) | Handler::LinkedData(_))
    }

    /// Reports whether the answer is a JSON-LD document.
    pub fn is_linked_data(&self) -> bool {
        matches!(self.handler, Handler::LinkedData(_))
    }

    /// Returns the path of the records in `data`, if the endpoint can answer as a table.
    pub fn rows(&self) -> Option<&'static str> {
        self.parameters
            .iter()
            .find_map(|parameter| match parameter.kind {
                Kind::Format(rows) => Some(rows),
                _ => None,
            })
    }

    /// Returns the declaration of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
    }
}

/// Variable segment of a path.
pub struct Placeholder {
    pub name: &'static str,
    /// Regular expression that the value must match.
    pub pattern: &'static str,
    /// An example value, or the dataset and column of a contract. In the second case, the column's
    /// first value is the example.
    pub example: &'static str,
    pub description: &'static str,
}

/// Access rule of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Everyone,
    /// Everyone may call the endpoint. If a key is sent, the answer is about that key.
    Optional,
    /// Any valid key is accepted; the handler checks the scope.
    Key,
    Scope(Scope),
}

/// Inputs that an answer depends on besides the release and the query. They determine how long the
/// answer can be cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// The answer depends on nothing else.
    PerRelease,
    /// The answer depends on the current day and is valid until the day ends.
    PerDay,
    /// The answer depends on the day in the parameter `date`, which defaults to the current day.
    /// Answers for past days are final.
    PerDate,
    /// The answer depends on the server's state and is never cached.
    NoStore,
}

/// Function behind an endpoint. It writes the value of `data` and returns the content of `meta`.
pub enum Handler {
    /// Answers from memory.
    Memory(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Answers from memory with a document of an external standard, which does not allow an
    /// envelope.
    Document(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Answers like `Document`, but with JSON-LD. The media type is `application/ld+json` if the
    /// client asks for it.
    LinkedData(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Reads the release's files.
    Files(for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>),
    /// Needs no release and answers even if no release is loaded.
    WithoutRelease(for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>),
    /// Answers with a file if the parameter `format` names one, otherwise like `Files`.
    Download {
        list: for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>,
        file: for<'a> fn(&'a Call<'a>, &'a Parts) -> BoxFuture<'a, Result<Response>>,
    },
}

/// A request that was checked against the declaration of its endpoint.
pub struct Call<'a> {
    pub endpoint: &'a Endpoint,
    pub service: &'a Service,
    pub release: &'a Arc<Release>,
    /// Decoded values of the path's placeholders.
    pub path: &'a [(String, String)],
    pub query: &'a Query,
    pub body: &'a [u8],
    pub client: &'a Client,
    /// Day on which the request arrived, UTC.
    pub today: Date,
    pub request_id: &'a str,
}

impl<'a> Call<'a> {
    /// Takes tokens from the client for every item in a batch except the first, which was already
    /// charged at admission.
    ///
    /// # Errors
    /// `rate_limited` if the client has too few tokens.
    pub fn charge(&self, items: usize) -> Result<()> {
        self.service
            .charge(self.client, items.saturating_sub(1) as u64)
    }

    pub fn scopes(&self) -> &[Scope] {
        &self.client.scopes
    }

    pub fn contracts(&self) -> &'a Contracts {
        &self.service.contracts
    }

    /// Returns a reader for parts of the release.
    pub fn reader(&self) -> PartReader<'a> {
        PartReader::new(&self.service.parts, &self.release.manifest)
    }

    pub fn today(&self) -> Date {
        self.today
    }

    /// Returns the value of a path placeholder, or an empty string if the path does not have the
    /// placeholder.
    pub fn path_value(&self, name: &str) -> &str {
        self.path
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }
}

/// Declares the parameters of an endpoint as a struct: `struct Parameters<'a> { name: type = kind,
/// …, ..parameter, }`. Each field declares the parameter with the same name. The field's comment is
/// the description; if a field has no comment, the expression after `=` provides the description.
/// `..` adds a parameter that handlers do not read.
macro_rules! query {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident<$life:lifetime> {
            $($(#[doc = $doc:literal])* $(.. $other:ident $(($rows:literal))?)? $($field:ident: $type:ty = $declared:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        $vis struct $name<$life> {
            $($(pub $field: $type,)?)*
        }

        impl<$life> $name<$life> {
            pub const DECLARED: &'static [$crate::http::parameters::Parameter] =
                &[$($crate::http::endpoint::query!(@parameter $life, [$($doc),*] $(.. $other $(($rows))?)? $($field: $type = $declared)?)),*];

            /// Reads the checked query of a request to an endpoint that declares these parameters.
            ///
            /// # Errors
            /// `missing_parameter` if a required parameter is absent.
            pub fn read(call: &$crate::http::endpoint::Call<$life>) -> $crate::http::problem::Result<Self> {
                let names = |parameters: &'static [$crate::http::parameters::Parameter]| parameters.iter().map(|parameter| parameter.name);
                debug_assert!(names(call.endpoint.parameters).eq(names(Self::DECLARED)), "the endpoint declares other parameters");
                Ok(Self { $($($field: call.query.field(Self::DECLARED, $crate::release::places::of_field(stringify!($field)))?,)?)* })
            }
        }
    };
    (@parameter $life:lifetime, [$($doc:literal),*] $field:ident: $type:ty = $declared:expr) => {
        $declared.parameter().of_field(stringify!($field), <$type as $crate::http::fields::Field<$life>>::FORM, concat!($($doc),*))
    };
    (@parameter $life:lifetime, [] .. $other:expr) => { $other };
}
pub(crate) use query;
