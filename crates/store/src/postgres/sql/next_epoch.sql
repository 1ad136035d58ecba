UPDATE perennial.cluster SET last_epoch = last_epoch + 1 WHERE only_row = 1 RETURNING last_epoch
