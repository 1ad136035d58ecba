//! The time zone database of this machine.

use jiff::tz::TimeZoneDatabase;
use perennial_engine::Zones;

/// The system's database, which is kept up to date, or the embedded one if the system has none.
pub(crate) fn system_zones() -> Zones {
    let system = TimeZoneDatabase::from_env();
    let is_missing = system.is_definitively_empty();
    Zones::new(if is_missing { TimeZoneDatabase::bundled() } else { system })
}
