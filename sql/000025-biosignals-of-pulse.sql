-- biosignals-of-pulse
SELECT 1;
