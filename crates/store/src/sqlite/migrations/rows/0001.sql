INSERT INTO leases VALUES (0, 1, 1);
INSERT INTO runs VALUES (1, 1, 'order', x'0190163d8694739baea5966c26f8ad91', 7, 1, 1000, CAST('head' AS BLOB));
INSERT INTO current_runs VALUES (1, 'order', 1);
INSERT INTO parts VALUES (1, 1, x'0000000000000005', x'00');
INSERT INTO history VALUES (1, 1, 3, x'00');
INSERT INTO branch_references VALUES (1, 1);
INSERT INTO tasks VALUES (1, 7, x'00');
INSERT INTO messages VALUES (1, 7, x'00');
INSERT INTO records VALUES (1, 'default', x'00');
