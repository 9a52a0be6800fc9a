-- samples-of-longer-rows
SELECT 1;
