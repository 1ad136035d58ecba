INSERT INTO leases VALUES (0, 1, 1);
INSERT INTO runs VALUES (1, 1, 'order', x'0190163d8694739baea5966c26f8ad91', 7, 1, 1000, CAST('head' AS BLOB));
INSERT INTO current_runs VALUES (1, 'order', 1);
INSERT INTO parts VALUES (1, 1, x'0000000000000005', x'00');
INSERT INTO history VALUES (1, 1, 3, x'00');
INSERT INTO branch_references VALUES (1, 1);
INSERT INTO schedules VALUES (2, 1, 'nightly', 7, 2000, CAST('schedule head' AS BLOB));
INSERT INTO parts VALUES (2, 32, x'', x'00');
INSERT INTO schedule_log VALUES (2, 1, 1, x'00');
INSERT INTO tasks VALUES (1, 7, x'00');
INSERT INTO messages VALUES (1, 7, x'00');
INSERT INTO records VALUES (1, 'default', x'00');
INSERT INTO visibility
    (run_key, namespace, workflow_id, run_id, workflow_type, task_queue, status, start_time,
     execution_time, root_workflow_id, root_run_id, memo, search_attributes,
     PerennialLabels)
VALUES
    (1, 1, 'order', '0190163d-8694-739b-aea5-966c26f8ad91', 'Order', 'orders', 1, 1000, 1000,
     'order', '0190163d-8694-739b-aea5-966c26f8ad91', x'', x'',
     '["team=billing"]');
