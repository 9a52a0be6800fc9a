-- public-key-use
SELECT 1;
