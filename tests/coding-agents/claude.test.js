// Claude Code as it is installed, against a real server: what reaches its model, and what it asks its person.
// Must not know: how hooks answer.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BINARY, House, until } from './house.js';
import { last, sceneOf } from './scene.js';
import { times } from './model.js';
import { claude } from './claude.js';

const scene = (/** @type {(scene: any) => Promise<void>} */ play, /** @type {string[]} */ ...more) => sceneOf('claude', play, ...more);

test('a session knows who it is, is told at its prompt, and answers unasked', () => scene(async ({ house, model, directory, me, bob }) => {
  const sent = await bob.send(me, 'Word-At-Prompt');
  const session = claude(house, model, directory);
  model.plans({ call: 'send', with: { session_id: sent.session, text: 'Answer-One' } }, { say: 'Sent.' });
  const result = await session.prompt('Go on');
  assert.equal(result.is_error, false, JSON.stringify(result));
  assert.deepEqual(session.asked, [], 'it asks for no click');
  assert.equal(times(last(model), `This session is the agent ${me}`), 1);
  assert.match(last(model), /tool `send`, not by a tool of your own such as SendMessage/);
  assert.equal(times(model.conversation()[0].text, 'Word-At-Prompt'), 1, 'before the model said anything');
  assert.equal(times(last(model), 'Word-At-Prompt'), 1);
  await bob.gets('Answer-One');
  assert.ok(model.conversation()[0].tools.includes('mcp__plenary__inbox'), 'loaded at once');
  await session.close();
}));

test('every core tool is called unasked', () => scene(async ({ house, model, directory }) => {
  const allowed = JSON.parse(readFileSync(join(directory, '.claude/settings.local.json'), 'utf8')).permissions.allow;
  assert.equal(allowed.length, 12);
  const session = claude(house, model, directory);
  const tools = allowed.map((/** @type {string} */ rule) => rule.replace('mcp__plenary__', ''));
  const deferred = tools.filter((/** @type {string} */ tool) => !['send', 'inbox'].includes(tool));
  model.plans({ call: 'ToolSearch', with: { query: `select:${deferred.map((/** @type {string} */ tool) => `mcp__plenary__${tool}`).join(',')}`, max_results: 20 } });
  // What an argument that does not fit is refused with is the server's own word.
  for (const tool of tools) model.plans({ call: tool, with: { unknown_argument: 1 } });
  await session.prompt('Try them all');
  assert.deepEqual(session.asked, []);
  assert.equal(times(last(model), 'invalid_arguments'), tools.length, 'each was called, and answered by the server');
  await session.close();
}));

test('with --ask its own question stays', () => scene(async ({ house, model, directory, bob }) => {
  assert.equal(JSON.parse(readFileSync(join(directory, '.claude/settings.local.json'), 'utf8')).permissions, undefined);
  const session = claude(house, model, directory);
  model.plans({ call: 'send', with: { to: [bob.handle], text: 'Never' } });
  await session.prompt('Go on');
  assert.deepEqual(session.asked, ['mcp__plenary__send']);
  await session.close();
}, '--ask'));

test('what arrives during a turn comes after a tool, and what arrives last continues the turn once', () => scene(async ({ house, model, directory, me, bob }) => {
  const session = claude(house, model, directory);
  let late;
  model.plans({ call: 'Read', with: { file_path: join(directory, '.mcp.json') }, before: () => bob.send(me, 'Word-After-Tool') });
  model.plans({ say: 'Nearly done.', before: async () => { late = await bob.send(me, 'Word-At-Stop'); } });
  const result = await session.prompt('Work');
  assert.equal(result.is_error, false);
  const requests = model.conversation();
  assert.equal(requests.length, 3, 'the turn went on once');
  assert.equal(times(requests[1].text, 'Word-After-Tool'), 1);
  assert.equal(times(requests[1].text, 'Word-At-Stop'), 0);
  assert.equal(times(requests[2].text, 'Word-After-Tool'), 1);
  assert.equal(times(requests[2].text, 'Word-At-Stop'), 1);
  assert.doesNotMatch(requests[2].text, /blocking error|hook feedback/i, 'it is context, and no objection');
  await session.prompt('And now?');
  assert.equal(times(last(model), 'Word-At-Stop'), 1, 'and not a second time');
  assert.equal(await bob.state(late, me), 'in_context');
  await session.close();
}));

test('an answer that its shell showed does not come a second time, and one that it did not show comes', () => scene(async ({ house, model, directory, me, bob }) => {
  const session = claude(house, model, directory, { args: ['--allowedTools', 'Bash'] });
  const answers = async (/** @type {string} */ question, /** @type {string} */ answer) => {
    await bob.gets(question);
    await house.plenary(house.directory('peer-bob'), 'reply', answer, '--as', bob.handle);
  };
  for (const [question, answer, into] of [['Which port?', 'Port-Of-Parser', ''], ['Which host?', 'Host-Of-Parser', ' > answer.txt']]) {
    const command = `${BINARY} ask ${bob.handle} '${question}' --wait 60${into}`;
    model.plans({ call: 'Bash', with: { command, description: 'Asks' } });
    const [result] = await Promise.all([session.prompt('Ask'), answers(question, answer)]);
    assert.equal(result.is_error, false, JSON.stringify(result));
    assert.equal(times(last(model), answer), 1, last(model).slice(-2000));
    const items = JSON.parse(await house.plenary(directory, 'inbox', '--as', me, '--json')).items;
    assert.equal(items.length, 0, 'each is in context');
  }
  await session.prompt('And now?');
  assert.equal(times(last(model), 'Port-Of-Parser'), 1, 'and not a second time');
  await session.close();
}));

