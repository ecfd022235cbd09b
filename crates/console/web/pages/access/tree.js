// Tokens as a tree: each below the token that created it.
// Pure.
// Must not know: its presentation.

/** The parent of tokens that the agent's own token created. */
export const OWN = 'own';

/**
 * @typedef {{id: string, name?: string, scope: string, parent?: string, created_at: number, expires_at?: number, last_used_at?: number,
 *   client?: {id: string, name: string}}} Token
 * @typedef {{token: Token, depth: number, below: number}} TreeRow
 */

/**
 * The tokens of one agent in tree order, each with the number of its descendants, which end with it.
 * @param {Token[]} tokens
 * @returns {TreeRow[]}
 */
export function treeOf(tokens) {
  const known = new Set(tokens.map(({ id }) => id));
  /** @type {Map<string, Token[]>} */
  const below = new Map();
  for (const token of tokens) {
    const parent = token.parent !== undefined && known.has(token.parent) ? token.parent : '';
    below.set(parent, [...(below.get(parent) ?? []), token]);
  }
  /** @param {string} id @param {number} depth @returns {TreeRow[]} */
  const rows = (id, depth) =>
    (below.get(id) ?? []).flatMap((token) => {
      const under = rows(token.id, depth + 1);
      return [{ token, depth, below: under.length }, ...under];
    });
  return rows('', 0);
}

/** The rows of clients: each grant, and the tokens below it. @param {TreeRow[]} rows */
export const grantsIn = (rows) => rows.filter(({ token }) => token.client).map((row) => {
  const at = rows.indexOf(row);
  const under = rows.slice(at + 1, at + 1 + row.below).map(({ token }) => token.last_used_at ?? 0);
  return { ...row, last_used_at: Math.max(0, ...under) || undefined };
});

/** The display name of a token. @param {Token} token */
export const nameOf = (token) => token.name || `…${token.id.slice(-6)}`;
