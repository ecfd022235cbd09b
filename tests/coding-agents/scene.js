// What every flow begins with: a house, a scripted model, one connected directory, and somebody who writes to it.
// Must not know: any one coding agent.

import assert from 'node:assert/strict';
import { House } from './house.js';
import { startModel } from './model.js';

/** @param {string} coding @param {(scene: any) => Promise<void>} play @param {string[]} more arguments of `connect` */
export async function sceneOf(coding, play, ...more) {
  const house = await House.begin();
  const model = await startModel();
  try {
    const directory = house.directory('work');
    const me = await house.connect(coding, directory, ...more);
    const bob = await house.peer('bob');
    await play({ house, model, directory, me, bob });
    assert.deepEqual(model.errors, []);
  } finally {
    await house.end();
    model.close();
  }
}

/** What the model had before it when it was asked last. @param {any} model */
export const last = (model) => model.conversation().at(-1)?.text ?? '';

/** The names of the tools that a daily session has. */
export const CORE = ['ask', 'channel', 'deposit', 'hand_over', 'inbox', 'lock', 'note_fact', 'read', 'recall', 'run_agent', 'send', 'whoami'];
