-- minutes-of-continuous
SELECT 1;
