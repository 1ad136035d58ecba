//! The system's time zone database, with the embedded one as a fallback.

use anyhow::Context;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use perennial_calendar::{Error, ZoneSource, Zones};

use crate::failure::Usage;

/// A zone database that contains the zone. The system's comes first because it is kept up to date. The
/// embedded one is used if the system has none, or lacks this zone (Debian ships `US/Pacific` and
/// similar names in a separate package).
pub(crate) fn zones_with(source: &ZoneSource) -> Result<Zones, Error> {
    let system = Zones::new(TimeZoneDatabase::from_env());
    match system.resolve(source) {
        Ok(_) => Ok(system),
        Err(Error::UnknownZone { .. }) => {
            let embedded = Zones::new(TimeZoneDatabase::bundled());
            embedded.resolve(source)?;
            Ok(embedded)
        }
        Err(error) => Err(error),
    }
}

/// The IANA name of this machine's time zone.
pub(crate) fn local_name() -> anyhow::Result<String> {
    let local = TimeZone::try_system().context("cannot determine this machine's time zone")?;
    let unnamed = || Usage::new("this machine's time zone has no name; give --tz an IANA name");
    Ok(local.iana_name().ok_or_else(unnamed)?.to_owned())
}
