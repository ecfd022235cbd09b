-- Version 6: what each account uses. Frozen: a change of the schema is a file of its own.
-- Rows change in the transaction of what they count. A process of an older release that is still connected counts nothing.
CREATE TABLE usage (
    account text COLLATE "C" PRIMARY KEY,
    bytes   bigint NOT NULL,
    events  bigint NOT NULL
) WITH (fillfactor = 50);
