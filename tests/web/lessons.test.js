// The panels in their lessons, and on their own pages, of the finished site (`./lockstep docs`), opened from the disk.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const {pathToFileURL} = require('node:url');
const {launch, visit, show, excessWidth, problemsOf, panels} = require('./browser.js');

const site = process.env.LOCKSTEP_SITE || path.resolve(__dirname, '..', '..', 'build', 'docs', 'site');
const isBuilt = fs.existsSync(path.join(site, 'index.html'));
const options = {skip: isBuilt ? false : `there is no site in ${site}: run ./lockstep docs`, timeout: 240000};

// Lesson, section, and words that find the panel.
const places = {
  budgets: {lesson: '00_why_many_gpus', section: 'your-own-model', ideas: ['does it fit', 'tensor parallel']},
  ring: {lesson: '02_ring_all_reduce', section: 'one-step-and-the-first-half', ideas: ['reduce-scatter', 'mesh']},
  warp: {lesson: '04_kernels', section: 'bytes-coalescing', ideas: ['coalescing', 'bank conflict']},
  step_together: {lesson: '06_gpt_ddp', section: 'first-rung-average-after-backward', ideas: ['replicas drift', 'broadcast']},
  overlap: {lesson: '06_gpt_ddp', section: 'run-it', ideas: ['exposed communication', 'bucket size']},
  sharded: {lesson: '09_sharded', section: 'stage-3-weights-that-come-and-go', ideas: ['FSDP', 'peak memory']},
  tensor_block: {lesson: '10_tensor_parallel', section: 'sequence-parallelism', ideas: ['Megatron', 'row parallel']},
  pipeline: {lesson: '11_pipeline_parallel', section: 'the-bubble', ideas: ['1F1B', 'GPipe']},
  grid: {lesson: '12_three_dimensions', section: 'what-each-axis-sends', ideas: ['device mesh', '3D parallelism']},
};

let browser;
test.before(async () => { if (isBuilt) browser = await launch(); });
test.after(() => browser?.close());

const open = (address, settings) => visit(browser, `${pathToFileURL(site).href}/${address}`, settings);

// The frame of a panel, scrolled to and running.
async function frameOn(page, panel) {
  const box = page.locator(`.panel[data-src*="/${panel}.html"]`);
  await box.evaluate(element => element.scrollIntoView());
  await page.waitForSelector(`.panel.moves[data-src*="/${panel}.html"]`);
  return {box, frame: page.frames().find(each => each.url().includes(`/bare/${panel}.html`))};
}

async function inLesson(panel, settings) {
  const opened = await open(`chapters/${places[panel].lesson}/index.html`, settings);
  return {...opened, ...await frameOn(opened.page, panel)};
}

test('every panel has its place', () => assert.deepEqual(Object.keys(places).sort(), panels));

// Widest first. Accessibility is looked at on the first and the last: both colours, both layouts.
const screens = [{width: 1440, colorScheme: 'light'}, {width: 1366, colorScheme: 'dark'}, {width: 1024, colorScheme: 'light'}, {width: 390, colorScheme: 'dark'}];
const lessonsSeen = new Set();  // two panels may share a lesson, which is looked at once

// Shows another screen; then the panel's frame has its colours, fits, and is as high as the panel. Frames are told of colours,
// and pages of heights, by messages, which take a moment; a frame that nobody sees is not laid out anew.
async function checkOn(screen, page, box, frame) {
  await show(page, screen);
  await box.evaluate(element => element.scrollIntoView());
  await frame.waitForFunction(theme => document.documentElement.dataset.theme === theme, screen.colorScheme);
  let place, inside;
  for (let i = 0; i < 1000; ++i) {
    place = await box.locator('iframe').boundingBox();
    inside = await frame.evaluate(() => ({whole: document.documentElement.scrollWidth, shown: innerWidth, height: document.body.offsetHeight}));
    if (Math.abs(place.height - 2 - inside.height) <= 1) break;
    await page.waitForTimeout(20);
  }
  assert.ok(Math.abs(place.height - 2 - inside.height) <= 1, `${place.height} for ${inside.height}`);
  assert.ok(place.x >= 0 && place.x + place.width <= screen.width && place.width >= Math.min(screen.width - 40, 640), JSON.stringify(place));
  assert.ok(inside.whole <= inside.shown, JSON.stringify(inside));
  assert.equal(await excessWidth(page), 0);
}

