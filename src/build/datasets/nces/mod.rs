//! Groups the builders for the National Center for Education Statistics: the public school
//! directory.

pub(super) mod ccd_directory;
