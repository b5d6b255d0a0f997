// The panel "grid" against the program rank_grid, against the solution of exercise 12.3, and against the words of both.
'use strict';

const assert = require('node:assert/strict');
const {spawnSync} = require('node:child_process');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {launch, open, problemsWith, type, panelFolder} = require('./browser.js');
const {set} = require('./controls.js');
const {run, isBuilt, folder} = require('./programs.js');
const model = require(path.join(panelFolder, 'grid_model.js'));
const {readableBytes} = require(path.join(panelFolder, 'numbers.js'));

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const upTo = n => [...Array(n).keys()];
const argumentsOf = (ranks, tensor, pipeline, perHost) => ['--world', ranks, '--tensor', tensor, '--pipeline', pipeline, '--ranks-per-host', perHost].map(String);

// What rank_grid prints of each axis: {reach: 'within hosts', lines: ['{0,1}', ...]}; long lists end in "...".
function printed(output) {
  return Object.fromEntries([...output.matchAll(/^(tensor|data|pipeline), (within hosts|across hosts): .*\n {2}(.*)$/gm)]
      .map(([, axis, reach, lines]) => [axis, {reach, lines: lines.split(' ').filter(line => line !== '...')}]));
}

test('places, lines and hosts are those that rank_grid prints', () => {
  for (const [ranks, tensor, pipeline, perHost] of [[8, 2, 2, 8], [8, 2, 2, 4], [64, 8, 4, 8], [12, 1, 3, 5], [16, 4, 1, 8], [1, 1, 1, 1], [60, 2, 3, 10]]) {
    const output = run('rank_grid', ...argumentsOf(ranks, tensor, pipeline, perHost)), found = printed(output), shape = model.shapeOf(ranks, tensor, pipeline);
    assert.match(output, new RegExp(`^${ranks} ranks? = pipeline ${shape.pipeline} x data ${shape.data} x tensor ${shape.tensor}, on ${model.hostOf(ranks - 1, perHost) + 1} hosts?\n`, 'm'));
    for (const axis of model.axes) {
      assert.equal(found[axis].reach, model.isWithinHosts(shape, axis, perHost) ? 'within hosts' : 'across hosts', `${axis} of ${ranks}`);
      const names = model.linesOf(shape, axis).map(line => model.groupName(axis, line).slice(axis.length));
      assert.deepEqual(names.slice(0, found[axis].lines.length), found[axis].lines);
    }
    for (const rank of upTo(ranks)) assert.equal(model.rankAt(shape, model.placeOf(shape, rank)), rank);
  }
});

// The last line that a program says when it refuses, without its name.
const refusalOf = args => spawnSync(path.join(folder, 'rank_grid'), args, {encoding: 'utf8', env: {...process.env, NO_COLOR: '1'}}).stderr.trim().split('\n').at(-1);

test('what is impossible is refused in the words of rank_grid', () => {
  const words = (ranks, tensor, pipeline, perHost) => {
    try {
      model.requireTensorOnOneHost(model.shapeOf(ranks, tensor, pipeline), perHost);
    } catch (error) {
      assert.ok(error instanceof model.GridError);
      return error.message;
    }
    return assert.fail('not refused');
  };
  for (const each of [[6, 2, 2, 6], [1, 2, 1, 1], [63, 8, 1, 8], [8, 8, 1, 4], [16, 4, 2, 6], [64, 8, 4, 4]]) {
    const said = refusalOf(argumentsOf(...each));
    assert.ok(said.includes(words(...each)), `${said}, not ${words(...each)}`);
  }
  assert.equal(words(6, 2, 2, 6), '6 ranks are no multiple of --tensor 2 x --pipeline 2; use 4 or 8');
  assert.match(words(8, 8, 1, 4), /^tensor ranks 3, 4 are on different hosts: /);
});

test('each rank sends what the solution of 12.3 predicts', {skip: isBuilt('axis_bytes') ? false : 'axis_bytes is not built: a release has no solutions'}, () => {
  const cases = [[2, 2, 2, {blocks: 4, channels: 4, vocabulary: 10}, {rows: 8, microBatches: 1}], [1, 1, 1, {blocks: 2, channels: 8, vocabulary: 16}, {rows: 4, microBatches: 3}],
                 [4, 1, 2, {blocks: 8, channels: 24, vocabulary: 96}, {rows: 16, microBatches: 5}], [3, 4, 1, {blocks: 6, channels: 24, vocabulary: 96}, {rows: 16, microBatches: 2}],
                 [1, 2, 4, {blocks: 8, channels: 24, vocabulary: 96}, {rows: 16, microBatches: 2}],
                 ...[['124m', 2, 2, 1], ['350m', 4, 2, 1], ['1.5b', 16, 4, 1], ['tiny', 2, 2, 4], ['small', 3, 2, 8]].map(([name, ...shape]) =>
                    [...shape, model.modelNamed(name), {rows: 4 * model.modelNamed(name).context, microBatches: 8}])];
  for (const [pipeline, data, tensor, trained, {rows, microBatches}] of cases) {
    const output = run('axis_bytes', '--pipeline', pipeline, '--data', data, '--tensor', tensor, '--blocks', trained.blocks, '--rows', rows, '--channels', trained.channels,
                       '--vocabulary', trained.vocabulary, '--micro-batches', microBatches);
    const stages = [...output.matchAll(/^stage \d+: (\d+) (\d+) (\d+)$/gm)].map(row => row.slice(1).map(Number)), shape = {pipeline, data, tensor};
    assert.equal(stages.length, pipeline);
    for (const rank of upTo(pipeline * data * tensor)) {
      const sent = model.bytesOf(trained, shape, {rows, microBatches}, rank);
      assert.deepEqual(model.axes.map(axis => sent[axis]), stages[model.placeOf(shape, rank).pipeline], `rank ${rank} of ${JSON.stringify(shape)}`);
    }
  }
});

