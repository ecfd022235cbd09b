-- Version 1. Frozen: a change of the schema is a file of its own.
-- Text is kept in byte order everywhere, so that a prefix is a range.

-- Where the log ends. Whoever appends holds this one row locked until its commit: position order is commit order.
CREATE TABLE head (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    last    bigint NOT NULL CHECK (last >= 0),
    streams bigint NOT NULL CHECK (streams >= 0)
) WITH (fillfactor = 10);
INSERT INTO head (last, streams) VALUES (0, 0);

-- A stream's version is that of its last event; kept nowhere else, it can't drift.
CREATE TABLE streams (
    id   bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE events (
    position bigint PRIMARY KEY,
    stream   bigint NOT NULL,
    version  bigint NOT NULL,
    kind     text COLLATE "C" NOT NULL,
    form     integer NOT NULL,
    at       bigint NOT NULL,
    envelope bytea NOT NULL,
    payload  bytea NOT NULL,
    UNIQUE (stream, version)
);

CREATE TABLE idx (
    name  text COLLATE "C" NOT NULL,
    key   text COLLATE "C" NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (name, key)
);

CREATE TABLE rows (
    name     text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL,
    value    bytea NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE keys (
    scope   text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    digest  bytea NOT NULL,
    outcome bytea NOT NULL,
    PRIMARY KEY (scope, key)
);

-- The log is only ever appended to.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the log is append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON head
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
