DELETE FROM perennial.records WHERE kind = $1 AND key = $2 AND value = $3
