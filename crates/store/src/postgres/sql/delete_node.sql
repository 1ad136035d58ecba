DELETE FROM perennial.nodes WHERE id = $1
