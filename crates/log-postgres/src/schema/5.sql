-- Version 5: checksums. Frozen: a change of the schema is a file of its own.
-- Null for what is older: it is read unchecked. See plenary_log::Digest.
ALTER TABLE events ADD COLUMN sum integer;
ALTER TABLE keys ADD COLUMN sum integer;
ALTER TABLE idx ADD COLUMN sum integer;
ALTER TABLE rows ADD COLUMN sum integer;

-- A process of an older release that is still connected changes a value and leaves the checksum as it was.
CREATE FUNCTION forget_sum() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.sum := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER forget_sum BEFORE UPDATE ON idx FOR EACH ROW
    WHEN (NEW.sum = OLD.sum AND NEW.value <> OLD.value) EXECUTE FUNCTION forget_sum();
CREATE TRIGGER forget_sum BEFORE UPDATE ON rows FOR EACH ROW
    WHEN (NEW.sum = OLD.sum AND (NEW.revision <> OLD.revision OR NEW.value <> OLD.value))
    EXECUTE FUNCTION forget_sum();

-- The log is only ever appended to; a checksum may be added to what has none.
DROP TRIGGER append_only ON events;
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE
    OR UPDATE OF position, stream, version, kind, form, at, envelope, payload ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
