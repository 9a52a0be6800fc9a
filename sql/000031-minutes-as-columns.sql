-- minutes-as-columns
SELECT 1;
