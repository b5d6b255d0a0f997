// The panel "sharded" against zero_table, and against what ShardedDataParallel sends in its own test.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {launch, open, problemsWith, type, panelFolder} = require('./browser.js');
const {run, tableBelow} = require('./programs.js');
const model = require(path.join(panelFolder, 'sharded_model.js'));
const {readableBytes} = require(path.join(panelFolder, 'numbers.js'));

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

// Of tests/09_sharded/sharded_training.hpp.
const kSmall = {vocabulary: 61, channels: 24, blocks: 3, context: 8};
const sumOf = list => list.reduce((sum, each) => sum + each, 0);
const named = name => model.modelNamed(name);

for (const [name, worldSize] of [['tiny', 4], ['tiny', 7], ['small', 3], ['tutorial', 8], ['124m', 5]]) {
  test(`the units of "${name}" on ${worldSize} ranks are those of zero_table`, () => {
    const output = run('zero_table', '--model', name, '--world-size', worldSize), units = model.unitsOf(named(name), worldSize);
    const printed = tableBelow(output, 'unit ').rows;
    assert.deepEqual(units.map(unit => [unit.name, unit.elements, unit.count - unit.elements, unit.part].map(String)), printed);
    const [, all, owned] = /of (\d+) parameters each rank owns (\d+)/.exec(output);
    assert.equal(sumOf(units.map(unit => unit.elements)), Number(all));
    assert.equal(sumOf(units.map(unit => unit.owned)), Number(owned));
  });
}

// The formulas are those of sharded_data_parallel_test.cpp, which compares them with the bytes on the sockets.
test('a step sends what ShardedDataParallel sends over TCP, byte for byte', () => {
  for (const worldSize of [2, 3, 4]) {
    const bytes = Object.fromEntries(model.unitsOf(kSmall, worldSize).map(({name, part}) => [name, 4 * part * (worldSize - 1)]));
    const all = sumOf(Object.values(bytes)), forward = all - bytes.vectors + bytes.wte, backward = bytes['h.0'] + bytes['h.1'];
    for (const microBatches of [1, 4]) {
      const expected = {1: 2 * all, 2: microBatches * all + all, 3: microBatches * (all + forward + backward) + bytes.vectors};
      for (const prefetch of [true, false]) {
        for (const [stage, sent] of Object.entries(expected)) {
          const step = model.stepOf({shape: kSmall, worldSize, stage: Number(stage), microBatches, prefetch});
          assert.equal(step.sent, sent, `stage ${stage}, ${worldSize} ranks, ${microBatches} micro-batches`);
        }
      }
    }
  }
});

test('a micro-batch fetches its units in the order of the model, and backward again all but two', () => {
  const forward = ['wte', 'wpe', 'h.0', 'h.1', 'h.2', 'h.3', 'wte'];
  assert.deepEqual(model.fetchOrderOf({...kSmall, blocks: 4}, 1), [...forward, 'h.2', 'h.1', 'h.0']);
  assert.deepEqual(model.fetchOrderOf({...kSmall, blocks: 4}, 2), [...forward, 'h.2', 'h.1', 'h.0', ...forward, 'h.2', 'h.1', 'h.0']);
});

test('at most three units are whole, with gathering in advance and without', () => {
  for (const blocks of [3, 4, 12]) {
    for (const microBatches of [1, 3]) {
      for (const prefetch of [true, false]) {
        const step = model.stepOf({shape: {...kSmall, blocks}, worldSize: 4, stage: 3, microBatches, prefetch});
        assert.equal(step.mostWhole, 3);
        assert.equal(step.events.filter(({kind}) => kind === 'gather').length, prefetch ? 1 : model.fetchOrderOf({...kSmall, blocks}, microBatches).length);
      }
    }
  }
});

test('bytes a parameter are those of the lesson\u2019s table, and whole units on top of them', () => {
  const shape = named('tiny');  // its units have no gaps
  for (const worldSize of [2, 4, 8]) {
    const units = model.unitsOf(shape, worldSize), bytesOf = name => units.find(unit => unit.name === name).bytes;
    const at = stage => model.stepOf({shape, worldSize, stage, microBatches: 1, prefetch: true});
    const count = at(0).parameterCount, slots = 2 * bytesOf('h.0') + bytesOf('wte') + bytesOf('wpe') + bytesOf('vectors');
    assert.equal(at(0).peak, 16 * count);
    assert.equal(at(1).peak, (8 + 8 / worldSize) * count);
    assert.equal(at(2).peak, (4 + 12 / worldSize) * count + slots);
    assert.equal(at(3).peak, 16 / worldSize * count + (1 - 1 / worldSize) * bytesOf('vectors') + slots + 3 * bytesOf('h.0'));
    assert.deepEqual([0, 1, 2].map(stage => at(stage).sent), Array(3).fill(8 * count * (worldSize - 1) / worldSize));
  }
});

