// The run's graph as a drawing, with rates, queue fill, and the stage that limits.

/** What is known of a stage's speed and load: lines of text by node. */
function loadsOf(run) {
  const rate = run.train.newest.samples_per_s, limit = limitOf(run);
  const loads = new Map();
  if (isNumber(rate)) loads.set('compute', `${number(rate)} samples/s`);
  if (limit && limit.stage !== 'compute') loads.set(limit.stage, `limits: ${percent(limit.share)}`);
  if (limit && limit.stage === 'compute') loads.set('compute', `${loads.get('compute') || ''} · limits`);
  return {loads, limit};
}

/** The stage that limits the run: {stage, share}, or null. */
function limitOf(run) {
  const text = run.texts.limit;
  if (run.verdict && run.verdict.limit) return {stage: run.verdict.limit, share: run.verdict.limit_share};
  return text ? {stage: text, share: run.train.newest.limit_share} : null;
}

function edgeDrawing({path}, {from, to, label, back}) {
  return drawn('path', {d: path, class: back ? 'edge back' : 'edge', 'marker-end': 'url(#arrow)'},
               drawn('title', {}, `${from} → ${to}${label ? ': ' + label : ''}`));
}

const edgeLabel = ({at}, {label}) => label ? drawn('text', {x: at[0], y: at[1], class: 'edge-label'}, label) : null;

/** A node with its lines; a doubled frame is a thread of its own. */
function nodeDrawing(node, load, limits) {
  const lines = (load ? [...node.lines, load] : node.lines).slice(0, 3);
  const {x, y, width} = node;
  return drawn('g', {class: 'node' + (node.thread ? ' thread' : '') + (limits ? ' limits' : '')},
    drawn('rect', {x, y: y - boxHeight / 2, width, height: boxHeight, rx: 7}),
    node.thread ? drawn('rect', {class: 'inner', x: x + 3, y: y - boxHeight / 2 + 3, width: width - 6,
                                 height: boxHeight - 6, rx: 5}) : null,
    lines.map((line, i) => drawn('text', {x: x + width / 2, y: y + 5 + (i - (lines.length - 1) / 2) * 16,
                                          class: i === 0 ? 'name' : 'does'}, line)));
}

function graphDrawing(run) {
  const layout = placed(run.graph), {byName, edges, nodes} = layout;
  const {loads, limit} = loadsOf(run);
  const fill = run.train.newest.queue_fill;
  for (const edge of edges)
    if (edge.to === 'compute' && !edge.back && isNumber(fill) && edge.bends.length === 0)
      edge.label = some([edge.label, `${percent(fill)} full`]).join(', ');
  const {width, height} = measured(layout, loads);
  const lowest = Math.max(...[...byName.values()].map(node => node.y));
  const paths = edges.map((edge, i) => {
    const from = byName.get(edge.from), to = byName.get(edge.to);
    return edge.back ? pathBack(from, to, lowest, i) : pathForward(from, to, edge.bends);
  });
  // Labels come after all edges, so that no edge crosses them out.
  const ofEdges = [edgeDrawing, edgeLabel].flatMap(draw => edges.map((edge, i) => draw(paths[i], edge)));
  const ofNodes = nodes.map(node =>
    nodeDrawing(node, loads.get(node.name), limit && limit.stage === node.name));
  const described = edges.map(edge => `${edge.from} to ${edge.to}`).join(', ');
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Graph of the run'},
    drawn('svg', {class: 'graph', width, style: `min-width: ${Math.round(0.7 * width)}px`,
                  viewBox: `0 0 ${width} ${height}`, role: 'img',
                  'aria-label': `Graph: ${described}.` + (limit ? ` ${limit.stage} limits.` : '')},
      drawn('defs', {}, drawn('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8,
                                         markerHeight: 8, orient: 'auto'}, drawn('path', {d: 'M0,0 L8,4 L0,8 z'}))),
      ofEdges, ofNodes));
}
