-- episodes-of-device-events
SELECT 1;
