-- row-of-800-samples
SELECT 1;
