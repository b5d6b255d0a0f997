// What the panels share: elements, sliders, choices, a clock that plays, steps and scrubs, and a box for files.
'use strict';

(function () {
  const kSvg = 'http://www.w3.org/2000/svg';

  function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value === true ? '' : value);
    }
    element.append(...children.flat().filter(child => child !== null && child !== undefined));
    return element;
  }

  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(kSvg, tag), attributes, children);
  const byId = id => document.getElementById(id);
  const wantsStillness = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

  // How wide a drawing may be whose letters should keep their size.
  const widthFor = (parent, most) => Math.max(280, Math.min(most, parent.clientWidth || most));

  // Calls back when the page has become wider or narrower, or something has been unfolded (embedded.js).
  function onResize(draw) {
    let width = innerWidth;
    addEventListener('resize', () => {
      if (innerWidth === width) return;
      width = innerWidth;
      draw();
    });
    addEventListener('redraw', draw);
  }

  // Says something to screen readers, once.
  function announce(text) {
    const live = byId('live');
    if (live && live.textContent !== text) live.textContent = text;
  }

  const toTwoDigits = value => (value === 0 ? 0 : Number(value.toPrecision(2)));

  // A number with a slider and a field for exact values. scale 'log': the slider moves by factors.
  function number(parent, {id, label, unit = '', min, max, step = 1, value, scale = 'linear', integer = false, change}) {
    const isLog = scale === 'log', kTicks = 300;
    const position = x => (isLog ? Math.round(kTicks * Math.log(x / min) / Math.log(max / min)) : x);
    const fromPosition = at => {
      if (!isLog) return Number(at);
      const x = toTwoDigits(min * (max / min) ** (at / kTicks));
      return Math.min(max, Math.max(min, integer ? Math.round(x) : x));
    };
    const slider = el('input', {type: 'range', id, min: isLog ? 0 : min, max: isLog ? kTicks : max, step: isLog ? 1 : step});
    const field = el('input', {type: 'number', id: `${id}-value`, min, max, step: integer || !isLog ? step : 'any',
                               'aria-label': `${label}, exact value${unit ? ` in ${unit}` : ''}`, inputmode: 'decimal'});
    let current = value;
    const show = () => {
      slider.value = position(current);
      field.value = current;
      field.removeAttribute('aria-invalid');
      slider.setAttribute('aria-valuetext', `${current} ${unit}`.trim());
    };
    const set = (next, isTyped) => {
      current = next;
      if (isTyped) {
        slider.value = position(current);
        slider.setAttribute('aria-valuetext', `${current} ${unit}`.trim());
        field.removeAttribute('aria-invalid');
      } else {
        show();
      }
      change?.(current);
    };
    slider.addEventListener('input', () => set(fromPosition(slider.value), false));
    field.addEventListener('input', () => {
      const typed = Number(field.value);
      const isRight = field.value !== '' && typed >= min && typed <= max && (!integer || Number.isInteger(typed));
      if (isRight) set(typed, true);
      else field.setAttribute('aria-invalid', 'true');
    });
    field.addEventListener('change', show);  // what is not a value gives way to the last that was
    parent.append(el('div', {class: 'control'}, el('label', {for: id}, label),
                     el('div', {class: 'row'}, slider, field, unit ? el('span', {class: 'unit'}, unit) : null)));
    show();
    return {get value() { return current; }, set value(next) { current = next; show(); }, slider, field};
  }

  // One of several words: a select, or radio buttons where isOpen.
  function choice(parent, {id, label, options, value, isOpen = false, change}) {
    if (!isOpen) {
      const select = el('select', {id}, options.map(([key, text]) => el('option', {value: key}, text)));
      select.value = value;
      select.addEventListener('change', () => change?.(select.value));
      parent.append(el('div', {class: 'control'}, el('label', {for: id}, label), select));
      return {get value() { return select.value; }, set value(next) { select.value = next; }, element: select};
    }
    const inputs = options.map(([key]) => el('input', {type: 'radio', name: id, id: `${id}-${key}`, value: key,
                                                       checked: key === value}));
    inputs.forEach(input => input.addEventListener('change', () => change?.(input.value)));
    parent.append(el('fieldset', {class: 'control'}, el('legend', {}, label), el('div', {class: 'choices'},
        options.map(([, text], i) => el('label', {}, inputs[i], text)))));
    return {get value() { return inputs.find(input => input.checked).value; },
            set value(next) { inputs.forEach(input => { input.checked = input.value === next; }); }};
  }

  function toggle(parent, {id, label, value, change}) {
    const input = el('input', {type: 'checkbox', id, checked: value, role: 'switch'});
    input.addEventListener('change', () => change?.(input.checked));
    parent.append(el('div', {class: 'control'}, el('label', {class: 'switch', for: id}, input, label)));
    return {get value() { return input.checked; }, set value(next) { input.checked = next; }};
  }

  // Time that plays, steps from stop to stop, and can be scrubbed.
  //   stops()     ascending moments, from 0 to the end
  //   perSecond() how much of that passes in a second of playing
  //   draw(t)     shows the moment t; describe(t) is said at stops and by the slider
  //   ticks()     positions of the slider from start to end
  function clock(parent, {stops, perSecond, draw, describe, ticks = () => 1000}) {
    let time = 0, frame = 0, lastTick = 0;
    const end = () => stops().at(-1);
    const play = el('button', {type: 'button', class: 'primary', id: 'play'}, 'Play');
    const back = el('button', {type: 'button', id: 'back'}, 'Back');
    const step = el('button', {type: 'button', id: 'step'}, 'Step');
    const restart = el('button', {type: 'button', id: 'restart'}, 'To the start');
    const scrub = el('input', {type: 'range', id: 'scrub', min: 0, max: 1000, step: 1, 'aria-label': 'Moment'});
    const tolerance = () => end() * 1e-6;
    const show = () => {
      scrub.max = ticks();
      scrub.value = end() > 0 ? Math.round(ticks() * time / end()) : 0;
      scrub.setAttribute('aria-valuetext', describe(time));
      draw(time);
    };
    const stop = () => {
      cancelAnimationFrame(frame);
      clearTimeout(frame);
      frame = 0;
      play.textContent = 'Play';
    };
    const go = (next, isSaid) => {
      time = Math.min(end(), Math.max(0, next));
      show();
      if (isSaid) announce(describe(time));
    };
    const nextStop = () => stops().find(moment => moment > time + tolerance()) ?? end();
    const previousStop = () => stops().findLast(moment => moment < time - tolerance()) ?? 0;
    const tick = now => {
      const before = time;
      go(time + (now - lastTick) / 1000 * perSecond(), false);
      lastTick = now;
      if (stops().some(moment => moment > before && moment <= time)) announce(describe(time));
      if (time >= end()) stop();
      else frame = requestAnimationFrame(tick);
    };
    const leap = () => {  // without motion: from stop to stop
      go(nextStop(), true);
      if (time >= end()) stop();
      else frame = setTimeout(leap, 900);
    };
    play.addEventListener('click', () => {
      if (frame) return stop();
      if (time >= end()) go(0, false);
      play.textContent = 'Pause';
      if (wantsStillness()) { frame = setTimeout(leap, 300); return undefined; }
      lastTick = performance.now();
      frame = requestAnimationFrame(tick);
      return undefined;
    });
    step.addEventListener('click', () => { stop(); go(nextStop(), true); });
    back.addEventListener('click', () => { stop(); go(previousStop(), true); });
    restart.addEventListener('click', () => { stop(); go(0, true); });
    scrub.addEventListener('input', () => { stop(); go(scrub.value / ticks() * end(), false); });
    parent.append(el('div', {class: 'clock'}, el('div', {class: 'buttons'}, play, step, back, restart), scrub));
    return {
      get time() { return time; },
      go: next => { stop(); go(next, false); },
      refresh: () => { time = Math.min(time, end()); show(); },
    };
  }

  // Files that the reader chooses or drops; read(files) gets [{name, text}] and throws an Error with a sentence.
  function fileBox(parent, {id, label, hint, read, leave, isSeveral = true}) {
    const input = el('input', {type: 'file', id, multiple: isSeveral});
    const said = el('p', {class: 'message', id: `${id}-message`, role: 'status'});
    const away = el('button', {type: 'button', id: `${id}-leave`, class: 'leave', hidden: true}, 'Back to the model');
    const box = el('div', {class: 'drop'}, el('label', {for: id}, el('strong', {}, label)), ' ', hint, input);
    const load = async list => {
      const files = await Promise.all([...list].map(async file => ({name: file.name, text: await file.text()})));
      if (files.length === 0) return;
      try {
        said.textContent = read(files);
        said.className = 'message good';
        away.hidden = false;
      } catch (error) {
        said.textContent = error.message;
        said.className = 'message error';
      }
    };
    input.addEventListener('change', () => load(input.files));
    box.addEventListener('dragover', event => { event.preventDefault(); box.classList.add('over'); });
    box.addEventListener('dragleave', () => box.classList.remove('over'));
    box.addEventListener('drop', event => {
      event.preventDefault();
      box.classList.remove('over');
      load(event.dataTransfer.files);
    });
    away.addEventListener('click', () => {
      input.value = '';
      said.textContent = '';
      away.hidden = true;
      input.focus();
      leave();
    });
    parent.append(box, said, away);
  }

  // A table whose head and rows are lists of texts; the first cell of a row is its head.
  function table(caption, head, rows, {classes = []} = {}) {
    return el('table', {}, el('caption', {}, caption),
        el('thead', {}, el('tr', {}, head.map(text => (text === '' ? el('td', {}) : el('th', {scope: 'col'}, text))))),
        el('tbody', {}, rows.map((row, i) => el('tr', {class: classes[i]},
            row.map((cell, j) => el(j === 0 ? 'th' : 'td', j === 0 ? {scope: 'row'} : {}, cell))))));
  }

  // A part of the page that scrolls by itself where it is too wide; reachable by keyboard.
  const scrolling = (label, content) => el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label}, content);

  globalThis.Lockstep ??= {};
  Lockstep.ui = {el, svg, byId, announce, number, choice, toggle, clock, fileBox, table, scrolling, wantsStillness, widthFor, onResize};
})();
