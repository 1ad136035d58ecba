DELETE FROM perennial.cells
