// The panel "pipeline" against the program schedules, against exercise 00.4's timetable in strategies, and against closed forms.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {launch, open, problemsWith, type, panelFolder} = require('./browser.js');
const {set} = require('./controls.js');
const {run} = require('./programs.js');
const model = require(path.join(panelFolder, 'pipeline_model.js'));

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const kCosts = {forward: 1, backward: 2, message: 0};
const upTo = n => [...Array(n).keys()];
const near = (actual, expected, what) => assert.ok(Math.abs(actual - expected) < 1e-9, `${what}: ${actual}, not ${expected}`);

// Narayanan et al., 2021, section 2.2: the bubble, and what a rank holds.
test('bubbles and what ranks hold are those of the papers', () => {
  for (const p of [1, 2, 4, 7]) {
    for (const m of [1, 2, 5, 16]) {
      for (const backward of [0.5, 1, 2, 3]) {
        const at = kind => model.timelineOf(kind, p, m, {forward: 1, backward, message: 0}), what = `${p} ranks, ${m} micro-batches`;
        near(at('naive').idlePerBusy, p - 1, `naive, ${what}`);
        near(at('gpipe').idlePerBusy, (p - 1) / m, `GPipe, ${what}`);
        near(at('1f1b').idlePerBusy, (p - 1) / m, `1F1B, ${what}`);
        assert.deepEqual(at('naive').mostHeld, Array(p).fill(1));
        assert.deepEqual(at('gpipe').mostHeld, Array(p).fill(m));
        assert.deepEqual(at('1f1b').mostHeld, upTo(p).map(r => Math.min(m, p - r)));
      }
    }
  }
});

test('GPipe takes as long as the pipeline of chapter 00', () => {
  for (const [ranks, microBatches] of [[2, 2], [4, 4], [4, 16], [2, 10]]) {
    const output = run('strategies', '--world-size', ranks, '--micro-batches', microBatches), [, units] = /^pipeline:(?:.*\n)*? +(\d+) units/m.exec(output);
    assert.equal(model.timelineOf('gpipe', ranks, microBatches, kCosts).duration, Number(units));
  }
});

// What `schedules` prints of each schedule: units, the picture of each rank, and the rows of its table.
function printed(options) {
  const output = run('schedules', ...options), found = new Map();
  for (const [, name, units, text] of output.matchAll(/^(\w+): (\d+) units\n((?: .*\n)*)/gm)) {
    const pictures = [];
    for (const [, rank, piece] of text.matchAll(/^ {2}rank (\d+) +([A-Za-z.]+)$/gm)) pictures[rank] = (pictures[rank] ?? '') + piece;
    const rows = [...text.matchAll(/^ {2}rank \d+ +(\d+) +(\d+) +([\d.]+) +(\d+) +\d+$/gm)].map(row => row.slice(1).map(Number));
    found.set(name, {units: Number(units), pictures, rows, bubble: Number(/^ {2}idle\/busy ([\d.]+)/m.exec(text)[1])});
  }
  return found;
}

function pictureOf(timed, units) {
  const line = Array(units).fill('.');
  for (const {pass, microBatch, begin, end} of timed) line.fill(String.fromCharCode((pass === 'F' ? 97 : 65) + microBatch % 26), begin, end);
  return line.join('');
}

test('every time table is the one that the program draws, and so are its counts', () => {
  for (const [ranks, microBatches, forward, backward, message] of [[4, 8, 1, 2, 0], [3, 2, 2, 3, 1], [1, 3, 1, 1, 5], [8, 30, 1, 2, 0], [5, 7, 3, 2, 4]]) {
    const all = printed(['--ranks', ranks, '--micro-batches', microBatches, '--forward', forward, '--backward', backward, '--message', message]);
    assert.deepEqual([...all.keys()], model.kinds.map(([name]) => name));
    for (const [kind, {units, pictures, rows, bubble}] of all) {
      const line = model.timelineOf(kind, ranks, microBatches, {forward, backward, message}), what = `${kind}, ${ranks} ranks, ${microBatches} micro-batches`;
      assert.equal(line.duration, units, what);
      assert.deepEqual(line.ranks.map(timed => pictureOf(timed, units)), pictures, what);
      assert.deepEqual(line.mostHeld, rows.map(([, , , held]) => held), what);
      assert.equal(line.idlePerBusy.toFixed(3), bubble.toFixed(3), what);
    }
  }
});

