//! Runs pubdata with other programs' stores and orchestrators. `.ci/run` installs their packages;
//! without them, these tests print a reason and skip.

mod azurite;
mod moto;
mod orchestrators;
mod spark;
