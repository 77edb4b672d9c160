// The run's graph as a drawing: layers from left to right, with rates, queue fill, and the stage that limits.

const wordWidth = (text, size) => text.length * size * 0.56;

/** A loader begins with its plan; what leads there gives memory back. */
const isBegin = name => name === 'plan' || name.endsWith(' plan');

/** Edges that close a circle, found from the nodes in their order. */
function backEdges(nodes, edges) {
  const state = new Map(), back = new Set();
  const visit = name => {
    state.set(name, 'open');
    for (const edge of edges) {
      if (edge.from !== name) continue;
      if (state.get(edge.to) === 'open' || isBegin(edge.to)) back.add(edge);
      else if (!state.has(edge.to)) visit(edge.to);
    }
    state.set(name, 'done');
  };
  for (const node of nodes) if (!state.has(node.name)) visit(node.name);
  return back;
}

/** The layer of each node: one more than its latest predecessor's. */
function layersOf(nodes, forward) {
  const layer = new Map(nodes.map(node => [node.name, 0]));
  for (let round = 0; round < nodes.length; ++round)
    for (const edge of forward) layer.set(edge.to, Math.max(layer.get(edge.to), layer.get(edge.from) + 1));
  return layer;
}

/** Edges over several layers get a bend in each layer between, so that they pass beside its nodes. */
function withBends(nodes, forward, layer) {
  const pieces = [];
  for (const edge of forward) {
    const between = layer.get(edge.to) - layer.get(edge.from) - 1;
    edge.bends = Array.from({length: between}, (_, i) =>
      ({name: `${edge.from}→${edge.to} ${i}`, bend: true, lines: []}));
    let from = edge.from;
    edge.bends.forEach((bend, i) => {
      layer.set(bend.name, layer.get(edge.from) + 1 + i);
      pieces.push({from, to: bend.name});
      from = bend.name;
    });
    pieces.push({from, to: edge.to});
  }
  return {all: [...nodes, ...forward.flatMap(edge => edge.bends)], pieces};
}

/** Places nodes: within a layer by the mean place of their neighbours in the layer before. */
function placed(graph) {
  const nodes = graph.nodes.map(node => ({...node, lines: node.label.split('\n')}));
  const names = new Set(nodes.map(node => node.name));
  const edges = graph.edges.filter(edge => names.has(edge.from) && names.has(edge.to) && edge.from !== edge.to)
    .map(edge => ({...edge}));
  const back = backEdges(nodes, edges);
  const forward = edges.filter(edge => !back.has(edge));
  const layer = layersOf(nodes, forward);
  const {all, pieces} = withBends(nodes, forward, layer);
  const columns = [];
  for (const node of all) (columns[layer.get(node.name)] ||= []).push(node);
  const byName = new Map(all.map(node => [node.name, node]));
  columns.forEach(column => {
    for (const node of column) {
      const before = pieces.filter(piece => piece.to === node.name).map(piece => byName.get(piece.from).place);
      node.wish = before.length ? before.reduce((a, b) => a + b, 0) / before.length : 0;
    }
    column.sort((a, b) => a.wish - b.wish);
    column.forEach((node, i) => { node.place = i - (column.length - 1) / 2; });
  });
  for (const edge of edges) edge.back = back.has(edge);
  return {nodes, columns, byName, layer, edges};
}

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
  return text ? {stage: text.newest, share: run.train.newest.limit_share} : null;
}

