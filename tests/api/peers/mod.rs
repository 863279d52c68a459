//! Has other programs query the API: generators of requests and clients, a browser, and readers of
//! its documents. `.ci/run` installs their packages; without them these tests print a notice and
//! skip.

mod api;
mod browser;
mod clients;
mod croissant;
mod receipts;
mod stream;
