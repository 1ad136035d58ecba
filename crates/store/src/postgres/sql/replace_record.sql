UPDATE perennial.records SET value = $3 WHERE kind = $1 AND key = $2 AND value = $4
