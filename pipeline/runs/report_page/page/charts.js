// Which charts a run has, from the names in its metrics.

/** A series of a table of the data, or null where the table has no such values. */
function seriesOf(run, tableName, name, more = {}) {
  const rows = run[tableName], values = rows.series[name];
  if (!values || !values.mean.some(isNumber)) return null;
  return {name, run, colour: 0, iter: rows.iter, mean: values.mean, low: values.low, high: values.high, ...more};
}

const some = list => list.filter(each => each !== null && each !== undefined && each !== false);

/** A chart of the series that are there; null where none is. Curves differ in colour, and in their dashes or dots. */
function chartOf(id, title, series, more = {}) {
  const there = some(series);
  if (more.colours !== false)
    there.forEach((each, i) => {
      each.colour ||= i;
      if (!more.stacked && each.points === there[0].points) each.dash ??= i;
    });
  return there.length === 0 ? null : {id, title, series: there, ...more};
}

/** Names of a table's series that `accepts` takes, those without dots first. */
const namesOf = (run, tableName, accepts) => Object.keys(run[tableName].series).filter(accepts);

function bestMark(run, name) {
  const best = run.extremes[name];
  if (!best || run.val.iter.length < 2) return [];
  return [{run, name, iter: best.iter, value: best.best,
           text: `best ${metric(best.best)} at iteration ${count(best.iter)}`}];
}

function lossCharts(run) {
  const loss = chartOf('loss', 'Loss', [
    seriesOf(run, 'train', 'loss', {name: 'training loss', label: 'training', smooth: true}),
    seriesOf(run, 'val', 'loss', {name: 'validation loss', label: 'validation', colour: 1, points: true}),
  ], {wide: true, reading: metric, marks: bestMark(run, 'loss').map(mark => ({...mark, name: 'validation loss'}))});
  const parts = namesOf(run, 'train', name => name.startsWith('loss.'));
  return some([loss, chartOf('loss-parts', 'Parts of the loss',
    parts.map(name => seriesOf(run, 'train', name, {label: name.slice(5), thin: true})))]);
}

function optimizerCharts(run) {
  const rates = namesOf(run, 'train', name => name === 'lr' || name.startsWith('lr.'));
  const norms = namesOf(run, 'train', name => name.includes('norm') && name !== 'grad_norm');
  return some([
    chartOf('lr', 'Learning rate', rates.map(name => seriesOf(run, 'train', name))),
    chartOf('grad-norm', 'Gradient norm',
            [seriesOf(run, 'train', 'grad_norm', {label: 'gradient norm', smooth: true})]),
    chartOf('norms', 'Other norms', norms.map(name => seriesOf(run, 'train', name))),
    clipsAtAll(run) && chartOf('clipped', 'Clipped gradients',
                               [seriesOf(run, 'train', 'clipped', {label: 'share of iterations'})],
                               {format: percent, from0: true, log: false}),
    chartOf('loss-scale', 'Loss scale', [seriesOf(run, 'train', 'loss_scale')]),
  ]);
}

const clipsAtAll = run => (run.train.series.clipped || {mean: []}).mean.some(value => value > 0);

/** A chart for each metric of validation; metrics of classes and groups ("accuracy.cat") share one. */
function metricCharts(run) {
  const names = namesOf(run, 'val', name => name !== 'loss');
  const parent = name => {
    for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1))
      if (names.includes(name.slice(0, dot)) || name.slice(0, dot) === 'accuracy') return name.slice(0, dot);
    return null;
  };
  const charts = [];
  for (const name of names.filter(each => parent(each) === null)) {
    const ofTraining = seriesOf(run, 'epochs', name, {name: name + ' of training', label: 'training, by epoch',
                                                      colour: 1, dash: 1});
    charts.push(chartOf('val-' + name, name, [
      seriesOf(run, 'val', name, {label: 'validation', points: true}), ofTraining,
    ], {reading: metric, marks: bestMark(run, name)}));
  }
  for (const group of new Set(names.map(parent))) {
    if (group === null) continue;
    charts.push(chartOf('parts-' + group, group + ', in parts', names.filter(name => parent(name) === group).map(name =>
      seriesOf(run, 'val', name, {label: name.slice(group.length + 1), points: true}))));
  }
  return some(charts);
}

