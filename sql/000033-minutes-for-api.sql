-- minutes-for-api
SELECT 1;
