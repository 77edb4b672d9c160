// What all charts share: the x axis, the part of it that is shown, the cursor, and the choices of the tool bar.

const shared = {
  axis: 'iter',      // iter, epoch, time or samples
  log: false,        // a logarithmic y axis
  smoothing: 5,      // percent of the points that a smoothed value is a mean of
  range: null,       // [from, to] on the x axis; null: all
  cursor: null,      // on the x axis
  pictures: new Map(), // which validation's pictures are shown, by set
  hidden: new Set(), // names of series that are switched off
  charts: [],
};

const axisNames = {iter: 'Iteration', epoch: 'Epoch', time: 'Time', samples: 'Samples'};

/** The value of the line through the points (xs, ys) at x; beyond the last point, as between the last two. */
function along(xs, ys, x) {
  let low = 0, high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1; else high = middle;
  }
  const at = Math.max(1, low);
  if (xs.length < 2) return xs.length === 1 && xs[0] > 0 ? ys[0] * x / xs[0] : null;
  const slope = (ys[at] - ys[at - 1]) / (xs[at] - xs[at - 1] || 1);
  return ys[at - 1] + slope * (x - xs[at - 1]);
}

/** Points (iteration, value) of what grows with the iterations, from zero on, without gaps. */
function growing(train, values) {
  const xs = [0], ys = [0];
  train.iter.forEach((iter, i) => {
    if (iter > xs[xs.length - 1] && isNumber(values[i])) { xs.push(iter); ys.push(values[i]); }
  });
  return xs.length > 1 ? {xs, ys} : null;
}

/** Which axes a run has, as functions of the iteration. */
function axesOf(run) {
  const axes = {iter: iter => iter};
  if (run.iterations_per_epoch > 0) axes.epoch = iter => iter / run.iterations_per_epoch;
  const time = run.train.elapsed_s && growing(run.train, run.train.elapsed_s);
  if (time) axes.time = iter => along(time.xs, time.ys, iter);
  const samples = run.train.samples && growing(run.train, run.train.samples);
  if (samples) axes.samples = iter => along(samples.xs, samples.ys, iter);
  return axes;
}

/** Seconds, minutes, hours or days, as the longest run needs them. */
function timeUnit(runs) {
  const longest = Math.max(0, ...runs.map(run => run.axes.time ? run.axes.time(run.status.iter) : 0));
  if (longest > 3 * 86400) return {name: 'd', seconds: 86400};
  if (longest > 3 * 3600) return {name: 'h', seconds: 3600};
  if (longest > 180) return {name: 'min', seconds: 60};
  return {name: 's', seconds: 1};
}

/** All of the x axis, the same in all charts, so that one place on the screen is one place in the run. */
function wholeRange(runs) {
  const to = Math.max(...runs.map(run => run.axes[shared.axis](run.status.iter) || 0), 0) || 1;
  return [-0.01 * to, 1.01 * to];
}

/** Prepares the runs of the data for charts. */
function prepare(runs) {
  shared.runs = runs;
  runs.forEach((run, index) => { run.index = index; run.axes = axesOf(run); });
  const unit = timeUnit(runs);
  for (const run of runs) {
    const seconds = run.axes.time;
    if (seconds) run.axes.time = iter => { const s = seconds(iter); return s === null ? null : s / unit.seconds; };
  }
  shared.timeUnit = unit;
  shared.axes = Object.keys(axisNames).filter(axis => runs.every(run => run.axes[axis]));
  if (!shared.axes.includes(shared.axis)) shared.axis = 'iter';
}

const axisLabel = () => shared.axis === 'time' ? `Time (${shared.timeUnit.name})` : axisNames[shared.axis];

/** "iteration 350", "epoch 2.80", "34.2 s". */
function placeOnAxis(x) {
  if (shared.axis === 'time') return duration(x * shared.timeUnit.seconds);
  if (shared.axis === 'epoch') return 'epoch ' + x.toFixed(2);
  return (shared.axis === 'iter' ? 'iteration ' : 'sample ') + count(x);
}

function setAxis(axis) {
  shared.axis = axis;
  shared.cursor = null;
  setRange(null);
}

/** Shows a part of the x axis in all charts; null: all of it. */
function setRange(range) {
  shared.range = range;
  document.body.classList.toggle('zoomed', range !== null);
  for (const chart of shared.charts) chart.draw();
  setCursor(shared.cursor);
}

/** Shows `factor` times as much of the x axis, around the cursor. */
function zoom(factor) {
  const [from, to] = shared.range || wholeRange(shared.runs);
  const middle = shared.cursor === null ? (from + to) / 2 : shared.cursor;
  setRange([middle - (middle - from) * factor, middle + (to - middle) * factor]);
}

function setCursor(x) {
  shared.cursor = x;
  for (const chart of shared.charts) chart.showCursor();
}

function toggleSeries(name) {
  if (!shared.hidden.delete(name)) shared.hidden.add(name);
  for (const chart of shared.charts) chart.draw();
}

const colourOf = index => getComputedStyle(document.documentElement).getPropertyValue(`--c${index % 8}`).trim();
const dashes = [null, [7, 3], [2, 3], [9, 3, 2, 3], [12, 4], [4, 2, 4, 6], [2, 6], [14, 3, 3, 3]];
