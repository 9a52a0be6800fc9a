-- consent
SELECT 1;
