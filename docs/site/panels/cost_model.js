// What an all-reduce costs: t = alpha + bytes / beta in each step. The arithmetic of
// chapters/00_why_many_gpus/cost_model.cpp: steps wait for one another and cost an alpha each; bytes count at the busiest
// port. Pure: a page and node load it.
'use strict';

(function () {
  const kNvLinkAlpha = 3.4, kPcieAlpha = 5.7, kNetworkAlpha = 14.0;  // us; see cost_model.hpp for the source
  const pcieX16 = transfers => transfers * 16 / 8 * 128 / 130;       // 130 bits carry 128
  const nvlink = (name, links, madeOf) => [name, 2 * links * 25, links * 25, kNvLinkAlpha, madeOf];

  // Name, GB/s on the label, GB/s in one direction, alpha in us, where the bandwidth comes from.
  const knownLinks = [
    ['PCIe 3 x16', 16, pcieX16(8), kPcieAlpha, '16 lanes of 8 GT/s, 128b/130b'],
    ['PCIe 4 x16', 32, pcieX16(16), kPcieAlpha, '16 lanes of 16 GT/s, 128b/130b'],
    ['PCIe 5 x16', 64, pcieX16(32), kPcieAlpha, '16 lanes of 32 GT/s, 128b/130b'],
    nvlink('NVLink 2', 6, '6 links of 25 GB/s each way (V100)'),
    nvlink('NVLink 3', 12, '12 links of 25 GB/s each way (A100)'),
    nvlink('NVLink 4', 18, '18 links of 25 GB/s each way (H100)'),
    nvlink('NVSwitch', 18, 'all 18 NVLinks of an H100 to any other GPU'),
    ['10 GbE', 1.25, 1.25, kNetworkAlpha, '10 Gbit/s each way'],
    ['100 GbE', 12.5, 12.5, kNetworkAlpha, '100 Gbit/s each way'],
    ['InfiniBand HDR', 25, 25, kNetworkAlpha, '4 lanes of 50 Gbit/s each way'],
    ['InfiniBand NDR', 50, 50, kNetworkAlpha, '4 lanes of 100 Gbit/s each way'],
  ].map(([name, labelGbS, oneWayGbS, alphaUs, madeOf]) => ({name, labelGbS, oneWayGbS, alphaUs, madeOf}));

  const algorithms = ['star', 'mesh', 'ring', 'tree'];

  const linkOf = (alphaUs, betaGbS) => ({alphaSeconds: alphaUs * 1e-6, bytesPerSecond: betaGbS * 1e9});
  const messageSeconds = (link, bytes) => link.alphaSeconds + bytes / link.bytesPerSecond;

  // How often P ranks can be halved, rounding up.
  const levelsOfTree = worldSize => (worldSize <= 1 ? 0 : 32 - Math.clz32(worldSize - 1));

  // At the busiest port: steps that wait for one another, bytes of each, bytes in one direction over all.
  function allReduceCost(algorithm, worldSize, bytes) {
    const others = worldSize - 1;
    switch (algorithm) {
      case 'star': return {steps: others > 0 ? 2 : 0, bytesPerStep: others * bytes, oneWayBytes: others * bytes};
      case 'mesh': return {steps: others > 0 ? 1 : 0, bytesPerStep: others * bytes, oneWayBytes: others * bytes};
      case 'ring':
        return {steps: 2 * others, bytesPerStep: bytes / worldSize, oneWayBytes: 2 * others * bytes / worldSize};
      case 'tree': {
        const levels = levelsOfTree(worldSize);
        return {steps: 2 * levels, bytesPerStep: bytes, oneWayBytes: levels * bytes};
      }
      default: throw new Error(`there is no algorithm "${algorithm}"; use one of ${algorithms.join(', ')}`);
    }
  }

  function allReduceTime(algorithm, worldSize, bytes, link) {
    const cost = allReduceCost(algorithm, worldSize, bytes);
    const latencySeconds = cost.steps * link.alphaSeconds;
    const bytesSeconds = cost.steps * cost.bytesPerStep / link.bytesPerSecond;
    return {...cost, latencySeconds, bytesSeconds, seconds: latencySeconds + bytesSeconds};
  }

  // The buffer from which on the ring is faster than the star. 0: always.
  function crossoverBytes(worldSize, link) {
    const star = allReduceCost('star', worldSize, 1), ring = allReduceCost('ring', worldSize, 1);
    const moreBuffers = star.steps * star.bytesPerStep - ring.steps * ring.bytesPerStep;
    return (ring.steps - star.steps) * link.alphaSeconds * link.bytesPerSecond / moreBuffers;
  }

  function roundedToOneDigit(value) {
    if (value <= 0) return 0;
    const unit = 10 ** Math.floor(Math.log10(value));
    return Math.round(value / unit) * unit;
  }

  // The estimate in one's head: the buffer crosses a link of the labelled bandwidth once.
  function backOfTheEnvelope(bytes, labelGbS, stepMs) {
    const exactMs = bytes / (labelGbS * 1e9) * 1e3, roundedMs = roundedToOneDigit(exactMs);
    return {exactMs, roundedMs, share: roundedMs / (stepMs + roundedMs)};
  }

  const api = {
    knownLinks, algorithms, linkOf, messageSeconds, levelsOfTree, allReduceCost, allReduceTime, crossoverBytes, backOfTheEnvelope,
  };
  if (typeof module === 'object' && module.exports) module.exports = api;
  else (globalThis.Lockstep ??= {}).costModel = api;
})();
