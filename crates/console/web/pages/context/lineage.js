// The lineage of a package: the packages that it continues or that continue it, and their differences.
// Must not know: its presentation.

import { get, query } from '../../core/api.js';
import { changes } from '../../parts/lines.js';

const MEMBERS_MAX = 60;
const CHILDREN_MAX = 20;

/** The packages of a lineage, oldest first. @param {string} project @param {any} one @returns {Promise<any[]>} */
export async function lineageOf(project, one) {
  /** @type {Map<string, any>} */
  const all = new Map([[one.package_id, one]]);
  let root = one;
  while (root.parent_package_id && !all.has(root.parent_package_id) && all.size < MEMBERS_MAX) {
    const parent = await get(`/v1/packages/${encodeURIComponent(root.parent_package_id)}${query({ project })}`).catch(() => undefined);
    if (!parent) break;
    all.set(parent.package_id, (root = parent));
  }
  const open = [...all.keys()];
  for (let id = open.shift(); id && all.size < MEMBERS_MAX; id = open.shift()) {
    const { packages } = await get(`/v1/projects/${encodeURIComponent(project)}/packages${query({ parent: id, limit: CHILDREN_MAX })}`);
    for (const child of packages) if (!all.has(child.package_id)) {
      all.set(child.package_id, child);
      open.push(child.package_id);
    }
  }
  return [...all.values()].sort((a, b) => (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0));
}

const PARTS = [['title', 'Title'], ['status', 'Status'], ['package_type', 'Type'], ['description', 'Description'], ['decisions_made', 'Decisions'], ['open_questions', 'Open questions'], ['handoff_note', 'Handover'], ['tags', 'Tags']];
/** Members that differ between any two packages and are not compared. */
const OWN = new Set(['package_id', 'content_hash', 'created_at', 'parent_package_id', 'project_id', 'score', 'score_kind']);

/** The lines of a member. @param {any} value @returns {string} */
const written = (value) => {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.map((item) => `- ${item}`).join('\n');
  return JSON.stringify(value, null, 2);
};

/** The members that differ, with their lines, and the names of the others. @param {any} before @param {any} after */
export function compare(before, after) {
  const named = new Set(PARTS.map(([name]) => name));
  const rest = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !named.has(name) && !OWN.has(name)).sort();
  const parts = [...PARTS, ...rest.map((name) => [name, name.replaceAll('_', ' ')])].map(([name, title]) => ({ title, from: written(before[name]), to: written(after[name]) }));
  return {
    changed: parts.filter(({ from, to }) => from !== to).map(({ title, from, to }) => ({ title, lines: changes(from, to) })),
    same: parts.filter(({ from, to }) => from === to && from !== '').map(({ title }) => title),
  };
}
