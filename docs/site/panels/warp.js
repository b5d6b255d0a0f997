// The panel "warp": what 32 lanes read, and what it costs.
'use strict';

(function () {
  const {el, byId, number, choice, fileBox, table, scrolling, announce, widthFor, onResize} = Lockstep.ui;
  const {withDigits} = Lockstep.numbers;
  const model = Lockstep.warpModel, drawing = Lockstep.warpDrawing;

  const controls = byId('controls');
  const pattern = choice(controls, {id: 'pattern', label: 'Each lane reads from', value: 'strided', options: model.patterns, change: show});
  const size = choice(controls, {id: 'size', label: 'Size of an element', value: '4', change: show,
      options: [['1', '1 byte: char'], ['2', '2 bytes: half, bfloat16'], ['4', '4 bytes: float, int'], ['8', '8 bytes: double, float2'], ['16', '16 bytes: float4']]});
  const stride = number(controls, {id: 'stride', label: 'Stride, in elements', min: 1, max: 64, value: 2, integer: true, change: show});
  const offset = number(controls, {id: 'offset', label: 'Offset of lane 0, in elements', min: 0, max: 32, value: 0, integer: true, change: show});

  // The one way in which this panel writes a share: with a decimal if there is one, "12.5 %" and "50 %".
  const percent = share => `${Number(withDigits(100 * share, 1))} %`;
  const figures = (id, all) => byId(id).replaceChildren(...all.map(([name, value, key]) => el('div', {}, el('dt', {}, name), el('dd', {id: key}, value))));
  const codeOf = () => ({consecutive: 'a[offset + lane]', strided: `a[offset + ${stride.value} * lane]`, broadcast: 'a[offset]', column: 'tile[lane][offset], rows of 32',
                         padded: 'tile[lane][offset], rows of 33'})[pattern.value];

  function show() {
    const elementBytes = Number(size.value);
    stride.slider.closest('.control').hidden = pattern.value !== 'strided';
    const addresses = model.addressesOf({pattern: pattern.value, elementBytes, stride: stride.value, offset: offset.value});
    const sectors = model.sectorsOf(addresses, elementBytes), passes = model.passesOf(addresses, elementBytes);
    const used = sectors.used.length;
    byId('status').textContent = `Lane l reads ${codeOf().replace('lane', 'l')}: ${used} different bytes. Device memory delivers ${sectors.transactions} ` +
        `sector${sectors.transactions === 1 ? '' : 's'}; shared memory needs ${passes.transactions} pass${passes.transactions === 1 ? '' : 'es'}.`;
    figures('sector-figures', [['sectors', String(sectors.transactions), 'sector-count'], ['ideal', String(sectors.ideal), 'sector-ideal'],
                               ['bytes fetched', String(32 * sectors.transactions), 'fetched'], ['used of these', percent(sectors.share), 'used']]);
    figures('bank-figures', [['passes', String(passes.transactions), 'pass-count'], ['ideal', String(passes.ideal), 'pass-ideal'],
                             ['lanes that go together', String(model.lanesTogether(elementBytes)), 'together']]);
    byId('sectors').replaceChildren(drawing.sectors(sectors, addresses, elementBytes, widthFor(byId('sectors'), 1000)));
    byId('banks').replaceChildren(drawing.banks(passes, widthFor(byId('banks'), 1000)));
    byId('addresses').replaceChildren(scrolling('Addresses', table('Byte, sector and bank of each lane', ['lane', 'byte', 'sector', 'bank'],
        addresses.map((address, lane) => [lane, address, Math.floor(address / 32), Math.floor(address / 4) % 32].map(String)))));
    announce(byId('status').textContent);
  }

  const verdictOf = ({memory, each, ideal}) => {
    const ratio = Number(each) / Number(ideal);
    if (ratio <= 1.005) return 'ideal';
    const times = `${withDigits(ratio, 1)} times the ideal`;
    if (memory === 'shared') return `${times}: bank conflicts`;
    return each - ideal <= 1 ? `${times}: not aligned, or few lanes` : `${times}: not coalesced`;
  };

  function showCounts(text) {
    const rows = model.parseCounts(text), most = Math.max(...rows.map(row => Number(row.each)));
    const head = ['line', 'each takes', 'ideal', 'memory', 'requests', '', 'verdict'];
    const kernels = [...new Set(rows.map(row => row.kernel))];
    byId('counts').replaceChildren(...kernels.map(kernel => scrolling(`Counts of ${kernel}`, el('table', {class: 'kernel'}, el('caption', {}, `kernel ${kernel}`),
        el('thead', {}, el('tr', {}, head.map(name => el('th', {scope: 'col'}, name || el('span', {class: 'hidden-text'}, 'as a bar'))))),
        el('tbody', {}, rows.filter(row => row.kernel === kernel).map(row => el('tr', {}, el('th', {scope: 'row'}, row.place), el('td', {}, `${row.each} ${row.memory === 'shared' ? 'passes' : 'sectors'}`),
            el('td', {}, row.ideal), el('td', {}, `${row.memory} ${row.operation}`), el('td', {}, String(row.requests)),
            el('td', {class: 'bar-cell', 'aria-hidden': true}, el('span', {class: 'useful', style: `width: ${100 * row.ideal / most}px`}),
               el('span', {class: 'waste', style: `width: ${Math.max(0, 100 * (row.each - row.ideal) / most)}px`})),
            el('td', {}, verdictOf(row)))))))));
    return `${rows.length} lines of ${kernels.length} kernel${kernels.length === 1 ? '' : 's'}: green is the ideal, orange is more than that.`;
  }

  fileBox(byId('file'), {id: 'trace', label: 'Counts', hint: 'choose the file, or drop it here.', isSeveral: false,
                         read: files => showCounts(files[0].text), leave: () => byId('counts').replaceChildren()});
  const said = byId('trace-message');
  byId('paste').addEventListener('input', () => {
    if (byId('paste').value.trim() === '') return;
    try {
      said.textContent = showCounts(byId('paste').value);
      said.className = 'message good';
    } catch (error) {
      said.textContent = error.message;
      said.className = 'message error';
      byId('counts').replaceChildren();
    }
  });
  byId('trace-leave').textContent = 'Remove the counts';
  const kStrideAsked = 8;
  Lockstep.question.ask({
    when: 'Before you move a slider:', unit: 'sectors', text: `32 lanes read every ${kStrideAsked}th float of device memory. How many sectors of 32 bytes does it deliver?`,
    truth: () => {
      const elementBytes = 4, ofStride = stride => model.sectorsOf(model.addressesOf({pattern: 'strided', elementBytes, stride}), elementBytes);
      const {transactions, share} = ofStride(kStrideAsked);
      return {value: transactions, sentence: `It delivers ${transactions} sectors, and the lanes use ${percent(share)} of their bytes. ` +
          `32 neighbouring floats are in ${ofStride(1).transactions} sectors.`};
    }});
  onResize(show);
  show();
})();