function graphDrawing(run) {
  const {columns, byName, layer, edges, nodes} = placed(run.graph);
  const {loads, limit} = loadsOf(run);
  const fill = run.train.newest.queue_fill;
  const rowHeight = 92, boxHeight = 62, marginTop = 30;
  const height = Math.max(...columns.map(column => column.length)) * rowHeight + marginTop + 50;
  for (const edge of edges)
    if (edge.to === 'compute' && !edge.back && isNumber(fill) && edge.bends.length === 0)
      edge.label = some([edge.label, `${percent(fill)} full`]).join(', ');
  let x = 12;
  columns.forEach((column, at) => {
    const width = Math.max(0, ...column.map(node =>
      Math.max(0, ...node.lines.map((line, i) => wordWidth(line, i ? 11 : 14)),
               wordWidth(loads.get(node.name) || '', 11))));
    for (const node of column) {
      node.width = width + 22;
      node.x = x;
      node.y = marginTop + (height - marginTop - 50) / 2 + node.place * rowHeight;
    }
    const labels = edges.filter(edge => !edge.back && layer.get(edge.from) === at).map(edge =>
      wordWidth(edge.label, 11));
    x += width + 22 + Math.max(36, ...labels.map(label => label + 26));
  });
  const widest = x - 20;
  const parts = [];
  edges.forEach((edge, i) => {
    const from = byName.get(edge.from), to = byName.get(edge.to);
    const label = edge.label;
    let path, at;
    if (edge.back) {
      const lowest = Math.max(...[...byName.values()].map(node => node.y));
      const low = lowest + boxHeight / 2 + 14 + i % 3 * 8;
      const a = from.x + from.width / 2, b = to.x + to.width / 2;
      path = `M${a},${from.y + boxHeight / 2} C${a},${low + 16} ${b},${low + 16} ${b},${to.y + boxHeight / 2 + 3}`;
      at = [(a + b) / 2, low + 8];
    } else {
      let a = from.x + from.width, y = from.y;
      path = `M${a},${y}`;
      for (const next of [...edge.bends, to]) {
        const b = next.bend ? next.x : next.x - 3, middle = (a + b) / 2;
        at ||= [middle, (y + next.y) / 2 - 5];
        path += ` C${middle},${y} ${middle},${next.y} ${b},${next.y}`;
        if (next.bend) path += ` H${next.x + next.width}`;
        a = next.x + next.width;
        y = next.y;
      }
    }
    parts.push(drawn('path', {d: path, class: edge.back ? 'edge back' : 'edge', 'marker-end': 'url(#arrow)'},
                     drawn('title', {}, `${edge.from} → ${edge.to}${label ? ': ' + label : ''}`)));
    if (label) parts.push(drawn('text', {x: at[0], y: at[1], class: 'edge-label'}, label));
  });
  for (const node of nodes) {
    const limits = limit && limit.stage === node.name;
    const lines = [...node.lines, ...(loads.has(node.name) ? [loads.get(node.name)] : [])];
    parts.push(drawn('g', {class: 'node' + (node.thread ? ' thread' : '') + (limits ? ' limits' : '')},
      drawn('rect', {x: node.x, y: node.y - boxHeight / 2, width: node.width, height: boxHeight, rx: 7}),
      node.thread ? drawn('rect', {class: 'inner', x: node.x + 3, y: node.y - boxHeight / 2 + 3, width: node.width - 6,
                                   height: boxHeight - 6, rx: 5}) : null,
      lines.slice(0, 3).map((line, i) => drawn('text', {
        x: node.x + node.width / 2, y: node.y + 5 + (i - (Math.min(3, lines.length) - 1) / 2) * 16,
        class: i === 0 ? 'name' : 'does'}, line))));
  }
  const described = edges.map(edge => `${edge.from} to ${edge.to}`).join(', ');
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Graph of the run'},
    drawn('svg', {class: 'graph', width: widest, style: `min-width: ${Math.round(0.7 * widest)}px`,
                  viewBox: `0 0 ${widest} ${height}`, role: 'img',
                  'aria-label': `Graph: ${described}.` + (limit ? ` ${limit.stage} limits.` : '')},
      drawn('defs', {}, drawn('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8,
                                         markerHeight: 8, orient: 'auto'}, drawn('path', {d: 'M0,0 L8,4 L0,8 z'}))),
      parts));
}
