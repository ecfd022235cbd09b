-- Version 4: vectors. Frozen: a change of the schema is a file of its own.
-- They are made from the log by a model and can be made again, so nothing of them is waited for on disk.

CREATE SEQUENCE vector_generations;

-- The models that there are vectors of: how far in the log these are, and the place of the last one that was put. What
-- was emptied has another generation.
CREATE TABLE vector_models (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text COLLATE "C" NOT NULL UNIQUE,
    generation bigint NOT NULL DEFAULT nextval('vector_generations'),
    place      bigint NOT NULL DEFAULT 0 CHECK (place >= 0),
    cursor     bigint NOT NULL DEFAULT 0 CHECK (cursor >= 0)
) WITH (fillfactor = 10);

-- The vectors of a document, as the index by meaning writes them.
CREATE TABLE vectors (
    model  integer NOT NULL REFERENCES vector_models (id) ON DELETE CASCADE,
    id     text COLLATE "C" NOT NULL,
    place  bigint NOT NULL,
    octets bytea NOT NULL,
    PRIMARY KEY (model, id)
);
ALTER TABLE vectors ALTER COLUMN octets SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX vectors_by_place ON vectors (model, place);
