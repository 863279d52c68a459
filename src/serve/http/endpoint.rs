//! Defines what an endpoint declares, what its handler receives and what it returns: one request,
//! one pinned release, one answer in one buffer.

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

/// Group of related datasets: the data they keep in memory and the endpoints that answer from it.
pub struct Family {
    /// Heading of its endpoints in the OpenAPI document.
    pub tag: Tag,
    pub load: Load,
    pub endpoints: &'static [Endpoint],
    pub placeholders: &'static [Placeholder],
}

/// Heading of the OpenAPI document.
pub struct Tag {
    pub name: &'static str,
    pub description: &'static str,
}

/// One operation of the API.
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
    /// Regular expression.
    pub pattern: &'static str,
    /// An example value; or dataset and column of a contract, whose first value is the example.
    pub example: &'static str,
    pub description: &'static str,
}

/// Access rule of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Everyone,
    /// Everyone; if a key is sent, the answer is about that key.
    Optional,
    /// Any valid key; the handler checks the scope.
    Key,
    Scope(Scope),
}

/// Dependencies of an answer besides the release and the query, which determine how long it can be
/// cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// Depends on nothing else.
    PerRelease,
    /// Depends on the current day; valid until the day ends.
    PerDay,
    /// Depends on the day in the parameter `date`, by default the current day. Answers for past
    /// days are final.
    PerDate,
    /// Depends on the state of the server; never cached.
    NoStore,
}

/// Function behind an endpoint. It writes the value of `data` and returns the content of `meta`.
pub enum Handler {
    /// Answers from memory.
    Memory(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Answers from memory with a document of an external standard, which does not allow an
    /// envelope.
    Document(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Answers like `Document`, with JSON-LD. The media type is `application/ld+json` if the client
    /// asks for it.
    LinkedData(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Reads the release's files.
    Files(for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>),
    /// Needs no release; answers even if none is loaded.
    WithoutRelease(for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>),
    /// Answers with a file if the parameter `format` names one, otherwise like `Files`.
    Download {
        list: for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>,
        file: for<'a> fn(&'a Call<'a>, &'a Parts) -> BoxFuture<'a, Result<Response>>,
    },
}

/// One request, checked against the declaration of its endpoint.
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
    /// Takes tokens from the client for all items of a batch but the first, which admission has
    /// already charged.
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

    /// Returns the value of a placeholder of the path; empty if the path does not have it.
    pub fn path_value(&self, name: &str) -> &str {
        self.path
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }
}

/// Declares the parameters of an endpoint as a struct: `struct Parameters<'a> { name: type = kind,
/// …, ..parameter, }`. A field declares the parameter of the same name. Its comment is the
/// description; without a comment, the expression after `=` provides it. `..` adds a parameter that
/// handlers do not read.
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
