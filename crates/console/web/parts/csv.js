// Rows as CSV (RFC 4180).
// Pure.
// Must not know: the content of the rows.

/** A spreadsheet treats a cell that begins like this as a formula; an apostrophe marks it as text. */
const FORMULA = /^[=+\-@\t\r]/;

/** @param {any} value */
const cell = (value) => {
  const text = value === null || value === undefined ? '' : String(value);
  const plain = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
};

/** @param {string[]} names @param {Record<string, any>[]} rows */
export const csv = (names, rows) => [names, ...rows.map((row) => names.map((name) => row[name]))].map((cells) => cells.map(cell).join(',') + '\r\n').join('');
