//! gatehousectl.
fn main() {}