// The numbers of 12.3's task, which its reader meets first.
test('GPT-2 on 2 x 2 x 2 ranks sends what the task of 12.3 says', () => {
  const trained = model.modelNamed('124m'), sent = model.bytesOf(trained, {pipeline: 2, data: 2, tensor: 2}, {rows: 4 * 1024, microBatches: 8}, 0);
  assert.deepEqual(model.axes.map(axis => (sent[axis] / 1e9).toFixed(2)), ['2.52', '0.16', '0.18']);
});

test('in a step every micro-batch passes all stages, and every border and line has its turn', () => {
  for (const [pipeline, microBatches] of [[1, 1], [2, 8], [4, 3], [5, 16]]) {
    const shape = {pipeline, data: 2, tensor: 2}, moments = model.momentsOf(shape, microBatches), passes = moments.filter(({kind}) => kind === 'passes');
    assert.equal(passes.flatMap(({messages}) => messages).length, 2 * (pipeline - 1) * microBatches);
    for (const stage of upTo(pipeline)) {
      const seen = new Set(passes.map(({stages}) => stages[stage]).filter(Boolean).map(({pass, microBatch}) => pass + microBatch));
      assert.equal(seen.size, 2 * microBatches);
      const line = model.lineOf(shape, model.rankAt(shape, {pipeline: stage, data: 0, tensor: 0}), 'data');
      const sending = passes.filter(moment => model.talks(shape, moment, 'data', line)).map(({stages}) => stages[stage]);
      assert.ok(sending.length > 0 && sending.every(({pass, microBatch}) => pass === 'B' && microBatch === microBatches - 1));
    }
    assert.deepEqual(moments.map(({kind}) => kind).filter(kind => kind !== 'passes'), ['overview', 'norm', 'update', 'gather', ...(pipeline > 1 ? ['table'] : [])]);
  }
});

const card = (page, axis) => page.$eval(`#axis-${axis}`, item => [item.querySelector('strong').textContent, item.querySelector('.sent').textContent, item.querySelector('.reach-text').textContent]);

test('a rank that is touched shows its place, its lines, and what it sends where', async () => {
  const {page, complaints, close} = await open(browser, 'grid');
  const cards = async () => [await card(page, 'tensor'), await card(page, 'data'), await card(page, 'pipeline')];
  assert.equal(await page.textContent('#grid-name'), '8 ranks = pipeline 2 x data 2 x tensor 2, on 2 hosts');
  await page.click('[data-rank="5"]');
  assert.match(await page.textContent('#chosen'), /rank 5 on host 1 \(pipeline 1, data 0, tensor 1\)/);
  const sent = model.bytesOf(model.modelNamed('350m'), {pipeline: 2, data: 2, tensor: 2}, {rows: 4 * 1024, microBatches: 8}, 5);
  assert.deepEqual(await cards(), [['tensor{4,5}', readableBytes(sent.tensor), 'within host 1'], ['data{5,7}', readableBytes(sent.data), 'within host 1'],
                                   ['pipeline{1,5}', readableBytes(sent.pipeline), 'across hosts 0 and 1']]);
  await page.selectOption('#model', '124m');
  await set(page, {ranks: 6, tensor: 1, pipeline: 6, 'per-host': 1, samples: 2, 'micro-batches': 3});
  const alone = model.bytesOf(model.modelNamed('124m'), {pipeline: 6, data: 1, tensor: 1}, {rows: 2 * 1024, microBatches: 3}, 5);
  assert.deepEqual(await cards(), [['tensor{5}', 'nothing', 'the rank is alone'], ['data{5}', 'nothing', 'the rank is alone'],
                                   ['pipeline{0,1,...,5}', readableBytes(alone.pipeline), 'across 6 hosts']]);
  const rows = await page.$$eval('#stages tbody tr', all => all.map(row => [...row.children].map(({textContent}) => textContent)));
  assert.deepEqual(rows.at(-1), ['lines are', '', 'alone', 'alone', 'across hosts']);
  assert.equal(rows[5][4], readableBytes(alone.pipeline));
  assert.deepEqual(complaints, []);
  await close();
});

