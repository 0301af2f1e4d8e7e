-- additive
-- The address with which the device last solved a challenge: at another one it has proved nothing.

ALTER TABLE devices ADD COLUMN proven BIGINT;
