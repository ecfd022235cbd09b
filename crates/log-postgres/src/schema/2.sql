-- Version 2: signals between processes. Frozen: a change of the schema is a file of its own.
-- Nothing of it is worth a flush. What a crash of the server empties begins again above the clock.

-- A counter's last number, and how many the last transaction took.
CREATE UNLOGGED TABLE signal_counters (
    name  text COLLATE "C" PRIMARY KEY,
    last  bigint NOT NULL,
    taken bigint NOT NULL
) WITH (fillfactor = 50);

-- The processes that listen, each under the number that it drew when it began to, until when it is taken to be alive.
CREATE UNLOGGED TABLE signal_processes (
    id          bigint PRIMARY KEY,
    alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE SEQUENCE signal_process_ids;