test('keyboard alone: Tab reaches the grid once, arrows go along rows and stages, and what a rank is gets said', async () => {
  const {page, close} = await open(browser, 'grid');
  await page.focus('#per-host-value');
  await page.keyboard.press('Tab');
  const at = () => page.evaluate(() => Number(document.activeElement.dataset.rank));
  const seen = [await at()];
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'End', 'Home', 'ArrowLeft']) {
    await page.keyboard.press(key);
    seen.push(await at());
  }
  assert.deepEqual(seen, [0, 1, 2, 6, 6, 5, 1, 7, 0, 0]);
  await page.keyboard.press('End');
  assert.match(await page.textContent('#live'), /^rank 7: pipeline 1, data 1, tensor 1, on host 1\. tensor\{6,7\}: .* within host 1\. .*pipeline\{3,7\}: .*, across hosts 0 and 1\.$/);
  assert.equal(await page.getAttribute('[data-rank="7"]', 'aria-checked'), 'true');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'play');
  await page.keyboard.press('Shift+Tab');
  assert.equal(await at(), 7);
  await close();
});

test('a step: which lines talk, with a sentence for each moment', async () => {
  const {page, complaints, close} = await open(browser, 'grid');
  await set(page, {'micro-batches': 2});
  const talking = () => page.$$eval('#chart .talks', all => [...new Set(all.map(line => line.getAttribute('class').split(' ')[1]))].sort());
  const said = [], lines = [];
  for (let i = 0; i < model.momentsOf({pipeline: 2, data: 2, tensor: 2}, 2).length; ++i) {
    said.push(await page.textContent('#status'));
    lines.push((await talking()).map(line => line.replace('-line', '')).join(' '));
    await page.press('#step', 'Enter');
  }
  assert.deepEqual(lines, ['data pipeline tensor', 'tensor', 'pipeline tensor', 'pipeline tensor', 'pipeline tensor', 'data tensor', 'data tensor', 'data pipeline tensor', '', '',
                           'data', 'pipeline']);
  assert.match(said[2], /^Stage 0: F1, stage 1: F0\. Tensor lines .* Pipeline lines: activations go from stage 0 to 1\.$/);
  assert.match(said[7], /^Stage 0: B1, stage 1 waits\. .*gradients of activations go from stage 1 to 0\. Last pass of stage 0: gradients leave along data lines/);
  assert.match(said[8], /all 8 ranks add up one number, of 8 bytes/);
  assert.equal(new Set(said).size, said.length);
  assert.deepEqual(complaints, []);
  await close();
});

test('an impossible grid says why, and the panel goes on with the next possible one', async () => {
  const {page, complaints, close} = await open(browser, 'grid');
  const problem = () => page.textContent('#problem');
  await type(page, 'ranks', 6);
  assert.equal(await problem(), '6 ranks are no multiple of --tensor 2 x --pipeline 2; use 4 or 8');
  assert.equal(await page.locator('#chart svg').count(), 0);
  await type(page, 'ranks', 12);
  assert.equal(await problem(), '');
  assert.equal(await page.locator('#chart [role="radio"]').count(), 12);
  await type(page, 'per-host', 3);
  assert.match(await problem(), /^tensor ranks 2, 3 are on different hosts: /);
  assert.ok(await page.locator('#chart .torn').count() > 0);
  assert.equal(await page.isVisible('#play'), false);
  await set(page, {ranks: 12, tensor: 3, pipeline: 1});
  assert.equal(await problem(), '16 heads do not divide among 3 ranks; use 2 or 4');
  await page.selectOption('#model', 'tiny');
  await set(page, {tensor: 1, pipeline: 6});
  assert.equal(await problem(), '6 ranks in a pipeline for 4 blocks: every stage needs one; use at most 4, or a model with more blocks');
  await set(page, {tensor: 1, pipeline: 4});
  assert.equal(await problem(), '');
  assert.equal(await page.isVisible('#play'), true);
  assert.deepEqual(complaints, []);
  await close();
});

test('accessible, and no wider than the screen: 64 ranks in few and in many rows, and grids that are impossible', async () => {
  for (const values of [{ranks: 64, tensor: 8, pipeline: 4, 'per-host': 8}, {ranks: 64, tensor: 1, pipeline: 16, 'per-host': 5}, {ranks: 64, tensor: 8, pipeline: 2, 'per-host': 6}, {ranks: 6}]) {
    assert.deepEqual(await problemsWith(browser, 'grid', async page => {
      await set(page, values);
      if (await page.isVisible('#step')) for (let i = 0; i < 3; ++i) await page.click('#step');
    }), [], JSON.stringify(values));
  }
});
