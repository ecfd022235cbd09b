-- Version 7: the index of everything that is no package, with tables of its own so that neither index waits for the other.
-- Frozen: a change of the schema is a file of its own. It is made from the log and can be made again.
CREATE TABLE everything_state (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    form      integer NOT NULL,
    cursor    bigint NOT NULL CHECK (cursor >= 0),
    documents bigint NOT NULL CHECK (documents >= 0)
) WITH (fillfactor = 10);
INSERT INTO everything_state (form, cursor, documents) VALUES (0, 0, 0);

CREATE TABLE everything_projects (
    project   text COLLATE "C" PRIMARY KEY,
    documents bigint NOT NULL,
    length    bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE everything_documents (
    id            text COLLATE "C" PRIMARY KEY,
    project       text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    is_draft      boolean NOT NULL,
    length        bigint NOT NULL,
    words         tsvector NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE everything_documents ALTER COLUMN words SET STORAGE MAIN;
CREATE INDEX everything_words ON everything_documents USING gin (words) WITH (gin_pending_list_limit = 512);
CREATE INDEX everything_of_project ON everything_documents (project);
