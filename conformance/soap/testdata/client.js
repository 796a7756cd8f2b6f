// Calls every operation of the service for pages with npm's soap.
// Usage: client.js URL. Ends with status 0 when everything was as it should be.
const assert = require('node:assert/strict');
const { createClientAsync } = require('soap');

const [url] = process.argv.slice(2);
const wsdl = `${url}/v1/PageService?wsdl`;
const same = assert.deepEqual;
const options = { preserveWhitespace: true, handleNilAsNull: true }; // else it trims texts, and leaves nil out

async function refused(code, faultcode, path, call) {
  const error = await call().then((result) => assert.fail(`want ${code}, got ${JSON.stringify(result)}`), (e) => e);
  const fault = error.root?.Envelope.Body.Fault;
  if (!fault) throw error;
  const detail = (fault.detail ?? fault.Detail).ServiceFault;
  same([detail.code, detail.path], [code, path]);
  const got = fault.faultcode ?? fault.Code.Value;
  same((got.$value ?? got).split(':').pop(), faultcode, code);
  same(error.response.status, 500);
}

async function walk(client, twelve) {
  const call = async (operation, args = {}) => (await client[`${operation}Async`](args))[0].result;
  const title = 'Älice <&> "\u{1f600}" \u4e2d ]]>';

  const info = await call('GetServiceInfo');
  same([info.service, info.version], ['PageService', 'v1']);
  assert(Math.abs(info.time - Date.now()) < 60_000, `time ${info.time}`);

  // Everything there is, in and out.
  const input = {
    title, subtitle: '', mood: 'LOUD', rank: -5, score: 1.5e-7, live: false, due: '2026-11-20T10:00:00.5+02:00', on: '2026-11-20',
    tags: { item: ['a', '', 'ü'] }, hero: { video: { url: 'https://example.com/v', seconds: 12.5 } },
    blocks: { item: [{ text: { body: ' kept \n as it is ' } }, { quote: { body: 'q', on: '2026-01-02' } }] },
    grid: { item: [{ item: [1, 2] }, { item: [3] }] }, extra: '{"a":[1,null]}',
  };
  const page = await call('CreatePage', { input });
  for (const got of [page, await call('GetPage', { id: page.id })]) {
    same([got.title, got.mood, got.rank, got.score, got.live, got.extra], [title, 'LOUD', -5, 1.5e-7, false, '{"a":[1,null]}']);
    same(got.due.toISOString(), '2026-11-20T08:00:00.500Z');
    same(got.tags.item.length, 3);
    same(got.hero, { video: { url: 'https://example.com/v', seconds: 12.5 } });
    same(got.blocks.item[0].text.body, ' kept \n as it is ');
    same([got.blocks.item[1].quote.body, got.blocks.item[1].quote.source], ['q', null]);
    same(got.grid.item.map((row) => [row.item].flat()), [[1, 2], [3]]);
    same([got.secret, got.createdAt instanceof Date], [null, true]);
  }

  // Nothing that need not be there.
  const bare = await call('CreatePage', { input: { title: 'Bare' } });
  same([bare.subtitle, bare.mood, bare.rank, bare.score, bare.live, bare.due, bare.on, bare.extra], [null, 'CALM', null, null, null, null, null, null]);
  same([bare.hero, bare.blocks, bare.grid, bare.tags], [undefined, undefined, undefined, null]);

  // Nil leaves a field as it is; its name in fieldsToNull clears it.
  const changed = await call('UpdatePage', { input: { id: page.id, rank: null, title: null, fieldsToNull: { item: ['score', 'hero'] } } });
  same([changed.rank, changed.title, changed.score, changed.hero], [-5, title, null, undefined]);

  const list = await call('ListPages', { first: 1 });
  same([list.pageInfo.hasNextPage, list.totalCount], [true, 2]);
  const next = await call('ListPages', { first: null, after: list.pageInfo.endCursor });
  same([next.nodes.item.length ?? 1, next.pageInfo.hasNextPage], [1, false]);

  const batch = await call('CreatePages', { inputs: { item: [{ clientRef: 'a', title: 'One' }, { clientRef: 'b', title: 'x'.repeat(201) }] } });
  same(batch.item.map((i) => [i.index, i.success, i.clientRef]), [[0, true, 'a'], [1, false, 'b']]);
  same(batch.item[1].error.code, 'BAD_USER_INPUT');

  const start = await call('PullPageChanges');
  await call('UpdatePage', { input: { id: bare.id, title: 'Changed' } });
  const pulled = await call('PullPageChanges', { cursor: start.cursor });
  const events = [pulled.events.item].flat();
  same(events.map((e) => [e.kind, e.page.title]), [['UPDATED', 'Changed']]);

  const client4 = twelve ? 'Sender' : 'Client';
  await refused('NOT_FOUND', client4, undefined, () => call('GetPage', { id: 'nobody' }));
  await refused('BAD_USER_INPUT', client4, 'input.title', () => call('CreatePage', { input: { title: 'x'.repeat(201) } }));
  await refused('BAD_USER_INPUT', client4, 'input.mood', () => call('CreatePage', { input: { title: 'x', mood: 'SAD' } }));

  for (const id of [page.id, bare.id, batch.item[0].page.id]) same((await call('DeletePage', { input: { id } })).id, id);
  same((await call('ListPages')).totalCount, 0);
}

// Every operation of the WSDL is there, and answers, or refuses with the typed fault.
async function every(client) {
  const port = Object.values(Object.values(client.describe())[0])[0];
  for (const [operation, { input }] of Object.entries(port)) {
    const args = Object.fromEntries(Object.entries(input ?? {}).filter(([, type]) => typeof type === 'string' && type.startsWith('xs')).map(([name, type]) => [name, type.endsWith('int') ? 1 : 'x']));
    await client[`${operation}Async`](args).catch((error) => {
      const fault = error.root?.Envelope.Body.Fault;
      if (!fault?.detail?.ServiceFault?.code && !fault?.Detail?.ServiceFault?.code) throw error;
    });
  }
  return Object.keys(port).length;
}

(async () => {
  const eleven = await createClientAsync(wsdl, options);
  await walk(eleven, false);
  const operations = await every(eleven);
  const twelve = await createClientAsync(`${wsdl}&soap=1.2`, { ...options, forceSoap12Headers: true });
  await walk(twelve, true);
  const packed = await createClientAsync(wsdl, { ...options, forceGzip: true });
  await walk(packed, false);
  console.log('npm soap', require('soap/package.json').version, 'made every call of', operations, 'operations');
})().catch((error) => {
  console.error(error.root ? JSON.stringify(error.root) : error);
  process.exit(1);
});
