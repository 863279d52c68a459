//! Other programs ask the API: generators of requests and clients, a browser, readers of its
//! documents. They are packages that `.ci/run` installs; without them these tests say so and skip.

mod api;
mod browser;
mod clients;
mod croissant;
mod receipts;
mod stream;
