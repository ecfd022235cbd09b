// The pages in the order of the navigation, each with the key that follows `g`.
// Must not know: their content.

/** @type {{name: string, title: string, key: string, group: number, phone?: boolean, load: () => Promise<any>}[]} */
export const PAGES = [
  { name: 'now', title: 'Now', key: 'n', group: 1, phone: true, load: () => import('./now/page.js') },
  { name: 'inbox', title: 'Inbox', key: 'i', group: 1, phone: true, load: () => import('./inbox/page.js') },
  { name: 'conversations', title: 'Conversations', key: 'c', group: 1, phone: true, load: () => import('./conversations/page.js') },
  { name: 'agents', title: 'Agents', key: 'a', group: 1, phone: true, load: () => import('./agents/page.js') },
  { name: 'timeline', title: 'Timeline', key: 't', group: 2, load: () => import('./timeline/page.js') },
  { name: 'runs', title: 'Runs', key: 'r', group: 2, load: () => import('./runs/page.js') },
  { name: 'context', title: 'Context', key: 'x', group: 2, load: () => import('./context/page.js') },
  { name: 'channels', title: 'Channels', key: 'h', group: 2, load: () => import('./channels/page.js') },
  { name: 'map', title: 'Map', key: 'm', group: 3, load: () => import('./map/page.js') },
  { name: 'health', title: 'Health', key: 'e', group: 3, load: () => import('./health/page.js') },
  { name: 'access', title: 'Access', key: 's', group: 3, load: () => import('./access/page.js') },
  { name: 'audit', title: 'Audit', key: 'u', group: 3, load: () => import('./audit/page.js') },
];
