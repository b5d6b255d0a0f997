// The panel "ring" against ring_steps, link_budget, race and collective_traffic, and with real and broken traces.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {launch, open, panelFolder, problemsWith} = require('./browser.js');
const {set} = require('./controls.js');
const {run, tableBelow} = require('./programs.js');
const [model, geometry, numbers] = ['collective_model', 'ring_geometry', 'numbers'].map(name => require(path.join(panelFolder, `${name}.js`)));

const kMiB = 2 ** 20, kWorldSizes = [2, 3, 4, 5, 6, 7, 8];
let browser;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockstep-ring-'));
before(async () => { browser = await launch(); });
after(async () => {
  await browser?.close();
  fs.rmSync(folder, {recursive: true});
});

// [rank][chunk]: the digits of ring_steps, with '>' in front of what is new. First a button is pressed, again and again; then
// there is a table for each time.
const tablesShown = (page, button, times) => page.evaluate(([id, count]) => [...Array(count)].map(() => {
  document.getElementById(id)?.click();
  return [...document.querySelectorAll('#holdings tbody tr')].map(row => [...row.querySelectorAll('.cell')]
      .map(cell => (cell.classList.contains('new') ? '>' : '') + cell.dataset.digits));
}), [button, times]);
const cellsShown = async page => (await tablesShown(page, '', 1))[0];

function tablesPrinted(worldSize) {
  const blocks = run('ring_steps', '--world-size', worldSize, '--no-color').split(/\n(?=start:|reduce-scatter, step|all-gather, step)/).slice(1);
  return blocks.map(block => block.split('\n').filter(line => line.startsWith('rank ')).map(line =>
      line.slice('rank 0'.length).match(/>?[0-9.!]+/g)));
}

test('ranks of a ring hold after every step what ring_steps prints', async () => {
  const {page, complaints, close} = await open(browser, 'ring');
  for (const worldSize of kWorldSizes) {
    await set(page, {ranks: worldSize});
    const expected = tablesPrinted(worldSize), steps = 2 * (worldSize - 1);
    assert.equal(expected.length, steps + 1);
    assert.deepEqual([await cellsShown(page), ...await tablesShown(page, 'step', steps)], expected, `${worldSize} ranks`);
    assert.deepEqual(await tablesShown(page, 'back', steps), expected.slice(0, -1).reverse(), 'backwards; nothing is new at the start');
  }
  assert.deepEqual(complaints, []);
  await close();
});

// What real ranks have sent and got: 'collective topology' -> [{bytes, messages, result}] by rank.
const remembered = {};
function countedBy(worldSize) {
  if (remembered[worldSize]) return remembered[worldSize];
  const counted = remembered[worldSize] = {};
  for (const [, rank, collective, topology, bytes, messages, result] of run('collective_traffic', '--world-size', worldSize)
      .matchAll(/^\[rank (\d)\] (\w+) (\w+) (\d+) bytes (\d+) messages:(.*)$/gm)) {
    (counted[`${collective} ${topology}`] ??= [])[rank] = {bytes: Number(bytes), messages: Number(messages), result: result.trim().split(' ').filter(Boolean)};
  }
  return counted;
}
const kPartBytes = 24;  // in collective_traffic
const everyCase = model.collectives.flatMap(([collective]) => model.topologies.map(([topology]) => [collective, topology]));

// Messages without values by which a receiver confirms the root to the groups of chapters 01 and 02: one from the end of a
// chain, or one from each receiver. The panel leaves them out.
function confirmations(collective, topology, rank, worldSize) {
  if (!['broadcast', 'scatter'].includes(collective) || !['star', 'ring'].includes(topology) || rank === 0) return 0;
  return collective === 'broadcast' && topology === 'ring' && rank < worldSize - 1 ? 0 : 1;
}

// Digits of the parts that a rank gets.
const resultOf = ({collective, worldSize, partCount, turns}, rank) => (collective === 'barrier' ? [] :
    [...Array(partCount).keys()].filter(part => model.isResult(collective, rank, part)).map(part => digitsOf(turns.at(-1).after[rank][part], worldSize)));
const digitsOf = (sum, worldSize) => [...Array(worldSize).keys()].map(rank => ['.', String(rank)][Math.floor(sum / 8 ** rank) % 8] ?? '!').join('');

