UPDATE perennial.cells SET owner = '' WHERE owner = $1
