// What holds for every panel: no complaints, no requests, no violations of accessibility rules, nothing wider than a phone.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const {after, before, test} = require('node:test');
const path = require('node:path');
const {launch, open, show, panelFolder, panels, problemsOf} = require('./browser.js');
const {still} = require('./stills.js');

// What is right: a number, or the button with the choice.
const answers = {budgets: 130.5, ring: 6, warp: 32, step_together: '#question-same', overlap: '#question-25', sharded: 7.42, tensor_block: 2304, pipeline: 33,
                 grid: '#question-pipeline'};

async function answer(page, answered) {
  if (typeof answered === 'string') return page.press(answered, 'Enter');
  await page.fill('#question-answer', String(answered));
  return page.press('#question-answer', 'Enter');
}

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

// Every button is pressed once, every slider moved to both ends: what the panel shows then must hold up as well.
async function exercise(page) {
  for (const button of await page.$$('main button')) if (await button.isVisible()) await button.click({force: true});
  for (const slider of await page.$$('main input[type="range"]')) {
    if (!await slider.isVisible()) continue;
    await slider.press('End');
    await slider.press('Home');
    await slider.press('ArrowRight');
  }
}

test('there are panels', () => assert.ok(panels.length >= 6));

test('the rules find what is wrong, and a page that is too wide is seen', async () => {
  const {page, close} = await open(browser, panels[0], {width: 390});
  await page.evaluate(() => {
    const wide = Object.assign(document.createElement('p'), {textContent: 'pale and wide', style: 'color: #eee; background: #fff; width: 800px; max-width: none'});
    document.querySelector('main').append(wide, document.createElement('button'));
  });
  const problems = (await problemsOf(page)).join('\n');
  for (const pattern of [/color-contrast/, /button-name/, /the page is \d+ px wide/]) assert.match(problems, pattern);
  await close();
});

for (const panel of panels) {
  for (const [width, colorScheme] of [[1280, 'light'], [390, 'dark']]) {
    test(`${panel}, ${width} px: accessible in both colours, and no wider than the screen`, async () => {
      const {page, complaints, close} = await open(browser, panel, {colorScheme, width});
      assert.deepEqual(await problemsOf(page), []);
      await exercise(page);
      for (const each of ['light', 'dark']) {
        await show(page, {width, colorScheme: each});
        assert.deepEqual(await problemsOf(page), [], each);
      }
      assert.deepEqual(complaints, []);
      await close();
    });
  }

  test(`${panel}: asks a question, knows what is right, and lets go when it is skipped`, async () => {
    const {page, complaints, close} = await open(browser, panel);
    const right = answers[panel], isChoice = typeof right === 'string', said = () => page.textContent('#question-said');
    assert.match(await page.textContent('#question-text'), /^Before you .*\?$/);
    if (!isChoice) {
      await page.press('#question-answer', 'Enter');
      assert.equal(await page.getAttribute('#question-answer', 'aria-invalid'), 'true');
    }
    await answer(page, isChoice ? (await page.$$eval('#question button', all => all.map(({id}) => `#${id}`))).find(id => id !== right) : right * 2);
    assert.match(await said(), /^You said .*\d/);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'question-said');
    assert.deepEqual(await problemsOf(page), []);
    await page.reload();
    await answer(page, right);
    assert.match(await said(), /^Right\. .*\d/);
    await page.reload();
    await page.press('#question-show', 'Enter');
    assert.match(await said(), /^[A-Z](?!ight\.|ou said).*\d/);
    await page.reload();
    await page.press('#question-skip', 'Enter');
    assert.equal(await page.locator('#question').count(), 0);
    assert.match(await page.evaluate(() => document.activeElement.tagName), /INPUT|SELECT|BUTTON/);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`${panel}: its still picture is what it draws (else: node tests/web/stills.js)`, async () => {
    const withoutStyle = text => text.replace(/<style>.*<\/style>/s, '');
    assert.equal(withoutStyle(fs.readFileSync(path.join(panelFolder, `${panel}.svg`), 'utf8')), withoutStyle(await still(browser, panel)));
  });

  test(`${panel}: two sentences first, three things to notice and a chapter last`, async () => {
    const {page, close} = await open(browser, panel);
    const lead = await page.textContent('.lead');
    assert.equal(lead.trim().split(/[.?!](?:\s|$)/).filter(Boolean).length, 2, lead);
    assert.equal(await page.locator('.notice li').count(), 3);
    const link = await page.getAttribute('.notice a', 'href');
    assert.ok(fs.existsSync(new URL(link, page.url())), `${link} does not exist`);
    assert.ok(await page.title());
    await close();
  });

  test(`${panel}: the site's choice of theme wins over the system's`, async () => {
    const {page, close} = await open(browser, panel, {colorScheme: 'light'});
    const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await colour();
    await page.evaluate(() => localStorage.setItem('theme', 'dark'));
    await page.reload();
    const dark = await colour();
    assert.notEqual(dark, light);
    await page.emulateMedia({colorScheme: 'dark'});
    await page.evaluate(() => localStorage.setItem('theme', 'light'));
    await page.reload();
    assert.equal(await colour(), light);
    await page.evaluate(() => localStorage.removeItem('theme'));
    await page.reload();
    assert.equal(await colour(), dark);
    await close();
  });

  test(`${panel}: everything that can be used is reached with Tab, in the order of the page, and shows it`, async () => {
    const {page, close} = await open(browser, panel);
    const expected = await page.evaluate(() => {
      let number = 0;
      const all = document.querySelectorAll('a[href], button, input, select, textarea, [tabindex="0"], summary');
      const inGroup = new Set();
      for (const element of all) {
        if (!element.checkVisibility()) continue;
        if (element.type === 'radio') {  // a group is one stop: the chosen button
          if (!element.checked || inGroup.has(element.name)) continue;
          inGroup.add(element.name);
        }
        element.dataset.stop = String(number++);
      }
      return number;
    });
    const seen = [];
    for (let i = 0; i < expected; ++i) {
      await page.keyboard.press('Tab');
      const stop = await page.evaluate(() => {
        const {dataset, matches} = document.activeElement;
        const style = getComputedStyle(document.activeElement);
        return {number: dataset.stop, isShown: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1};
      });
      assert.ok(stop.isShown, `stop ${i} shows no focus`);
      seen.push(Number(stop.number));
    }
    assert.deepEqual(seen, [...Array(expected).keys()]);
    await close();
  });
}
