// Opens panels and other pages in the system's Chromium, from files, as a reader without a server does.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const {pathToFileURL} = require('node:url');
const {chromium} = require('playwright-core');

const root = path.resolve(__dirname, '..', '..');
const panelFolder = path.join(root, 'docs', 'site', 'panels');
const panels = fs.readdirSync(panelFolder).filter(name => name.endsWith('.html')).map(name => name.slice(0, -5)).sort();

const chromiumPath = () => process.env.LOCKSTEP_CHROMIUM ||
    ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(each => fs.existsSync(each));

async function launch() {
  return chromium.launch({executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-dev-shm-usage']});
}

// A page with what is at `url`, and the list of everything it complained about or asked of the network.
async function visit(browser, url, {width = 1280, height = 900, colorScheme = 'light', reducedMotion = 'reduce', javaScriptEnabled = true} = {}) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme, reducedMotion, javaScriptEnabled});
  const page = await context.newPage();
  const complaints = [];
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('request', request => { if (!request.url().startsWith('file:')) complaints.push(`asked for ${request.url()}`); });
  page.on('requestfailed', request => complaints.push(`failed: ${request.url()}`));
  await page.goto(url);
  return {page, complaints, close: () => context.close()};
}

async function open(browser, panel, options) {
  return visit(browser, pathToFileURL(path.join(panelFolder, `${panel}.html`)).href, options);
}

// Types a value into the number field of a control.
async function type(page, id, value) {
  await page.fill(`#${id}-value`, String(value));
}

// Rules of accessibility that the page breaks, and how much wider than the screen it is: nothing, it should be. Or the
// rules that a frame of the page breaks.
async function problemsOf(page, frame = page.mainFrame()) {
  await frame.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const result = await frame.evaluate(() => globalThis.axe.run(document, {preload: false, iframes: false}));
  const problems = result.violations.map(({id, nodes}) => `${id}: ${nodes.map(node => node.target.join(' ')).join('; ')}`);
  if (frame !== page.mainFrame()) return problems;
  const [whole, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (whole > page.viewportSize().width || shown !== page.viewportSize().width) problems.push(`the page is ${whole} px wide`);
  return problems;
}

// The same for what a panel shows after `prepare(page)`, on a phone and on a desk, light and dark.
async function problemsWith(browser, panel, prepare) {
  const problems = [];
  for (const [width, colorScheme] of [[390, 'light'], [390, 'dark'], [1280, 'light'], [1280, 'dark']]) {
    const {page, complaints, close} = await open(browser, panel, {width, colorScheme});
    await prepare(page);
    problems.push(...await problemsOf(page), ...complaints);
    await close();
  }
  return problems;
}

module.exports = {launch, visit, open, type, problemsOf, problemsWith, panels, panelFolder, root, chromiumPath};