test('no rank does two passes at once, and each pass begins after what it needs', () => {
  for (const [kind] of model.kinds) {
    const costs = {forward: 1, backward: 1.5, message: 0.75}, {ranks} = model.timelineOf(kind, 5, 6, costs);
    const passOf = (pass, rank, microBatch) => ranks[rank].find(each => each.pass === pass && each.microBatch === microBatch);
    for (const [rank, actions] of ranks.entries()) {
      assert.equal(actions.length, 12);
      actions.slice(1).forEach(({begin}, i) => assert.ok(begin >= actions[i].end));
      for (const {pass, microBatch, begin, end} of actions) {
        near(end - begin, pass === 'F' ? 1 : 1.5, 'a pass');
        if (pass === 'F' && rank > 0) assert.ok(begin >= passOf('F', rank - 1, microBatch).end + 0.75);
        if (pass === 'B') assert.ok(begin >= (rank < 4 ? passOf('B', rank + 1, microBatch).end + 0.75 : passOf('F', rank, microBatch).end));
      }
    }
  }
});

const rowsShown = page => page.$$eval('#schedules tbody tr', rows => rows.map(row => [...row.children].map(cell => cell.textContent)));

test('the page shows the numbers of the model', async () => {
  const {page, complaints, close} = await open(browser, 'pipeline');
  for (const [kind, ranks, microBatches, backward, message] of [['naive', 3, 4, 2, 0], ['gpipe', 8, 32, 2, 0], ['1f1b', 4, 2, 1.5, 0.5], ['1f1b', 1, 1, 1, 0]]) {
    await page.selectOption('#schedule', kind);
    await set(page, {ranks, 'micro-batches': microBatches, backward, message});
    const at = name => model.timelineOf(name, ranks, microBatches, {forward: 1, backward, message}), line = at(kind);
    assert.equal(Number(await page.textContent('#duration')), Number(line.duration.toFixed(2)));
    assert.equal(await page.textContent('#bubble'), `${(100 * line.idlePerBusy).toFixed(1)} %`);
    assert.equal(await page.textContent('#held-first'), String(line.mostHeld[0]));
    assert.equal(await page.textContent('#held-last'), String(line.mostHeld.at(-1)));
    assert.equal(Number(await page.textContent('#messages')), 2 * (ranks - 1) * microBatches);
    assert.deepEqual((await rowsShown(page)).map(row => row[3]), model.kinds.map(([name]) => at(name).mostHeld.join(' ')));
    assert.equal(await page.locator('#chart rect.forward').count(), ranks * microBatches);
    assert.equal(await page.locator('#chart rect.backward').count(), ranks * microBatches);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('keyboard alone: from pass to pass, with a sentence for each', async () => {
  const {page, close} = await open(browser, 'pipeline');
  await type(page, 'ranks', 2);
  await type(page, 'micro-batches', 2);
  await page.focus('#restart');
  await page.keyboard.press('Enter');
  const said = [await page.textContent('#status')];
  for (let i = 0; i < 8; ++i) {
    await page.focus('#step');
    await page.keyboard.press('Space');
    said.push(await page.textContent('#status'));
    assert.equal(await page.textContent('#live'), said.at(-1));
  }
  assert.deepEqual(said, [
    'At 0: rank 0: F0, rank 1 waits.', 'At 1: rank 0: F1, rank 1: F0.', 'At 2: rank 0 waits, rank 1: B0.', 'At 4: rank 0: B0, rank 1: F1.',
    'At 5: rank 0: B0, rank 1: B1.', 'At 6: rank 0 waits, rank 1: B1.', 'At 7: rank 0: B1, rank 1 waits.',
    'After 9 units all gradients are there, and every rank updates its stage.', 'After 9 units all gradients are there, and every rank updates its stage.']);
  await page.focus('#back');
  await page.keyboard.press('Enter');
  assert.equal(await page.textContent('#status'), said.at(-3));
  await close();
});

test('a click on the chart moves the cursor; what a rank holds is counted there', async () => {
  const {page, close} = await open(browser, 'pipeline');
  const box = await page.locator('#chart svg').boundingBox();
  await page.mouse.click(box.x + 64, box.y + box.height / 2);
  assert.match(await page.textContent('#status'), /^At 0(\.\d+)?: rank 0: F0, rank 1 waits/);
  assert.deepEqual(await page.$$eval('#chart .held', all => all.map(each => each.textContent)), ['1 (most 4)', '0 (most 3)', '0 (most 2)', '0 (most 1)']);
  await close();
});

test('accessible, and no wider than the screen, with eight ranks and 32 micro-batches', async () => {
  assert.deepEqual(await problemsWith(browser, 'pipeline', async page => {
    await set(page, {ranks: 8, 'micro-batches': 32, message: 1.5});
    await page.click('#step');
  }), []);
});
