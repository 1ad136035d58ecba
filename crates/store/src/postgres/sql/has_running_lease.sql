SELECT lease_ends_at > clock_timestamp() FROM perennial.nodes WHERE id = $1
