-- The routing table. An EUI is stored as the signed number with the same 64 bits,
-- an address as a number from 0 to 2^32 - 1, a moment as microseconds since the epoch.

CREATE TABLE devices (
    dev_eui   BIGINT PRIMARY KEY,
    customer  TEXT   NOT NULL,
    join_eui  BIGINT,
    active    BIGINT,
    target    BIGINT,
    details   TEXT,
    created   BIGINT NOT NULL,
    suspended BIGINT NOT NULL DEFAULT 0, -- 1: nothing is delivered
    trust     BIGINT NOT NULL DEFAULT 0  -- size of the MIC challenge; 0: none saved
);

CREATE INDEX devices_by_customer ON devices (customer, created, dev_eui);
CREATE INDEX devices_by_active ON devices (active);
CREATE INDEX devices_by_target ON devices (target);

CREATE TABLE multicast_groups (
    customer TEXT   NOT NULL,
    addr     BIGINT NOT NULL,
    name     TEXT   NOT NULL,
    created  BIGINT NOT NULL,
    PRIMARY KEY (customer, addr)
);

CREATE TABLE multicast_devices (
    customer TEXT   NOT NULL,
    addr     BIGINT NOT NULL,
    dev_eui  BIGINT NOT NULL REFERENCES devices ON DELETE CASCADE,
    PRIMARY KEY (customer, addr, dev_eui),
    FOREIGN KEY (customer, addr) REFERENCES multicast_groups ON UPDATE CASCADE ON DELETE CASCADE
);

CREATE INDEX multicast_devices_by_device ON multicast_devices (dev_eui);
