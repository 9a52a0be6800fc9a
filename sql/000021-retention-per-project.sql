-- retention-per-project
SELECT 1;