test('a session that waits is woken, from its start on, and a waking is no word of its person', () => scene(async ({ house, model, directory, me, bob }) => {
  const session = claude(house, model, directory);
  // Whoever drives it has to say something before it runs hooks; a control request is no prompt.
  session.lines.say({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize' } });
  await session.lines.hears((/** @type {any} */ message) => message.subtype === 'hook_response' && message.hook_event === 'SessionStart');
  await until(() => house.processes('hook Wait').length > 0, 'a process waits for news');
  for (const n of [1, 2, 3]) {
    const from = session.lines.seen.length;
    const sent = await bob.send(me, `Wake-${n}-`);
    await session.turn(from);
    assert.equal(times(last(model), `Wake-${n}-`), 1, last(model).slice(-2000));
    assert.match(last(model), /<summary>Messages from the Plenary network<\/summary>/);
    assert.doesNotMatch(last(model), /hook feedback|blocking error/i);
    await until(async () => (await bob.state(sent, me)) === 'in_context', 'it is in context');
  }
  assert.equal(house.kept(me)[`wakings ${session.id()}`], 3, 'they count, since nobody spoke');
  await session.prompt('I am here');
  assert.equal(house.kept(me)[`wakings ${session.id()}`], undefined, 'somebody spoke');
  // It is not closed: it would wait for the process that waits, for half a minute.
}, '--wake'));

test('a server that is killed is told once, its tools fail soon, and all goes on when it is back', () => scene(async ({ house, model, directory, me, bob }) => {
  const session = claude(house, model, directory);
  await session.prompt('Begin');
  await house.kill();
  model.plans({ call: 'send', with: { to: [bob.handle], text: 'Lost' } });
  const began = Date.now();
  await session.prompt('Are you there?');
  assert.ok(Date.now() - began < 10_000);
  const calls = model.conversation();
  assert.ok(calls.at(-1).at - calls.at(-2).at < 4_000, 'the call fails soon');
  assert.match(last(model), /plenary serve/, 'and says what to do');
  const told = () => session.lines.seen.filter((/** @type {any} */ message) => message.subtype === 'hook_response' && /no server answers/.test(message.stdout ?? ''));
  assert.equal(told().length, 1, 'once a session');
  assert.equal(times(last(model), 'no server answers'), 0, 'the person is told, not the model');
  await house.serve();
  const sent = await bob.send(me, 'After-The-Restart');
  model.plans({ call: 'send', with: { session_id: sent.session, text: 'Back-Again' } });
  await session.prompt('And now?');
  assert.equal(times(last(model), 'After-The-Restart'), 1);
  await bob.gets('Back-Again');
  assert.deepEqual(session.asked, []);
  await session.close();
}));

test('of two sessions in one directory one is told', () => scene(async ({ house, model, directory, me, bob }) => {
  const [one, two] = [claude(house, model, directory), claude(house, model, directory)];
  await one.prompt('Session-One begins');
  await two.prompt('Session-Two begins');
  await bob.send(me, 'For-One-Of-Them');
  await one.prompt('Go on');
  await two.prompt('Go on');
  const seen = (/** @type {string} */ name) => times(model.conversation().filter((/** @type {any} */ request) => request.text.includes(name)).at(-1).text, 'For-One-Of-Them');
  assert.deepEqual([seen('Session-One'), seen('Session-Two')], [1, 0]);
  await one.close();
  await two.close();
}));

test('what was opened and closed was not seen', () => scene(async ({ house, model, directory, me, bob }) => {
  const sent = await bob.send(me, 'Not-Yet-Seen');
  const first = claude(house, model, directory);
  first.lines.say({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize' } });
  await first.lines.hears((/** @type {any} */ message) => message.subtype === 'hook_response' && /Not-Yet-Seen/.test(message.stdout));
  assert.equal(model.conversation().length, 0);
  await first.close();
  assert.notEqual(await bob.state(sent, me), 'in_context');
  const second = claude(house, model, directory);
  await second.prompt('Hello');
  assert.equal(times(last(model), 'Not-Yet-Seen'), 1);
  await until(async () => (await bob.state(sent, me)) === 'in_context', 'it is in context');
  await second.close();
}));

test('what it writes into our settings stays at a second connect, and disconnect is exact', async () => {
  const house = await House.begin();
  try {
    const directory = house.directory('work');
    const theirs = '{\n\t"permissions": {"allow": ["Bash(ls:*)", "mcp__plenary__send"]},\n\t"model": "opus"\n}\n';
    house.write(join(directory, '.claude/settings.local.json'), theirs);
    const before = house.files(directory);
    await house.connect('claude', directory);
    const path = join(directory, '.claude/settings.local.json');
    // As "Always allow" writes it.
    const settings = JSON.parse(readFileSync(path, 'utf8'));
    settings.permissions.allow.push('mcp__plenary__agent_send');
    writeFileSync(path, JSON.stringify(settings, null, 2));
    await house.connect('claude', directory, '--wake');
    const allowed = JSON.parse(readFileSync(path, 'utf8')).permissions.allow;
    assert.ok(allowed.includes('mcp__plenary__agent_send') && allowed.includes('mcp__plenary__inbox'));
    await house.plenary(directory, 'disconnect', 'claude');
    const left = JSON.parse(readFileSync(path, 'utf8'));
    assert.deepEqual(left, { permissions: { allow: ['Bash(ls:*)', 'mcp__plenary__send', 'mcp__plenary__agent_send'] }, model: 'opus' });
    writeFileSync(path, theirs);
    await house.connect('claude', directory);
    await house.plenary(directory, 'disconnect', 'claude');
    assert.deepEqual(house.files(directory), before);
  } finally {
    await house.end();
  }
});
