ALTER TABLE visibility ADD COLUMN PerennialLabels TEXT;