const rowsShown = (page, at) => page.$$eval(`${at} tbody tr`, rows => rows.map(row => [...row.children].map(cell => cell.textContent)));
const statesShown = page => page.$$eval('#units li', all => Object.fromEntries(all.map(each => [each.dataset.unit, each.dataset.state])));

test('the page shows the numbers of the model, for every stage', async () => {
  const {page, complaints, close} = await open(browser, 'sharded');
  for (const [name, worldSize, microBatches] of [['124m', 4, 1], ['tiny', 16, 2], ['tutorial', 3, 1], ['small', 1, 1]]) {
    await page.selectOption('#model', name);
    await type(page, 'ranks', worldSize);
    await type(page, 'micro-batches', microBatches);
    const steps = model.stages.map(({stage}) => model.stepOf({shape: named(name), worldSize, stage, microBatches, prefetch: true}));
    for (const [stage, step] of steps.entries()) {
      await page.selectOption('#stage', String(stage));
      assert.equal(await page.textContent('#peak'), readableBytes(step.peak), `${name}, stage ${stage}`);
      assert.equal(await page.textContent('#sent'), readableBytes(Math.round(step.sent)));
      assert.match(await page.textContent('#moment caption'), new RegExp(`of ${step.events.length}$`));
      assert.equal(await page.isVisible('#prefetch'), stage === 3);
    }
    assert.deepEqual((await rowsShown(page, '#stages')).map(row => row[6]), steps.map(({peak}) => readableBytes(peak)));
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('keyboard alone: through a step of stage 3, event by event, with a sentence for each', async () => {
  const {page, close} = await open(browser, 'sharded');
  await page.selectOption('#model', 'tiny');
  await page.selectOption('#stage', '3');
  const {events} = model.stepOf({shape: named('tiny'), worldSize: 4, stage: 3, microBatches: 1, prefetch: true});
  const said = [];
  await page.focus('#scrub');
  await page.keyboard.press('Home');
  for (const event of events) {
    said.push(await page.textContent('#status'));
    assert.equal(await page.getAttribute('#scrub', 'aria-valuetext'), said.at(-1));
    const states = await statesShown(page), inState = state => Object.keys(states).filter(name => states[name] === state).sort();
    assert.deepEqual(inState('whole'), event.whole.filter(name => name !== event.coming).sort());
    assert.deepEqual(inState('on its way'), event.coming === null ? [] : [event.coming]);
    await page.keyboard.press('ArrowRight');
  }
  assert.equal(said[0], 'Nothing computes until wte is gathered.');
  assert.equal(said[3], 'Block 2 is gathered while block 1 computes forward; wpe goes.');
  assert.equal(said[8], 'Block 3 computes backward; the gradients of block 3 leave for their reduce-scatter.');
  assert.equal(said[9], 'Block 1 is gathered while block 2 computes backward; block 3 goes; the gradients of block 2 leave for their reduce-scatter.');
  assert.equal(new Set(said).size, events.length, said.join('\n'));
  await page.focus('#back');
  await page.keyboard.press('Enter');
  assert.equal(await page.textContent('#status'), said.at(-2));
  assert.equal(await page.textContent('#live'), said.at(-2));
  await page.focus('#restart');
  await page.keyboard.press('Enter');
  await page.focus('#step');
  await page.keyboard.press('Space');
  assert.equal(await page.textContent('#status'), said[1]);
  await page.focus('#prefetch');
  await page.keyboard.press('Space');
  const without = model.stepOf({shape: named('tiny'), worldSize: 4, stage: 3, microBatches: 1, prefetch: false});
  assert.match(await page.textContent('#moment caption'), new RegExp(`of ${without.events.length}$`));
  await close();
});

test('a click on the chart moves the cursor', async () => {
  const {page, close} = await open(browser, 'sharded');
  const box = await page.locator('#chart svg').boundingBox();
  await page.mouse.click(box.x + box.width - 6, box.y + box.height / 2);
  const [, at, all] = /Event (\d+) of (\d+)/.exec(await page.textContent('#moment caption'));
  assert.equal(at, all);
  assert.equal(await page.textContent('#status'), 'All ranks gather the new weights of the others\u2019 parts.');
  await close();
});

test('accessible, and no wider than the screen, in the middle of a step of stage 3', async () => {
  assert.deepEqual(await problemsWith(browser, 'sharded', async page => {
    await page.selectOption('#stage', '3');
    await type(page, 'blocks', 24);
    await type(page, 'micro-batches', 4);
    await page.click('#answer summary');
    await page.click('#step');
  }), []);
});
