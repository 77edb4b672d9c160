#include "nets/cornernet/decode.h"

#include <ATen/ATen.h>

#include <stdexcept>

namespace flowtrain::nets {
namespace {

/// The best corners of one kind, each (B, K).
struct Corners {
  at::Tensor score, label, column, row;  // both are those of the cell
  at::Tensor x, y, tag;
};

Corners best_corners(const at::Tensor& heat, const at::Tensor& tag, const at::Tensor& offset,
                     const DecodeOptions& options) {
  const std::int64_t kernel = options.nms_kernel, width = heat.size(3), cells = heat.size(2) * width;
  const at::Tensor p = at::sigmoid(heat);
  const at::Tensor highest = at::max_pool2d(p, {kernel, kernel}, {1, 1}, {kernel / 2, kernel / 2});
  const auto [score, where] = p.masked_fill(p.ne(highest), 0).flatten(1).topk(options.top_k);
  const at::Tensor cell = where.remainder(cells);

  Corners corners{.score = score,
                  .label = where.div(cells, "floor"),
                  .column = cell.remainder(width),
                  .row = cell.div(width, "floor")};
  const at::Tensor shift = at_cells(offset, cell);
  corners.x = corners.column + shift.select(2, 0);
  corners.y = corners.row + shift.select(2, 1);
  corners.tag = at_cells(tag, cell).squeeze(2);
  return corners;
}

void check(const CornerMaps& maps, const DecodeOptions& options) {
  auto refuse = [](const std::string& key, std::int64_t value, const std::string& expected) {
    throw std::invalid_argument("decode: " + key + " is " + std::to_string(value) + ", expected " + expected);
  };
  const std::int64_t cells = maps.tl_heat.numel() / maps.tl_heat.size(0);
  if (options.nms_kernel < 1 || options.nms_kernel % 2 == 0) refuse("nms_kernel", options.nms_kernel, "an odd number");
  if (options.top_k < 1 || options.top_k > cells)
    refuse("top_k", options.top_k, "1 to " + std::to_string(cells) + ", the cells of all classes");
  if (options.num_dets < 1 || options.num_dets > options.top_k * options.top_k)
    refuse("num_dets", options.num_dets, "1 to " + std::to_string(options.top_k * options.top_k) + ", top_k squared");
}

}  // namespace

at::Tensor decode(const CornerMaps& maps, const DecodeOptions& options) {
  check(maps, options);
  const Corners tl = best_corners(maps.tl_heat, maps.tl_tag, maps.tl_off, options);
  const Corners br = best_corners(maps.br_heat, maps.br_tag, maps.br_off, options);
  const auto pairs = [&](const at::Tensor& each, int axis) {
    return each.unsqueeze(axis).expand({each.size(0), options.top_k, options.top_k});
  };
  const auto of_tl = [&](const at::Tensor& each) { return pairs(each, 2); };
  const auto of_br = [&](const at::Tensor& each) { return pairs(each, 1); };

  at::Tensor rejected = of_tl(tl.label).ne(of_br(br.label));
  rejected.logical_or_((of_tl(tl.tag) - of_br(br.tag)).abs().gt(options.ae_threshold));
  rejected.logical_or_(of_br(br.x).lt(of_tl(tl.x)));
  rejected.logical_or_(of_br(br.y).lt(of_tl(tl.y)));
  if (options.no_border) {
    rejected.logical_or_(of_tl(tl.column.eq(0).logical_or(tl.row.eq(0))));
    const auto last_row = maps.br_heat.size(2) - 1, last_column = maps.br_heat.size(3) - 1;
    rejected.logical_or_(of_br(br.column.eq(last_column).logical_or(br.row.eq(last_row))));
  }
  const at::Tensor mean = (of_tl(tl.score) + of_br(br.score)) / 2;
  const auto [score, best] = mean.masked_fill(rejected, -1).flatten(1).topk(options.num_dets);

  const auto chosen = [&, best = best](const at::Tensor& each) { return each.flatten(1).gather(1, best); };
  return at::stack({chosen(of_tl(tl.x)), chosen(of_tl(tl.y)), chosen(of_br(br.x)), chosen(of_br(br.y)), score,
                    chosen(of_tl(tl.score)), chosen(of_br(br.score)), chosen(of_tl(tl.label)).to(score.scalar_type())},
                   2);
}

}  // namespace flowtrain::nets
