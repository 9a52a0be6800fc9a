-- public-keys-rotate
SELECT 1;
