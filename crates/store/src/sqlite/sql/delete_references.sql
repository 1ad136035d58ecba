DELETE FROM branch_references WHERE run_key = ?1 RETURNING branch
