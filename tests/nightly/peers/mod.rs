//! Other programs' stores and orchestrators around a run. They are packages that `.ci/run`
//! installs; without them these tests say so and skip.

mod azurite;
mod moto;
mod orchestrators;
mod spark;
