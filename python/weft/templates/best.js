"use strict";
// The interval of the median of some values, as `stats.median_ci` has it; null where there are too few.
function medianInterval(values, positions) {
  const position = positions[values.length] ?? null;
  if (position === null) return null;
  const [rank, part] = position;
  const rising = [...values].sort((one, other) => one - other);
  const end = (sorted) => (part ? (1 - part) * sorted[rank - 1] + part * sorted[rank] : sorted[rank - 1]);
  return [end(rising), end([...rising].reverse())];
}

// The best of some series, the next one, and those that are not separable from the best seed by seed, as in `Sweep.compare`.
// That the best differs from every other needs no correction for their number, because each of the intervals must exclude
// equality: an intersection-union test (Berger, "Multiparameter hypothesis testing and acceptance sampling", 1982).
// `entries` have `series` and `median`; `values` has pairs of seed and value by series; `best` is "lowest" or "highest".
function bestOf(entries, values, best, positions) {
  const sign = best === "highest" ? -1 : 1;
  const ranked = [...entries].sort((one, other) => sign * (one.median - other.median));
  const bySeed = new Map(values[ranked[0].series]);
  let few = false;
  const close = ranked.slice(1).filter(({ series }) => {
    const pairs = values[series].filter(([seed]) => bySeed.has(seed)).map(([seed, value]) => [value, bySeed.get(seed)]);
    const positive = pairs.every((pair) => Math.min(...pair) > 0);
    const interval = medianInterval(pairs.map(([one, of]) => (positive ? one / of : one - of)), positions);
    few ||= interval === null;
    if (interval === null) return true;
    const equal = positive ? 1 : 0;
    return sign > 0 ? interval[0] <= equal : interval[1] >= equal;
  });
  return { best: ranked[0], next: ranked[1], close, few };
}
