UPDATE cells SET owner = 'node a', epoch = 5, sequence = 3;
INSERT INTO runs VALUES (1, 1, 'order', x'0190163d8694739baea5966c26f8ad91', 7, 1, 1000, CAST('head' AS BLOB));
INSERT INTO current_runs VALUES (1, 'order', 1);
INSERT INTO parts VALUES (1, 1, x'0000000000000005', CAST('activity' AS BLOB));
INSERT INTO history VALUES (1, 1, 3, CAST('events' AS BLOB));
INSERT INTO branch_references VALUES (3, 1);
INSERT INTO entities (key, kind, namespace, id, slot, wake_at, head)
VALUES (2, 2, 1, 'nightly', 9, 2000, CAST('schedule head' AS BLOB));
INSERT INTO parts VALUES (2, 32, x'', CAST('config' AS BLOB));
INSERT INTO logs VALUES (2, 1, 1, CAST('audit' AS BLOB));
INSERT INTO tasks VALUES (1, 7, CAST('task' AS BLOB));
INSERT INTO messages VALUES (2, 9, CAST('message' AS BLOB));
INSERT INTO records VALUES (1, 'default', CAST('namespace' AS BLOB));
INSERT INTO visibility
    (run_key, namespace, workflow_id, run_id, workflow_type, task_queue, status, start_time,
     execution_time, root_workflow_id, root_run_id, memo, search_attributes,
     PerennialLabels)
VALUES
    (1, 1, 'order', '0190163d-8694-739b-aea5-966c26f8ad91', 'Order', 'orders', 1, 1000, 1000,
     'order', '0190163d-8694-739b-aea5-966c26f8ad91', x'', x'',
     '["team=billing"]');
UPDATE redo SET in_use = 1, settled = 9;
