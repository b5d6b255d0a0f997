// The panel "ring" against ring_steps, link_budget and race, and with real and broken traces.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {launch, open, problemsWith, type} = require('./browser.js');
const {run, tableBelow} = require('./programs.js');

let browser;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-ring-'));
before(async () => { browser = await launch(); });
after(async () => {
  await browser?.close();
  fs.rmSync(folder, {recursive: true});
});

// [rank][chunk]: the digits of ring_steps, with '>' in front of what is new.
const cellsShown = page => page.$$eval('#holdings tbody tr', rows => rows.map(row => [...row.querySelectorAll('.cell')]
    .map(cell => (cell.classList.contains('new') ? '>' : '') + cell.dataset.digits)));

function tablesPrinted(worldSize) {
  const blocks = run('ring_steps', '--world-size', worldSize, '--no-color').split(/\n(?=start:|reduce-scatter, step|all-gather, step)/).slice(1);
  return blocks.map(block => block.split('\n').filter(line => line.startsWith('rank ')).map(line =>
      line.slice('rank 0'.length).match(/>?[0-9.!]+/g)));
}

for (let worldSize = 2; worldSize <= 8; ++worldSize) {
  test(`${worldSize} ranks hold after every step what ring_steps prints`, async () => {
    const {page, complaints, close} = await open(browser, 'ring');
    await type(page, 'ranks', worldSize);
    const expected = tablesPrinted(worldSize);
    assert.equal(expected.length, 2 * (worldSize - 1) + 1);
    for (const [step, table] of expected.entries()) {
      if (step > 0) await page.click('#step');
      assert.deepEqual(await cellsShown(page), table, `after step ${step}`);
    }
    for (const table of expected.slice(0, -1).reverse()) {  // and backwards, where nothing is new at the start
      await page.click('#back');
      assert.deepEqual(await cellsShown(page), table);
    }
    assert.deepEqual(complaints, []);
    await close();
  });
}

const costsShown = page => page.$$eval('#cost-rows tbody tr', rows => rows.map(row =>
    [...row.querySelectorAll('th, td')].slice(0, 8).map(cell => cell.textContent)));

test('costs are those of link_budget', async () => {
  const {page, close} = await open(browser, 'ring');
  for (const [megabytes, gpus, link] of [[100, 4, 'PCIe 3 x16'], [0.01, 8, 'InfiniBand HDR'], [25, 2, 'NVLink 2'],
                                         [1.5, 3, '10 GbE'], [3.125, 5, 'NVSwitch'], [512, 7, 'PCIe 4 x16'], [6.25, 6, '100 GbE']]) {
    await type(page, 'ranks', gpus);
    await type(page, 'bytes', megabytes * 1e6);
    await page.selectOption('#link', link);
    const {rows} = tableBelow(run('link_budget', '--megabytes', megabytes, '--gpus', gpus, '--link', link), 'algorithm');
    assert.equal(rows.length, 4);
    assert.deepEqual((await costsShown(page)).map(row => row.slice(0, 7)), rows, `${megabytes} MB, ${gpus} GPUs, ${link}`);
  }
  await close();
});

test('the size from which the ring is faster is that of race --predict', async () => {
  const {page, close} = await open(browser, 'ring');
  for (const [alphaUs, betaGbS] of [[20, 2], [5.7, 15.75], [3.4, 300], [14, 1.25], [0.5, 0.05]]) {
    await type(page, 'alpha', alphaUs);
    await type(page, 'beta', betaGbS);
    const lines = run('race', '--predict', '--world-sizes', '3,4,5,6,7,8', '--alpha-us', alphaUs, '--beta-gb-s', betaGbS);
    const printed = [...lines.matchAll(/model, (\d) ranks: .* from (\d+) bytes/g)];
    assert.equal(printed.length, 6);
    for (const [, worldSize, bytes] of printed) {
      await type(page, 'ranks', worldSize);
      assert.equal(await page.textContent('#crossover-bytes'), bytes, `alpha ${alphaUs}, beta ${betaGbS}, ${worldSize} ranks`);
    }
  }
  await close();
});

