SELECT epoch, sequence FROM leases WHERE cell = ?1
