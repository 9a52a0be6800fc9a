-- spo2-calibration
SELECT 1;
