// The panel "step together" against train_linear_single and train_linear_star.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const {after, before, test} = require('node:test');
const {launch, open, type, panelFolder} = require('./browser.js');
const {run} = require('./programs.js');
const model = require(path.join(panelFolder, 'linear_model.js'));

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const lossesIn = output => [...output.matchAll(/step \d+ loss (\S+)/g)].map(match => Number(match[1]));
// The programs compute in single precision: their first five digits are what both agree on.
const fiveDigits = value => String(Number(Number(value).toPrecision(5)));
const loss = page => page.textContent('#loss');
const drift = page => page.textContent('#drift');

async function takeStep(page, presses = 3) {
  for (let i = 0; i < presses; ++i) await page.click('#next');
}

for (const [worldSize, samples, rate] of [[1, 6, 0.1], [2, 12, 0.1], [4, 6, 0.1], [3, 1, 0.05], [8, 24, 0.2], [5, 7, 0.1]]) {
  test(`losses of ${worldSize} ranks with ${samples} samples are those of one process with ${worldSize * samples}`, async () => {
    const {page, complaints, close} = await open(browser, 'step_together');
    await type(page, 'ranks', worldSize);
    await type(page, 'samples', samples);
    await type(page, 'rate', rate);
    const printed = lossesIn(run('train_linear_single', '--steps', 12, '--batch-size', worldSize * samples, '--learning-rate', rate));
    assert.equal(printed.length, 12);
    for (const [step, value] of printed.entries()) {
      await takeStep(page);
      assert.equal(await loss(page), fiveDigits(value), `step ${step + 1}`);
      assert.equal(await drift(page), '0');
    }
    assert.match(await page.textContent('#figures'), new RegExp(`${samples} × ${worldSize} = ${worldSize * samples} samples`));
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('losses are those that train_linear_star prints with as many ranks', async () => {
  const {page, close} = await open(browser, 'step_together');
  const printed = lossesIn(run('lockstep', 'launch', '--nproc', 4, '--', 'train_linear_star', '--steps', 10, '--batch-size', 24));
  assert.equal(printed.length, 10);
  for (const value of printed) {
    await takeStep(page);
    assert.equal(await loss(page), fiveDigits(value));
  }
  await close();
});

test('ten steps at once are ten steps', async () => {
  const {page, close} = await open(browser, 'step_together');
  await page.click('#next');  // a step that has begun is finished first
  await page.click('#ten');
  const printed = lossesIn(run('train_linear_single', '--steps', 11, '--batch-size', 24));
  assert.equal(await loss(page), fiveDigits(printed[10]));
  assert.match(await page.textContent('#status'), /^Step 11/);
  await close();
});

test('a rank\u2019s gradient is its own before the all-reduce, and the mean of all after it', async () => {
  const {page, close} = await open(browser, 'step_together');
  const said = () => page.$$eval('.replica > p:nth-of-type(1)', all => all.map(element => element.textContent));
  await page.click('#next');
  const own = await said();
  assert.equal(new Set(own).size, 4, 'four slices have four gradients');
  await page.click('#next');
  const shared = await said();
  assert.equal(new Set(shared).size, 1);
  assert.match(shared[0], /^mean gradient of all ranks/);
  await close();
});

test('without the all-reduce replicas drift; switching it on does not repair them; a broadcast does', async () => {
  const {page, close} = await open(browser, 'step_together');
  await page.click('#reduce');
  await takeStep(page, 2);
  assert.notEqual(await drift(page), '0');
  assert.match(await page.textContent('#status'), /own gradient\. Replicas differ/);
  assert.equal(await page.locator('.apart').count(), 3);
  assert.match(await drift(page), /^0\.\d+$/);
  await page.click('#reduce');
  await page.click('#ten');
  assert.notEqual(await drift(page), '0');
  await page.click('#broadcast');
  assert.equal(await drift(page), '0');
  await page.click('#ten');
  assert.equal(await drift(page), '0');
  await close();
});

test('a lone rank needs no all-reduce: on and off give the same losses', async () => {
  const {page, close} = await open(browser, 'step_together');
  await type(page, 'ranks', 1);
  await page.click('#reduce');
  await takeStep(page, 8);
  assert.equal(await loss(page), fiveDigits(lossesIn(run('train_linear_single', '--steps', 4, '--batch-size', 6))[3]));
  await close();
});

test('keyboard alone: compute, reduce, step, switch, start over', async () => {
  const {page, close} = await open(browser, 'step_together');
  await page.focus('#next');
  for (const label of ['All-reduce', 'Take the step', 'Compute gradients']) {
    await page.keyboard.press('Enter');
    assert.equal(await page.textContent('#next'), label);
    assert.equal(await page.textContent('#live'), await page.textContent('#status'));
  }
  await page.focus('#reduce');
  await page.keyboard.press('Space');
  assert.equal(await page.isChecked('#reduce'), false);
  await page.focus('#over');
  await page.keyboard.press('Space');
  assert.equal(await loss(page), '–');
  await close();
});

test('the all-reduce slides own gradients into their mean, which can be moved back and forth', async () => {
  const {page, complaints, close} = await open(browser, 'step_together', {reducedMotion: 'no-preference'});
  const numbers = () => page.$$eval('.numbers', all => all.map(each => [...each.children].map(value => value.textContent).join(' ')));
  await page.check('#slowly');
  await page.click('#next');
  const own = await numbers();
  assert.equal(new Set(own).size, 4);
  assert.equal(await page.getAttribute('#mix', 'aria-disabled'), 'true');
  await page.click('#next');
  await page.waitForFunction(() => Number(document.getElementById('mix').value) > 5);  // it moves by itself
  await page.fill('#mix', '0');
  assert.deepEqual(await numbers(), own);
  await page.fill('#mix', '100');
  const means = await numbers();
  assert.equal(new Set(means).size, 1);
  await page.fill('#mix', '50');
  const half = await numbers();
  for (const [rank, text] of half.entries()) {
    const number = each => Number(each.split(' ')[0].replace('\u2212', '-'));
    assert.ok(Math.abs(number(text) - (number(own[rank]) + number(means[0])) / 2) < 0.0015, `rank ${rank}`);
  }
  await page.click('#next');  // in the middle of a movement: the step is that of the mean
  assert.equal(await drift(page), '0');
  assert.deepEqual(complaints, []);
  await close();
});

test('the plane shows one place while replicas are equal, and one for each rank without the all-reduce', async () => {
  const {page, close} = await open(browser, 'step_together');
  const said = () => page.getAttribute('#plane svg', 'aria-label');
  const saved = () => page.textContent('#saved');
  await page.click('#ten');
  assert.equal(await said(), 'All ranks are in one place');
  const together = Number(await saved());
  await page.click('#over');
  await page.click('#reduce');
  await page.click('#ten');
  assert.equal(await said(), 'The ranks are in 4 places');
  const worst = Number((await saved()).match(/others up to (\S+)\)/)[1]);
  assert.ok(worst > together, 'a quarter of the data makes a worse model, though not of every rank');
  await close();
});

for (const [width, height] of [[1366, 650], [390, 844]]) {
  test(`buttons and all ranks are on one screen of ${width} x ${height}`, async () => {
    const {page, close} = await open(browser, 'step_together', {width, height});
    const bottom = async selector => Math.max(...await page.$$eval(selector, all => all.map(each => each.getBoundingClientRect().bottom)));
    for (const selector of ['#next', '#ten', '#over', '#reduce', '.replica h3', '.replica .numbers']) assert.ok(await bottom(selector) < height, selector);
    await close();
  });
}

test('gradients are the slopes of the loss (finite differences)', () => {
  const samples = new model.Data(3).slice(0, 5), parameters = model.firstParameters(3), width = 1e-4;
  const {gradient} = model.lossAndGradient(parameters, samples);
  gradient.forEach((slope, i) => {
    const at = shift => model.lossAndGradient(parameters.map((value, j) => value + (i === j ? shift : 0)), samples).loss;
    // The loss is quadratic: central differences are exact but for rounding, 1e-16 of the loss over the width.
    assert.ok(Math.abs((at(width) - at(-width)) / (2 * width) - slope) < 1e-9, `parameter ${i}`);
  });
});

test('Philox gives the words of its authors\u2019 test vectors', () => {
  // Salmon et al., Random123 1.09, examples/kat_vectors: philox4x32, 10 rounds.
  const words = list => list.map(word => word.toString(16).padStart(8, '0')).join(' ');
  assert.equal(words(model.philox4x32(0n, [0, 0, 0, 0])), '6627e8d5 e169c58d bc57ac4c 9b00dbd8');
  const ones = 0xffffffff;
  assert.equal(words(model.philox4x32(0xffffffffffffffffn, [ones, ones, ones, ones])), '408f276d 41c83b0e a20bc7c6 6d5451fd');
});
