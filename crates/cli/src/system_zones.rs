//! The zone database of this machine, and the embedded one where it falls short.

use anyhow::Context;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use perennial_calendar::{Error, ZoneSource, Zones};

use crate::failure::Usage;

/// Zones that know the one asked for. The system's come first because they are kept up to date;
/// the embedded ones step in where the system has none, or lacks this one (Debian ships `US/Pacific`
/// and its like in a package of their own).
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

/// The name of the zone this machine's clock is set to.
pub(crate) fn local_name() -> anyhow::Result<String> {
    let local = TimeZone::try_system().context("this machine's time zone is not known")?;
    let unnamed = || Usage::new("this machine's time zone has no name; give --tz an IANA name");
    Ok(local.iana_name().ok_or_else(unnamed)?.to_owned())
}
