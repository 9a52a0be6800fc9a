-- roles-in-use
SELECT 1;
