// Parses a time as a person writes it.
// Pure.
// Must not know: the use of the time.

/** Parses a time: `14:02` is the last one, `2026-11-22` the start of that day. @param {string} text @param {number} now */
export const timeIn = (text, now) => {
  const clockTime = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text);
  if (clockTime) {
    const [hours, minutes, seconds] = clockTime.slice(1).map((part) => Number(part ?? 0));
    if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
    const at = new Date(now);
    at.setHours(hours, minutes, seconds, 0);
    // The day before may have 23 or 25 hours.
    return at.getTime() > now ? at.setDate(at.getDate() - 1) : at.getTime();
  }
  const dated = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(Z?))?$/.exec(text);
  const at = dated ? Date.parse(`${dated[1]}T${dated[2] ?? '00:00'}${dated[3] ?? ''}`) : NaN;
  return Number.isNaN(at) ? undefined : at;
};
