// What a warp's request costs, counted as the emulator counts it (common/gpu/emulator/checker/metrics_counter.cpp): sectors of
// 32 bytes of device memory, passes over the 32 banks of shared memory. Pure: a page and node load it.
'use strict';

(function () {
  const kLanes = 32, kSectorBytes = 32, kBankBytes = 4, kBanks = 32;
  const patterns = [['consecutive', 'consecutive elements'], ['strided', 'every k-th element'], ['broadcast', 'all lanes the same element'],
                    ['column', 'a column of a 32 x 32 tile'], ['padded', 'a column of a tile padded to 33']];
  const kTileWidth = {column: 32, padded: 33};

  // The byte address of each lane's element, from the start of the array.
  function addressesOf({pattern, elementBytes, stride = 1, offset = 0}) {
    return [...Array(kLanes).keys()].map(lane => {
      const index = pattern === 'broadcast' ? 0 : pattern === 'consecutive' ? lane : lane * (kTileWidth[pattern] ?? stride);
      return (offset + index) * elementBytes;
    });
  }

  // Different units of `unitBytes` that lanes [first, last) touch, ascending.
  function unitsOf(addresses, elementBytes, unitBytes, first = 0, last = kLanes) {
    const units = new Set();
    for (const begin of addresses.slice(first, last)) {
      for (let unit = Math.floor(begin / unitBytes); unit <= Math.floor((begin + elementBytes - 1) / unitBytes); ++unit) units.add(unit);
    }
    return [...units].sort((a, b) => a - b);
  }

  function sectorsOf(addresses, elementBytes) {
    const units = unitsOf(addresses, elementBytes, kSectorBytes), used = unitsOf(addresses, elementBytes, 1);
    return {units, used, transactions: units.length, ideal: Math.ceil(used.length / kSectorBytes), share: used.length / (units.length * kSectorBytes)};
  }

  // 8-byte accesses go by half warps, 16-byte accesses by quarter warps.
  const lanesTogether = elementBytes => (elementBytes <= 4 ? 32 : elementBytes <= 8 ? 16 : 8);

  function passesOf(addresses, elementBytes) {
    const lanes = lanesTogether(elementBytes), groups = [];
    for (let first = 0; first < kLanes; first += lanes) {
      const words = unitsOf(addresses, elementBytes, kBankBytes, first, first + lanes);
      const banks = Array.from({length: kBanks}, () => []);
      for (const word of words) banks[word % kBanks].push(word);
      groups.push({first, last: first + lanes, banks, passes: Math.max(...banks.map(bank => bank.length)), ideal: Math.ceil(words.length / kBanks)});
    }
    const sum = pick => groups.reduce((total, group) => total + pick(group), 0);
    return {groups, transactions: sum(group => group.passes), ideal: sum(group => group.ideal)};
  }

  // --- What ./lockstep emulate --metrics prints ---

  class CountsError extends Error {}
  const kRow = /^ {2}(\S+:\d+) +(global|shared) (load|store|atomic) +(\d+) requests? of ([\d.]+) (?:sectors|passes) \(ideal ([\d.]+)\)$/;
  const kBarrier = /^ {2}(\S+:\d+) +barrier +passed +(\d+)$/;

  // {kernel, place, memory, operation, requests, each, ideal}, barriers left out.
  function parseCounts(text) {
    const rows = [];
    let kernel = null, hasBegun = false;
    for (const line of text.split(/\r?\n/)) {
      if (line.startsWith('emulated CUDA: memory requests by source line')) hasBegun = true;
      else if (line.startsWith('kernel ')) kernel = line.slice('kernel '.length);
      else if (kRow.test(line)) {
        if (kernel === null) throw new CountsError('The counts begin in the middle: the line "kernel ..." above the first row is missing.');
        const [, place, memory, operation, requests, each, ideal] = kRow.exec(line);
        rows.push({kernel, place, memory, operation, requests: Number(requests), each, ideal});
      } else if (/ requests? of /.test(line) && !kBarrier.test(line)) {
        throw new CountsError(`This line was cut or changed: "${line.trim()}". Take the whole output of ./lockstep emulate --metrics.`);
      }
    }
    if (rows.length === 0) {
      throw new CountsError(hasBegun ? 'The table of counts is empty: the kernels touched no memory, or the text was cut off.' :
          'There are no counts in this text. It should be what ./lockstep emulate --metrics FILE.cu prints.');
    }
    return rows;
  }

  const api = {kLanes, kBanks, kSectorBytes, patterns, addressesOf, unitsOf, sectorsOf, passesOf, lanesTogether, parseCounts, CountsError};
  if (typeof module === 'object' && module.exports) module.exports = api;
  else (globalThis.Lockstep ??= {}).warpModel = api;
})();
