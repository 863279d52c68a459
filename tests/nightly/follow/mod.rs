//! Tests the follower, in process and as a program, on feeds that a publisher in this process
//! serves.

mod desk;
mod feeds;
mod killed;
mod log;
mod real;
