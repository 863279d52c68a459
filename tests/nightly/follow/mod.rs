//! The follower, in process and as a program, on feeds that a publisher in this process plays.

mod desk;
mod feeds;
mod killed;
mod log;
mod real;
