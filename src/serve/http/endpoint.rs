//! What an endpoint declares, what its handler gets and what it returns: one request, one pinned
//! release, one answer written into one buffer.

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

/// Datasets that belong together: what they keep in memory, and the endpoints that answer from it.
pub struct Family {
    /// Under what its endpoints stand in the document.
    pub tag: Tag,
    pub load: Load,
    pub endpoints: &'static [Endpoint],
    pub placeholders: &'static [Placeholder],
}

/// A heading of the document.
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
    /// The schema of the request's body.
    pub body: Option<Data>,
    /// The schema of `data`.
    pub data: Data,
    pub validity: Validity,
    pub handler: Handler,
}

impl Endpoint {
    /// Whether it answers with a document of others' making, without an envelope.
    pub fn is_document(&self) -> bool {
        matches!(self.handler, Handler::Document(_) | Handler::LinkedData(_))
    }

    /// Whether that document is JSON-LD, terms and all.
    pub fn is_linked_data(&self) -> bool {
        matches!(self.handler, Handler::LinkedData(_))
    }

    /// Where the records of `data` are, of an endpoint whose answer can be a table.
    pub fn rows(&self) -> Option<&'static str> {
        self.parameters
            .iter()
            .find_map(|parameter| match parameter.kind {
                Kind::Format(rows) => Some(rows),
                _ => None,
            })
    }

    /// What a parameter's declaration says.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
    }
}

/// A part of a path that is a value.
pub struct Placeholder {
    pub name: &'static str,
    /// Regular expression.
    pub pattern: &'static str,
    /// A value; or dataset and column of a contract, the first of whose values is one.
    pub example: &'static str,
    pub description: &'static str,
}

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Everyone,
    /// Everyone; the answer is about the key, where one is sent.
    Optional,
    /// Any valid key; the handler looks at the scope.
    Key,
    Scope(Scope),
}

/// What an answer depends on beside the release and the question, and so how long it is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// On nothing else.
    Release,
    /// On the present day: right until it ends.
    Day,
    /// On the day that the parameter `date` names, the present one when absent: what held on a past
    /// day is settled.
    Date,
    /// On what the server is doing: never kept.
    Moment,
}

/// The function behind an endpoint. It writes the value of `data` and returns what `meta` says.
pub enum Handler {
    /// Answers from memory.
    Memory(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Answers from memory with a document in the words of a standard, which has no place for an
    /// envelope around it.
    Document(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// The same of a document that is JSON-LD, and goes out by that name where it is asked for.
    LinkedData(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Reads the release's files.
    Files(for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>),
    /// Asks nothing of a release: answers where none is loaded, too.
    WithoutRelease(for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>),
    /// Answers with a file where the parameter `format` names one, else as `Files` does.
    Download {
        list: for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>,
        file: for<'a> fn(&'a Call<'a>, &'a Parts) -> BoxFuture<'a, Result<Response>>,
    },
}

/// One request, checked as far as the declaration of its endpoint goes.
pub struct Call<'a> {
    pub endpoint: &'a Endpoint,
    pub service: &'a Service,
    pub release: &'a Arc<Release>,
    /// Values of the path's placeholders, decoded.
    pub path: &'a [(String, String)],
    pub query: &'a Query,
    pub body: &'a [u8],
    pub client: &'a Client,
    /// The day on which it came, UTC.
    pub today: Date,
    pub request_id: &'a str,
}

impl<'a> Call<'a> {
    /// Takes a batch's items but its first, which admission took, from the client's tokens.
    ///
    /// # Errors
    /// `rate_limited`, when it has not enough.
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

    /// Reads parts of the release.
    pub fn reader(&self) -> PartReader<'a> {
        PartReader::new(&self.service.parts, &self.release.manifest)
    }

    pub fn today(&self) -> Date {
        self.today
    }

    /// The value of a placeholder of the path.
    pub fn path_value(&self, name: &str) -> &str {
        self.path
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }
}

/// Declares the parameters of an endpoint as a struct: `struct Parameters<'a> { name: type = kind,
/// …, ..parameter, }`. A field is the parameter of its name, described by its comment or, without
/// one, as what is behind `=`. `..` adds a parameter that handlers do not read.
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
            /// `missing_parameter`, when one is required and absent.
            pub fn of(call: &$crate::http::endpoint::Call<$life>) -> $crate::http::problem::Result<Self> {
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