test('times, and the bytes that a rank really sends, are those of race', async () => {
  const {page, close} = await open(browser, 'ring');
  await type(page, 'alpha', 20);
  await type(page, 'beta', 2);
  for (const bytes of [840, 84000]) {  // divisible by 2, 3 and 4 times 4
    const output = run('race', '--world-sizes', '2,3,4', '--bytes', bytes, '--repeat', 1, '--alpha-us', 20, '--beta-gb-s', 2);
    const printed = [...output.matchAll(/^\[rank 0\] (star|mesh|ring) +(\d) +(\d+) +\d+ +(\d+) /gm)];
    assert.equal(printed.length, 9);
    await type(page, 'bytes', bytes);
    for (const [, name, worldSize, sent, us] of printed) {
      await type(page, 'ranks', worldSize);
      const row = (await costsShown(page)).find(([algorithm]) => algorithm === name);
      assert.equal(row[7], us, `${name}, ${worldSize} ranks, ${bytes} bytes`);
      const digits = row[3].split('.')[1]?.length ?? 0;
      assert.equal(row[3], (sent / 1e6).toFixed(digits), `${name}, ${worldSize} ranks, ${bytes} bytes`);
    }
  }
  await close();
});

test('the pictures agree with the table: messages under way, and when each algorithm is done', async () => {
  const {page, close} = await open(browser, 'ring');
  await page.focus('#scrub');
  await page.keyboard.press('PageUp');
  const label = kind => page.getAttribute(`#figure-${kind} svg`, 'aria-label');
  assert.match(await label('ring'), /4 messages under way/);
  assert.match(await label('mesh'), /4 messages under way/);
  await page.keyboard.press('End');
  for (const kind of ['ring', 'star', 'mesh']) assert.match(await label(kind), /done after .* 0 messages under way/);
  const together = Object.fromEntries((await costsShown(page)).map(row => [row[0], row[6]]));
  for (const kind of ['ring', 'star', 'mesh']) assert.ok((await label(kind)).includes(`${together[kind]} ms`), await label(kind));
  await close();
});

test('keyboard alone: sliders, step, back, play', async () => {
  const {page, close} = await open(browser, 'ring');
  await page.focus('#ranks');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.inputValue('#ranks-value'), '5');
  assert.equal((await cellsShown(page)).length, 5);
  await page.focus('#step');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Space');
  assert.match(await page.textContent('#status'), /Reduce-scatter, step 2 of 4 is done/);
  assert.equal(await page.textContent('#live'), await page.textContent('#status'), 'a screen reader hears it');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.match(await page.textContent('#status'), /step 1 of 4 is done/);
  await page.focus('#play');
  await page.keyboard.press('Enter');
  assert.equal(await page.textContent('#play'), 'Pause');
  await page.waitForFunction(() => /step 3 of 4 is done/.test(document.getElementById('status').textContent));
  await page.keyboard.press('Enter');
  assert.equal(await page.textContent('#play'), 'Play');
  await close();
});

test('play moves between the steps where motion is welcome, and only from step to step where it is not', async () => {
  for (const [reducedMotion, moves] of [['no-preference', true], ['reduce', false]]) {
    const {page, close} = await open(browser, 'ring', {reducedMotion});
    const positions = await page.evaluate(() => new Promise(resolve => {
      const seen = new Set(), scrub = document.getElementById('scrub');
      document.getElementById('play').click();
      const timer = setInterval(() => {
        seen.add(scrub.value);
        if (!/step 2 of 3/.test(document.getElementById('status').textContent)) return;
        clearInterval(timer);
        resolve(seen.size);
      }, 20);
    }));
    assert.equal(positions > 4, moves, `${positions} positions`);
    await close();
  }
});

test('a value that is none changes nothing, and is marked', async () => {
  const {page, close} = await open(browser, 'ring');
  await page.fill('#ranks-value', '99');
  assert.equal(await page.getAttribute('#ranks-value', 'aria-invalid'), 'true');
  assert.equal((await cellsShown(page)).length, 4);
  await page.press('#ranks-value', 'Tab');
  assert.equal(await page.inputValue('#ranks-value'), '4');
  await close();
});

const message = page => page.textContent('#trace-message');

