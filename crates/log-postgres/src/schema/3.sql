-- Version 3: the search index. Frozen: a change of the schema is a file of its own.
-- It is made from the log and can be made again, so nothing of it is waited for on disk.

-- How far the index is, and the form of its words; of another form it is emptied.
CREATE TABLE search_state (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    form      integer NOT NULL,
    cursor    bigint NOT NULL CHECK (cursor >= 0),
    documents bigint NOT NULL CHECK (documents >= 0)
) WITH (fillfactor = 10);
INSERT INTO search_state (form, cursor, documents) VALUES (0, 0, 0);

-- How many documents a project has, and how long they are together.
CREATE TABLE search_projects (
    project   text COLLATE "C" PRIMARY KEY,
    documents bigint NOT NULL,
    length    bigint NOT NULL
) WITH (fillfactor = 50);

-- Words are ours, not the server's: no text search configuration has a part in them.
CREATE TABLE search_documents (
    id            text COLLATE "C" PRIMARY KEY,
    project       text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    is_draft      boolean NOT NULL,
    length        bigint NOT NULL,
    words         tsvector NOT NULL
) WITH (toast_tuple_target = 8160);
-- Ranking reads the words of every document that has one of them.
ALTER TABLE search_documents ALTER COLUMN words SET STORAGE MAIN;
CREATE INDEX search_words ON search_documents USING gin (words) WITH (gin_pending_list_limit = 512);
CREATE INDEX search_of_project ON search_documents (project);
