// Opens panels in the system's Chromium, from files, as a reader without a server does.
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

// A page with the panel, and the list of everything it complained about or asked of the network.
async function open(browser, panel, {width = 1280, height = 900, colorScheme = 'light', reducedMotion = 'reduce'} = {}) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme, reducedMotion});
  const page = await context.newPage();
  const complaints = [];
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('request', request => { if (!request.url().startsWith('file:')) complaints.push(`asked for ${request.url()}`); });
  page.on('requestfailed', request => complaints.push(`failed: ${request.url()}`));
  await page.goto(pathToFileURL(path.join(panelFolder, `${panel}.html`)).href);
  return {page, complaints, close: () => context.close()};
}

// Types a value into the number field of a control.
async function type(page, id, value) {
  await page.fill(`#${id}-value`, String(value));
}

module.exports = {launch, open, type, panels, panelFolder, root, chromiumPath};