for (const [worldSize, bytes] of [[2, 4000], [4, 4 << 20], [5, 12], [8, 1 << 20]]) {
  test(`a real run is replayed: ${worldSize} ranks, ${bytes} bytes`, async () => {
    const out = path.join(folder, `${worldSize}_${bytes}`);
    run('ring_trace', '--world-size', worldSize, '--bytes', bytes, '--out', out);
    const {page, complaints, close} = await open(browser, 'ring');
    await page.setInputFiles('#trace', path.join(out, 'trace.json'));
    await page.waitForFunction(() => document.getElementById('trace-message').textContent !== '');
    assert.match(await message(page), new RegExp(`^1 all-reduce of ${worldSize} ranks\\. Press Play`));
    const chunks = 2 * (worldSize - 1) * worldSize;
    assert.match(await page.textContent('#status'), new RegExp(`0 of ${chunks} chunks`));
    const own = await cellsShown(page);
    assert.equal(own[worldSize - 1][0].replace(/[.>]/g, ''), String(worldSize - 1));
    await page.focus('#scrub');
    await page.keyboard.press('End');
    assert.match(await page.textContent('#status'), new RegExp(`${chunks} of ${chunks} chunks`));
    const everybody = [...Array(worldSize).keys()].join('');
    for (const row of await cellsShown(page)) for (const cell of row) assert.equal(cell.replace('>', ''), everybody);
    assert.equal(await page.locator('#timeline title').count() >= chunks, true);
    await page.click('#trace-leave');
    assert.match(await page.textContent('#status'), /^Start/);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('a replay is accessible and fits a phone', async () => {
  const out = path.join(folder, 'phone');
  run('ring_trace', '--world-size', 8, '--bytes', 4 << 20, '--out', out);
  assert.deepEqual(await problemsWith(browser, 'ring', async page => {
    await page.setInputFiles('#trace', path.join(out, 'trace.json'));
    await page.waitForSelector('#timeline svg');
    await page.click('#step');
  }), []);
});

test('files of the ranks, one by one, are as good as the joined file; one alone is refused', async () => {
  const out = path.join(folder, 'apart');
  run('ring_trace', '--world-size', 3, '--bytes', 3000, '--out', out);
  const {page, close} = await open(browser, 'ring');
  const files = [2, 0, 1].map(rank => path.join(out, `trace_rank${rank}.json`));
  await page.setInputFiles('#trace', files);
  await page.waitForFunction(() => document.getElementById('trace-message').textContent !== '');
  assert.match(await message(page), /1 all-reduce of 3 ranks/);
  await page.setInputFiles('#trace', [files[0]]);
  await page.waitForFunction(() => document.getElementById('trace-message').className.includes('error'));
  assert.match(await message(page), /2 to 8 ranks; these files have 1\. Choose all files/);
  await close();
});

test('broken files give a sentence that says what is wrong, and leave the panel as it is', async () => {
  const out = path.join(folder, 'broken');
  run('ring_trace', '--world-size', 2, '--bytes', 64, '--out', out);
  const good = fs.readFileSync(path.join(out, 'trace.json'), 'utf8');
  const without = change => { const file = JSON.parse(good); change(file); return JSON.stringify(file); };
  const cases = [
    ['', /cannot be used: the file is empty/],
    [good.slice(0, good.length / 2), /not JSON, or it was cut off/],
    ['{"a": 1}', /no list "traceEvents"/],
    ['{"traceEvents": []}', /another program wrote it/],
    ['null', /no list "traceEvents"/],
    [without(file => { file.traceEvents = []; }), /nothing was recorded/],
    [without(file => { file.traceEvents.forEach(event => { event.tid = 9; }); }), /is on lane 9/],
    [without(file => { file.traceEvents.forEach(event => { event.pid = 7; }); }), /belongs to rank 7/],
    [without(file => { delete file.traceEvents.find(event => event.ph === 'X').args; }), /no begin_ns/],
    [without(file => { file.lockstep[1] = file.lockstep[0]; }), /belongs to rank 1|in two files/],
    [without(file => { file.traceEvents = file.traceEvents.filter(event => !/send 32/.test(event.name) || event.pid === 1); }),
     /messages in all_reduce .* are not those of a ring/],
  ];
  const file = path.join(folder, 'broken.json');
  const {page, complaints, close} = await open(browser, 'ring');
  const before = await page.textContent('#status');
  for (const [text, pattern] of cases) {
    fs.writeFileSync(file, text);
    await page.setInputFiles('#trace', []);  // or the browser sees no change
    await page.setInputFiles('#trace', file);
    await page.waitForFunction(() => document.getElementById('trace-message').className.includes('error'));
    assert.match(await message(page), pattern);
    assert.equal(await page.textContent('#status'), before);
    await page.evaluate(() => { document.getElementById('trace-message').className = ''; });
  }
  assert.deepEqual(complaints, []);
  await close();
});