/**
 * Share of the time that the net waited for data. Rows cover equal numbers of iterations, not equal times, so times
 * are added up.
 */
function dataWaitOf(run) {
  if (run.verdict && isNumber(run.verdict.data_wait)) return run.verdict.data_wait;
  const {data_time: waits, step_time: steps} = run.train.series;
  if (!waits || !steps) return null;
  let waited = 0, whole = 0;
  waits.mean.forEach((wait, i) => {
    if (!isNumber(wait) || !isNumber(steps.mean[i])) return;
    waited += wait;
    whole += wait + steps.mean[i];
  });
  return whole > 0 ? waited / whole : null;
}

/** Samples of the whole run, by its time. */
function speedOf(run) {
  const {samples, elapsed_s: seconds} = run.train.newest;
  return isNumber(samples) && seconds > 0 ? samples / seconds : null;
}

const phases = {
  data_time: 'waiting for data', 'time.transfer': 'copy', 'time.forward': 'forward', 'time.backward': 'backward',
  'time.communication': 'exchange', 'time.gradients': 'gradients', 'time.optimizer': 'update',
  'time.validation': 'validation', 'time.snapshot': 'snapshots',
};

/** Seconds of an iteration, stacked; of computing only the whole where its phases are not known. */
function timeCharts(run) {
  const hasPhases = namesOf(run, 'train', name => name.startsWith('time.')).length > 0;
  const stack = hasPhases ? Object.entries(phases) : [['data_time', phases.data_time], ['step_time', 'computing']];
  const share = [['data_wait', 'waiting for data'], ['queue_fill', 'batches ahead that are ready'],
                 ['limit_share', 'share of the stage that limits'], ['gpu_utilisation', 'GPU busy'],
                 ['mfu', 'model FLOPs utilisation'], ['exchange_hidden', 'exchange hidden by backward'],
                 ['cpu_share', 'CPU time, of what was asked for']];
  return some([
    chartOf('time', 'Where an iteration’s time goes', stack.map(([name, label]) =>
      seriesOf(run, 'train', name, {label, low: null, high: null})), {stacked: true, format: duration, from0: true}),
    chartOf('speed', 'Throughput', [seriesOf(run, 'train', 'samples_per_s', {label: 'samples/s', smooth: true})],
            {unit: 'samples per second', from0: true}),
    chartOf('step', 'One iteration', [
      seriesOf(run, 'train', 'step_p50', {label: 'half are faster (p50)'}),
      seriesOf(run, 'train', 'step_p99', {label: 'one of 100 is slower (p99)'}),
    ], {format: duration, from0: true}),
    chartOf('shares', 'Use of the machine', share.map(([name, label]) =>
      seriesOf(run, 'train', name, {label, thin: true})), {format: percent, from0: true, log: false}),
    chartOf('memory', 'Memory', [seriesOf(run, 'train', 'host_memory_mb', {label: 'host'}),
                                 seriesOf(run, 'train', 'gpu_memory_mb', {label: 'GPU'})],
            {format: megabytes, from0: true, log: false}),
    chartOf('ranks', 'Processes', [
      seriesOf(run, 'train', 'slowest_time', {label: 'slowest rank, per iteration'}),
      seriesOf(run, 'train', 'exchange_time', {label: 'exchange of gradients'}),
      seriesOf(run, 'train', 'link_time', {label: 'slowest link'}),
    ], {format: duration, from0: true}),
  ]);
}

const drawnElsewhere = new Set(['loss', 'loss_avg', 'lr', 'grad_norm', 'clipped', 'loss_scale', 'step_time',
  'samples_per_s', 'step_p50', 'step_p99', 'data_wait', 'queue_fill', 'limit_share', 'gpu_utilisation', 'mfu',
  'exchange_hidden', 'host_memory_mb', 'gpu_memory_mb', 'slowest_rank', 'slowest_link', 'slowest_time', 'exchange_time',
  'link_time', 'cpu_share', ...Object.keys(phases)]);

/** What nets, steps and hooks log under names of their own. */
function otherCharts(run) {
  return namesOf(run, 'train', name => !drawnElsewhere.has(name) && !name.startsWith('loss.') &&
                 !name.startsWith('lr.') && !name.startsWith('time.') && !name.includes('norm'))
    .map(name => chartOf('train-' + name, name, [seriesOf(run, 'train', name, {smooth: true})])).filter(Boolean);
}
