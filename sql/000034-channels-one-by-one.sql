-- channels-one-by-one
SELECT 1;
