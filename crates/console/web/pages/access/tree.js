// Tokens as a tree: each below the one that it was made with.
// Pure.
// Must not know: how it is shown.

/** The parent of what was made with the agent's own token. */
export const OWN = 'own';

/**
 * @typedef {{id: string, name?: string, scope: string, parent?: string, created_at: number, expires_at?: number, last_used_at?: number,
 *   client?: {id: string, name: string}}} Token
 * @typedef {{token: Token, depth: number, below: number}} TreeRow
 */

/** The tokens of one agent in the order of a tree, with how many end with each. @param {Token[]} tokens @returns {TreeRow[]} */
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

/** The rows that are a client's: each grant, and what is below it. @param {TreeRow[]} rows */
export const grantsIn = (rows) => rows.filter(({ token }) => token.client).map((row) => {
  const at = rows.indexOf(row);
  const under = rows.slice(at + 1, at + 1 + row.below).map(({ token }) => token.last_used_at ?? 0);
  return { ...row, last_used_at: Math.max(0, ...under) || undefined };
});

/** Under which name a token is spoken of. @param {Token} token */
export const nameOf = (token) => token.name || `…${token.id.slice(-6)}`;