for (const panel of panels) {
  test(`${panel} in its lesson`, options, async t => {
    const {page, complaints, box, frame, close} = await inLesson(panel, screens[0]);
    const {lesson, section} = places[panel];

    await t.test('runs in the section that it explains, in place of its still picture', async () => {
      const id = await box.evaluate(element => {
        while (element && !/^H[23]$/.test(element.tagName)) element = element.previousElementSibling;
        return element?.id;
      });
      assert.equal(id, section);
      assert.equal(await box.locator('a:has(img)').isVisible(), false);
    });

    for (const screen of screens) {
      await t.test(`${screen.width} px, ${screen.colorScheme}: as high as it is, and not too wide`, async () => {
        await checkOn(screen, page, box, frame);
        if (screen === screens[0] || screen === screens.at(-1)) {
          if (!lessonsSeen.has(`${lesson} ${screen.width}`)) assert.deepEqual(await problemsOf(page), []);
          lessonsSeen.add(`${lesson} ${screen.width}`);
          assert.deepEqual(await problemsOf(page, frame), []);
        }
        assert.deepEqual(complaints, []);
      });
    }

    await t.test('Tab leads from the lesson to its question, which Enter answers', async () => {
      await show(page, {width: 1280, colorScheme: 'light'});
      await box.evaluate(element => {  // the last link before the panel
        [...document.querySelectorAll('main a, main pre')].filter(each => each.compareDocumentPosition(element) === Node.DOCUMENT_POSITION_FOLLOWING).at(-1).focus();
      });
      const focused = () => frame.evaluate(() => document.activeElement.id);
      for (let i = 0; i < 8 && await focused() !== 'question-show'; ++i) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      assert.match(await frame.textContent('#question-said'), /\d.*\.$/);
      assert.equal(await focused(), 'question-said');
      assert.deepEqual(await problemsOf(page, frame), []);
    });

    await t.test('follows the site\u2019s switch, and grows when its folded part is opened', async () => {
      const colour = () => frame.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await colour(), low = (await box.boundingBox()).height;
      await page.click('button.theme');
      await frame.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
      assert.notEqual(await colour(), light);
      await frame.press('main > details > summary', 'Enter');
      await page.waitForFunction(([name, height]) => document.querySelector(`.panel[data-src*="/${name}.html"]`).offsetHeight > height + 100, [panel, low]);
    });
    await close();
  });

  test(`${panel}: without JavaScript the lesson shows a small still picture that leads to the panel`, options, async () => {
    const {page, close} = await open(`chapters/${places[panel].lesson}/index.html`, {javaScriptEnabled: false});
    const still = page.locator(`.panel[data-src*="/${panel}.html"] > a`);
    assert.equal(await still.isVisible(), true);
    assert.match(await still.getAttribute('href'), new RegExp(`panels/${panel}\\.html$`));
    for (const image of await still.locator('img').all()) {
      assert.ok((await image.getAttribute('alt')).length > 40);
      assert.ok(fs.statSync(path.join(site, 'docs/site/panels', path.basename(await image.getAttribute('src')))).size < 60000);
    }
    await close();
  });

  test(`${panel}: its own page has the site's header, neighbours, and the whole panel`, options, async () => {
    const {page, complaints, close} = await open(`panels/${panel}.html`, {width: 390, colorScheme: 'light'});
    const {box, frame} = await frameOn(page, panel);
    for (const screen of [{width: 390, colorScheme: 'light'}, {width: 1440, colorScheme: 'dark'}]) {
      await checkOn(screen, page, box, frame);
      for (const wanted of ['header.top button.theme', '#search-field', '.turn a', 'h1']) assert.ok(await page.isVisible(wanted), wanted);
      assert.match(await page.getAttribute('.eyebrow a', 'href'), new RegExp(`${places[panel].lesson}/index\\.html#${places[panel].section}$`));
      assert.equal(await frame.isVisible('.notice'), true);
      if (panel === panels[0]) assert.deepEqual(await problemsOf(page), []);  // all these pages are one template
      assert.deepEqual(await problemsOf(page, frame), []);
    }
    assert.deepEqual(complaints, []);
    await close();
  });
}

for (const width of [1440, 390]) {
  test(`a link to a section below two panels leads there, and stays there while they grow, ${width} px`, options, async () => {
    for (const id of ['how-well-it-scales', 'a-step-in-parts']) {
      const {page, close} = await open(`chapters/06_gpt_ddp/index.html#${id}`, {width});
      const top = () => page.evaluate(name => document.getElementById(name).getBoundingClientRect().top, id);
      const isThere = async () => { const place = await top(); return place > 40 && place < 120; };
      await page.waitForTimeout(1000);
      for (let i = 0; i < 200 && !await isThere(); ++i) await page.waitForTimeout(100);  // a busy machine lays out later
      assert.ok(await isThere(), `${id} is at ${await top()}`);
      await close();
    }
  });
}

test('the search finds each panel by its name and by its ideas; its lesson lists it', options, async () => {
  const {page, close} = await open('index.html');
  const index = fs.readFileSync(path.join(site, 'search_index.js'), 'utf8');
  for (const [panel, {lesson, ideas}] of Object.entries(places)) {
    const title = new RegExp(`"panels/${panel}\\.html","Moving pictures","([^"]+)"`).exec(index)[1];
    for (const words of [title, ...ideas]) {
      await page.fill('#search-field', words);
      await page.waitForFunction(name => [...document.querySelectorAll('#results a')].some(link => link.href.endsWith(`panels/${name}.html`)), panel,
                                 {timeout: 10000}).catch(() => assert.fail(`"${words}" does not find ${panel}`));
    }
    const text = fs.readFileSync(path.join(site, 'chapters', lesson, 'index.html'), 'utf8');
    assert.match(text.slice(text.indexOf('With this chapter')), new RegExp(`panels/${panel}\\.html`));
  }
  await close();
});
