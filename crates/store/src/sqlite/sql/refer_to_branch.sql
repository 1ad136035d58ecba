INSERT INTO branch_references (run_key, branch) VALUES (?1, ?2) ON CONFLICT DO NOTHING