for (const worldSize of kWorldSizes) {
  test(`every collective on every topology, ${worldSize} ranks: bytes, messages and results are those of real ranks`, () => {
    for (const [collective, topology] of everyCase) {
      const schedule = model.scheduleOf(collective, topology, worldSize), name = `${collective} ${topology}`, real = countedBy(worldSize)[name];
      const traffic = model.trafficOf(schedule, schedule.turns.flatMap(({messages}) => messages), kPartBytes * worldSize);
      assert.equal(real.length, worldSize, name);
      real.forEach(({bytes, messages, result}, rank) => {
        assert.equal(traffic[rank].sent, bytes, `${name}, rank ${rank}`);
        assert.equal(traffic[rank].messages + confirmations(collective, topology, rank, worldSize), messages, `${name}, rank ${rank}`);
        assert.deepEqual(resultOf(schedule, rank), result, `${name}, rank ${rank}`);
      });
    }
  });
}

test('the page shows of each collective and topology what real ranks have sent and got', async () => {
  const worldSize = 5, {page, complaints, close} = await open(browser, 'ring');
  await set(page, {ranks: worldSize, size: worldSize});  // a part is 1 MiB
  for (const [collective, topology] of everyCase) {
    await set(page, {collective, topology, scrub: 1000});
    const shown = await page.$$eval('#holdings tbody tr', rows => rows.map(row => ({sent: row.querySelector('.sent').textContent,
        digits: [...row.querySelectorAll('.cell')].map(cell => cell.dataset.digits), complete: row.querySelectorAll('.complete').length})));
    for (const [rank, {bytes, result}] of countedBy(worldSize)[`${collective} ${topology}`].entries()) {
      const name = `${collective} ${topology}, rank ${rank}`;
      assert.equal(shown[rank].sent, numbers.readableBinary(bytes / kPartBytes * kMiB), name);
      assert.deepEqual(collective === 'barrier' ? [] : shown[rank].digits.filter((_, part) => model.isResult(collective, rank, part)), result, name);
      assert.ok(shown[rank].complete >= result.length, name);
    }
    assert.match(await page.textContent('#status'), /^Complete after/);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('messages cover no rank, no other message, and no edge of the picture', () => {
  const overlap = (a, b) => Math.min(Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x), Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));
  for (const [collective, topology] of everyCase) {
    for (const worldSize of kWorldSizes) {
      const schedule = model.scheduleOf(collective, topology, worldSize), places = geometry.placesOf(topology, worldSize), name = `${collective} ${topology} ${worldSize}`;
      for (const {messages} of schedule.turns) {
        for (let share = 0; share <= 1; share += 0.125) {
          const boxes = messages.map(message => geometry.boxAt(schedule, message, share));
          boxes.forEach((box, i) => {
            assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= geometry.kWidth && box.y + box.height <= geometry.kHeight, name);
            for (const {x, y} of places) {
              const dx = Math.max(box.x - x, 0, x - box.x - box.width), dy = Math.max(box.y - y, 0, y - box.y - box.height);
              assert.ok(Math.hypot(dx, dy) >= geometry.nodeRadiusOf(worldSize), name);
            }
            for (const other of boxes.slice(0, i)) assert.ok(overlap(box, other) <= 0, name);
          });
        }
      }
    }
  }
});

test('picture, holdings and the row of Play fit on one screen with 8 ranks, also in the frame of a lesson', async () => {
  const {page, close} = await open(browser, 'ring');
  const kSiteHeader = 60;
  await set(page, {ranks: 8});
  for (const [width, height] of [[1440, 900], [1366, 650], [1024, 650], [902, 650], [849, 650], [680, 650], [390, 844], [353, 844]]) {
    await page.setViewportSize({width, height});
    for (const [collective, topology] of [['all_reduce', 'ring'], ['all_gather', 'tree'], ['reduce_scatter', 'star'], ['all_reduce', 'mesh']]) {
      await set(page, {collective, topology, scrub: 430});
      const {stage, table, room} = await page.evaluate(() => {
        const scroll = document.querySelector('.scene .scroll');
        return {stage: document.getElementById('stage').offsetHeight, table: scroll.scrollWidth, room: scroll.clientWidth};
      });
      assert.ok(stage <= height - kSiteHeader, `${topology}, ${width} px: ${stage}`);
      assert.ok(table <= room, `${topology}, ${width} px: the table scrolls, ${table} in ${room}`);
    }
  }
  await close();
});

const costsShown = page => page.$$eval('#cost-rows tbody tr', rows => rows.map(row =>
    [...row.querySelectorAll('th, td')].slice(0, 8).map(cell => cell.textContent)));

test('costs are those of link_budget, sizes in MiB', async () => {
  const {page, close} = await open(browser, 'ring');
  for (const [mib, gpus, link] of [[100, 4, 'PCIe 3 x16'], [0.01, 8, 'InfiniBand HDR'], [25, 2, 'NVLink 2'], [1.5, 3, '10 GbE'],
                                   [3.125, 5, 'NVSwitch'], [512, 7, 'PCIe 4 x16'], [6.25, 6, '100 GbE']]) {
    await set(page, {ranks: gpus, size: mib, link});
    const table = megabytes => tableBelow(run('link_budget', '--megabytes', megabytes, '--gpus', gpus, '--link', link), 'algorithm').rows;
    const times = table(Math.round(mib * kMiB) / 1e6), sizes = table(mib);  // sizes grow with the buffer, whatever the unit
    assert.equal(times.length, 4);
    assert.deepEqual((await costsShown(page)).map(row => row.slice(0, 7)), times.map((row, i) => [...sizes[i].slice(0, 4), ...row.slice(4)]), `${mib} MiB, ${gpus} GPUs, ${link}`);
  }
  await close();
});

test('the size from which the ring is faster is that of race --predict', async () => {
  const {page, close} = await open(browser, 'ring');
  for (const [alphaUs, betaGbS] of [[20, 2], [5.7, 15.75], [3.4, 300], [14, 1.25], [0.5, 0.05]]) {
    await set(page, {alpha: alphaUs, beta: betaGbS});
    const lines = run('race', '--predict', '--world-sizes', '3,4,5,6,7,8', '--alpha-us', alphaUs, '--beta-gb-s', betaGbS);
    const printed = [...lines.matchAll(/model, (\d) ranks: .* from (\d+) bytes/g)];
    assert.equal(printed.length, 6);
    for (const [, worldSize, bytes] of printed) {
      await set(page, {ranks: worldSize});
      assert.equal(await page.textContent('#crossover-bytes'), bytes, `alpha ${alphaUs}, beta ${betaGbS}, ${worldSize} ranks`);
    }
  }
  await close();
});

test('times, and the bytes that a rank really sends, are those of race', async () => {
  const {page, close} = await open(browser, 'ring');
  await set(page, {alpha: 20, beta: 2});
  for (const bytes of [8400, 84000]) {  // divisible by 2, 3 and 4 times 4
    const output = run('race', '--world-sizes', '2,3,4', '--bytes', bytes, '--repeat', 1, '--alpha-us', 20, '--beta-gb-s', 2);
    const printed = [...output.matchAll(/^\[rank 0\] (star|mesh|ring) +(\d) +(\d+) +\d+ +(\d+) /gm)];
    assert.equal(printed.length, 9);
    for (const [, name, worldSize, sent, us] of printed) {
      await set(page, {size: bytes / kMiB, ranks: worldSize});
      const row = (await costsShown(page)).find(([algorithm]) => algorithm === name);
      assert.equal(row[7], us, `${name}, ${worldSize} ranks, ${bytes} bytes`);
      const digits = row[3].split('.')[1]?.length ?? 0;
      assert.equal(row[3], (sent / kMiB).toFixed(digits), `${name}, ${worldSize} ranks, ${bytes} bytes`);
    }
  }
  await close();
});

test('the picture says how many messages are under way, and when it ends', async () => {
  const {page, close} = await open(browser, 'ring');
  const label = () => page.getAttribute('#picture svg', 'aria-label');
  for (const [topology, underWay] of [['ring', 4], ['tree', 2], ['star', 1], ['mesh', 4]]) {
    await set(page, {topology, scrub: 0});
    assert.match(await label(), new RegExp(`^All-reduce on a ${topology} of 4 ranks, after 0 µs; ${underWay} messages under way`));
    assert.equal(await page.locator('#picture .chip').count(), underWay);
    await set(page, {scrub: 1000});
    const row = (await costsShown(page)).find(([algorithm]) => algorithm === topology);
    assert.ok((await label()).endsWith(`after ${row[6]} ms; 0 messages under way`), await label());
  }
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
  run('ring_trace', '--world-size', 8, '--bytes', 1 << 20, '--out', out);
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
